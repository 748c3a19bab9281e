package textedit

import (
	"bytes"
	"errors"
	"fmt"

	"carrel.dev/workspace"
)

// MaxSize bounds the content that edits may make, in bytes, so that replacing
// something short everywhere cannot exhaust the memory. Files have a lower
// limit, which is for the caller to check.
const MaxSize = 256 << 20

// Edit replaces Old by New: where Old occurs, which must be in one place only,
// or with All in every place, from the left and without overlaps.
type Edit struct {
	Old, New string
	All      bool
}

// Result is the content after all edits and how many occurrences they replaced
// in total.
type Result struct {
	Content []byte
	Count   int
}

// Apply applies edits one after the other, each to what the one before made of
// content, which itself is not changed. The first that cannot be applied fails
// them all: an edit that would change nothing is Invalid, one that would make
// the content larger than MaxSize Limit. Old text that does not occur, or occurs
// more than once without All, is Conflict; then the message, of at most 4 KiB
// with its hint and of several lines, names the nearest text and the reason, or
// the places. With several edits it names the one that failed.
func Apply(content []byte, edits []Edit) (Result, error) {
	if len(edits) == 0 {
		return Result{}, workspace.Errorf(workspace.Invalid, "there are no edits")
	}
	for i, e := range edits {
		if err := e.check(); err != nil {
			return Result{}, ofItem(err, i, len(edits))
		}
	}
	r := Result{Content: content}
	for i, e := range edits {
		next, n, err := e.apply(r.Content)
		if err != nil && errors.Is(err, errMissing) {
			err = explain(e, r.Content, content, edits[:i])
		}
		if err != nil {
			return Result{}, ofItem(err, i, len(edits))
		}
		r.Content, r.Count = next, r.Count+n
	}
	return r, nil
}

// errMissing is the error of an edit whose old text does not occur, before
// somebody finds out why.
var errMissing = errors.New("oldString is not in the file")

// ofItem says which of several edits an error is about.
func ofItem(err error, i, of int) error {
	var e *workspace.Error
	if of == 1 || !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Err = fmt.Errorf("edit %d of %d: %w", i+1, of, e.Err)
	return &named
}

// check refuses an edit that no content makes sense of.
func (e Edit) check() error {
	switch {
	case e.Old == "":
		return workspace.Errorf(workspace.Invalid, "oldString is empty").
			Hinted("Give the text to replace. To insert, give the text next to the place, and the same text with the addition as newString.")
	case e.Old == e.New:
		return unchanged("oldString and newString are the same")
	case flatten(e.Old) == flatten(e.New):
		return unchanged("oldString and newString differ in the kind of line ending only")
	}
	return nil
}

// unchanged is the error of an edit without effect.
func unchanged(why string) error {
	return workspace.Errorf(workspace.Invalid, "nothing would change: %s", why).
		Hinted("An edit keeps a file's line endings and its byte order mark. `writeFile` sets all bytes.")
}

// apply returns content after one edit and the number of replacements.
func (e Edit) apply(content []byte) ([]byte, int, error) {
	t := read(content)
	old := []byte(flatten(e.Old))
	from := t.searchFrom(old)
	first := bytes.Index(t.flat[from:], old)
	if first < 0 {
		return nil, 0, errMissing
	}
	first += from
	n := 1
	if e.All {
		n += bytes.Count(t.flat[first+len(old):], old)
	} else if bytes.Contains(t.flat[first+1:], old) {
		return nil, 0, several(t.flat, old, first)
	}
	next, err := t.splice(first, n, old, e.New)
	if err == nil && bytes.Equal(next, content) {
		err = unchanged("newString says what is there")
	}
	return next, n, err
}

// splice replaces n occurrences of old, of which the first is at an offset of
// the flat text.
func (t text) splice(first, n int, old []byte, replacement string) ([]byte, error) {
	r := t.render(string(old), replacement)
	growth := int64(n) * int64(max(0, r.most-len(old)))
	if int64(len(t.raw))+growth > MaxSize {
		return nil, workspace.Errorf(workspace.Limit, "the result would be larger than %d MiB", MaxSize>>20)
	}
	out := make([]byte, 0, int64(len(t.raw))+growth)
	raw, flat := newCursor(t.raw), first
	copied := 0
	for range n {
		flat += bytes.Index(t.flat[flat:], old)
		start := raw.to(max(flat, t.body))
		flat += len(old)
		end := raw.to(max(flat, t.body))
		out = append(out, t.raw[copied:start]...)
		out = append(out, r.at(start, end)...)
		copied = end
	}
	return append(out, t.raw[copied:]...), nil
}
