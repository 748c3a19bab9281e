package server

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Reply is the answer to a call.
type Reply struct {
	// Text is for a model to read: what the tool says, then notes; of an error
	// one block, the sentence and on the next line what to do.
	Text []string
	// Contents is how many of the blocks the tool gives; those after it are notes.
	Contents int
	Data     *tools.Data // an image or other bytes, nil for none
	// Fields are the facts for a program: a JSON object that names its
	// workspace. An error has none.
	Fields json.RawMessage
	// TextOnly marks fields that go beside the text, without a schema.
	TextOnly bool
	Code     workspace.Kind // of an error; "" for success
}

// IsError reports whether the call failed.
func (r Reply) IsError() bool { return r.Code != "" }

// succeeded makes the reply of a tool's result.
func (v voice) succeeded(ctx context.Context, t *tools.Tool, out tools.Output, id workspace.ID, note string) Reply {
	shown := out.Render()
	r := Reply{Data: shown.Data, TextOnly: t.TextOnly}
	if shown.Text != "" || shown.Data == nil {
		r.Text = append(r.Text, shown.Text)
	}
	r.Text = append(r.Text, shown.More...)
	r.Contents = len(r.Text)
	for _, n := range append(slices.Clone(shown.Notes), note) {
		if n = v.say(n); n != "" {
			r.Text = append(r.Text, n)
		}
	}
	fields, err := compact(out)
	if err != nil {
		return v.failed(ctx, t, err)
	}
	if id != "" && !v.session.desk.named[t] {
		value, _ := json.Marshal(id) // a string always encodes
		fields = insert(fields, "workspace", value)
	}
	r.Fields = fields
	return r
}

// failed makes the reply of an error.
func (v voice) failed(ctx context.Context, t *tools.Tool, err error) Reply {
	kind, text := v.explain(ctx, t.Name, err)
	return Reply{Code: kind, Text: []string{text}}
}

// explain puts the error of an operation, which a tool of that name or another
// thing does, in words: the sentence, and below it what to do. What nobody
// classified is logged under an id, and the client is told no more than that.
func (v voice) explain(ctx context.Context, op string, err error) (workspace.Kind, string) {
	name := v.spelling.Of(op)
	kind := workspace.KindOf(err)
	if kind == workspace.Internal {
		id := v.session.desk.cfg.NewID()
		v.session.desk.cfg.Log.ErrorContext(ctx, "a call failed inside", "id", id, "tool", op, "session", v.session.id, "err", err)
		return kind, name + ": internal error, logged under the id " + id
	}
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, op); ok {
		text = name + rest
	}
	// Below the first line an error may show the content of a file.
	first, rest, _ := strings.Cut(text, "\n")
	text = v.respell(first)
	for _, more := range [...]string{rest, v.say(workspace.HintOf(err))} {
		if more != "" {
			text += "\n" + more
		}
	}
	return kind, bound(text, v.session.desk.cfg.Project.Host().Limits().ResultBytes)
}

// compact encodes without the escapes that encoding/json adds for HTML.
func compact(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(buf.Bytes()), err
}

// hasWorkspace reports whether a result names its workspace itself.
func hasWorkspace(out reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(out), func(f reflect.StructField) bool {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name == "workspace"
	})
}

// bound cuts a text to a size in bytes, at a rune.
func bound(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const cutMark = "\n[cut]"
	n := most - len(cutMark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + cutMark
}
