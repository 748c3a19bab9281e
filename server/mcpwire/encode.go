package mcpwire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// encoded is a message as encode writes it. One that has no JSON, which would be
// a fault of ours, is logged and becomes an error without an id.
func (s *Server) encoded(v any) []byte {
	b, err := encode(v)
	if err != nil {
		s.cfg.Log.Error("a message has no JSON", "err", err)
		b, _ = encode((&refusal{code: mcp.INTERNAL_ERROR, text: "internal error"}).response())
	}
	return b
}

// encode writes a message as a line. The results of calls, most of which are long
// texts, are written here: encoding/json would go over each of them four times.
func encode(v any) ([]byte, error) {
	if r, ok := v.(mcp.JSONRPCResponse); ok {
		if result, ok := r.Result.(*mcp.CallToolResult); ok && isOurs(result) {
			return encodeResult(r.ID, result)
		}
	}
	b, err := plain(v)
	return append(b, '\n'), err
}

// plain encodes anything, without the escapes that encoding/json adds for HTML.
func plain(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return plainHTML(b), err
}

// isOurs reports whether a result has only what those of tools here have.
func isOurs(r *mcp.CallToolResult) bool {
	return r.StructuredContent == nil && len(r.InputRequests) == 0 && r.RequestState == ""
}

// encodeResult writes what encoding/json would write of a result that isOurs.
func encodeResult(id mcp.RequestId, r *mcp.CallToolResult) ([]byte, error) {
	const most = 256 // of what goes with texts and fields
	size := most + len(r.RawStructuredContent)
	for _, c := range r.Content {
		if t, ok := c.(mcp.TextContent); ok {
			size += len(t.Text) + len(t.Text)/8 // for escapes
		}
	}
	w := resultWriter{b: make([]byte, 0, size)}
	w.put(`{"jsonrpc":"2.0","id":`)
	w.value(id.Value())
	w.put(`,"result":{`)
	if r.Meta != nil {
		w.put(`"_meta":`)
		w.meta(r.Meta)
		w.put(`,`)
	}
	w.put(`"content":[`)
	for i, c := range r.Content {
		if i > 0 {
			w.put(`,`)
		}
		w.content(c)
	}
	w.put(`]`)
	if r.IsError {
		w.put(`,"isError":true`)
	}
	if r.ResultType != "" {
		w.put(`,"resultType":`)
		w.b = appendString(w.b, string(r.ResultType))
	}
	if len(r.RawStructuredContent) > 0 {
		w.put(`,"structuredContent":`)
		w.b = append(w.b, r.RawStructuredContent...)
	}
	w.put("}}\n")
	return w.b, w.err
}

// resultWriter appends JSON until an error.
type resultWriter struct {
	b   []byte
	err error
}

func (w *resultWriter) put(text string) { w.b = append(w.b, text...) }

// value appends anything. Raw JSON is of our own making, and compact.
func (w *resultWriter) value(v any) {
	if raw, ok := v.(json.RawMessage); ok {
		w.b = append(w.b, raw...)
		return
	}
	b, err := plain(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b = append(w.b, b...)
}

func (w *resultWriter) meta(m *mcp.Meta) {
	if m.ProgressToken != nil {
		w.value(m)
		return
	}
	w.put(`{`)
	for i, key := range slices.Sorted(maps.Keys(m.AdditionalFields)) {
		if i > 0 {
			w.put(`,`)
		}
		w.b = append(appendString(w.b, key), ':')
		w.value(m.AdditionalFields[key])
	}
	w.put(`}`)
}

func (w *resultWriter) content(c mcp.Content) {
	t, ok := c.(mcp.TextContent)
	if !ok || t.Meta != nil || t.Annotations != nil {
		w.value(c)
		return
	}
	w.put(`{"type":"text","text":`)
	w.b = append(appendString(w.b, t.Text), '}')
}

// appendString appends a text as a JSON string. Bytes that are not UTF-8 become
// U+FFFD; the line separators that JavaScript once took for ends of lines are
// escaped, as encoding/json does.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if escape := escapes[c]; escape != 0 {
				b = append(b, s[start:i]...)
				if escape == 'u' {
					b = append(b, `\u00`...)
					b = append(b, hex[c>>4], hex[c&15])
				} else {
					b = append(b, '\\', escape)
				}
				start = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + n
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, hex[r&15])
			start = i + n
		}
		i += n
	}
	return append(append(b, s[start:]...), '"')
}

// escapes has what follows the backslash for each character that needs one.
var escapes = func() (e [utf8.RuneSelf]byte) {
	for c := range byte(' ') {
		e[c] = 'u'
	}
	e['\b'], e['\f'], e['\n'], e['\r'], e['\t'] = 'b', 'f', 'n', 'r', 't'
	e['"'], e['\\'] = '"', '\\'
	return e
}()

// plainHTML undoes, in place, the escapes that encoding/json adds for HTML: they
// make six bytes of one, and mcp-go's types leave no other way.
func plainHTML(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte(`\u003c`)):
			out, i = append(out, '<'), i+5
		case bytes.HasPrefix(rest, []byte(`\u003e`)):
			out, i = append(out, '>'), i+5
		case bytes.HasPrefix(rest, []byte(`\u0026`)):
			out, i = append(out, '&'), i+5
		default:
			out, i = append(out, b[i], b[i+1]), i+1
		}
	}
	return out
}
