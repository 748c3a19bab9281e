package textedit

import (
	"bytes"
	"strings"
)

const bom = "\ufeff"

// text is a content in two forms: as it is, and flat, with every CRLF as LF,
// which is what is searched.
type text struct {
	raw, flat []byte
	body      int // length of the byte order mark at the start, in both
	crlf, lf  int // how many endings there are of each kind
}

// read returns both forms of a content. They are one if it has no CRLF.
func read(content []byte) text {
	t := text{raw: content, flat: content}
	if bytes.HasPrefix(content, []byte(bom)) {
		t.body = len(bom)
	}
	if bytes.IndexByte(content, '\r') >= 0 {
		t.flat = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	}
	t.crlf = len(t.raw) - len(t.flat)
	t.lf = bytes.Count(t.flat, []byte("\n")) - t.crlf
	return t
}

// flatten is the flat form of a text that is not a file's.
func flatten(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// searchFrom is where the flat text is searched from: after the byte order mark,
// unless the text to find begins with one itself.
func (t text) searchFrom(old []byte) int {
	if bytes.HasPrefix(old, []byte(bom)) {
		return 0
	}
	return t.body
}

// occursIn reports whether an edit's old text occurs in content.
func (e Edit) occursIn(content []byte) bool {
	t, old := read(content), []byte(flatten(e.Old))
	return bytes.Contains(t.flat[t.searchFrom(old):], old)
}

// cursor turns rising offsets of a flat text into those of the raw one.
type cursor struct {
	raw      []byte
	at, flat int // the same place in both
	crlf     int // the next CRLF of raw at or after at, or its length
}

func newCursor(raw []byte) *cursor {
	c := &cursor{raw: raw}
	c.find()
	return c
}

// find looks for the next CRLF.
func (c *cursor) find() {
	if n := bytes.Index(c.raw[c.at:], []byte("\r\n")); n >= 0 {
		c.crlf = c.at + n
	} else {
		c.crlf = len(c.raw)
	}
}

// to moves to an offset of the flat text and returns the raw one. The LF that a
// CRLF became is where the CRLF begins, so that no place is between the two.
func (c *cursor) to(flat int) int {
	for c.at+flat-c.flat > c.crlf {
		c.flat += c.crlf - c.at + 1
		c.at = c.crlf + 2
		c.find()
	}
	c.at, c.flat = c.at+flat-c.flat, flat
	return c.at
}
