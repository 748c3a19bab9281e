package textpage

import (
	"bytes"
	"strconv"
	"strings"

	"carrel.dev/workspace"
)

// The defaults of Options, and the least room for a page, which any character
// with its line number fits in.
const (
	DefaultLimit    = 2000
	DefaultMaxBytes = 48 << 10
	leastBytes      = 64
)

// Options say which page to cut. The zero value is the first page.
type Options struct {
	Offset int // first line, from 1; 0 is 1
	Column int // byte of that line to begin at, from 1; 0 is 1
	Limit  int // lines at most; 0 is DefaultLimit
	// MaxBytes bounds the page as encoding/json escapes it, without the quotes,
	// which is how it travels; 0 is DefaultMaxBytes, and less than 64 is 64.
	MaxBytes    int
	LineNumbers bool // begin each line with its number and a tab
}

// Page is a part of a content. StartLine and EndLine are its first and last
// line, which it may have in part; both are 0 if the content is empty.
type Page struct {
	Text               string
	StartLine, EndLine int
	TotalLines         int
	Truncated          bool // content follows, at NextOffset and NextColumn
	NextOffset         int  // the line that the next page begins with, or 0
	NextColumn         int  // the byte of that line, if not its first, or 0
}

// Cut returns a page of content. It ends at the end of a line; inside a line
// only if it holds a part of that line and nothing else, and then between two
// characters and not within a CRLF. A Column within a character begins with
// that character. An Offset or Column past the end is Invalid, but for the
// first line of empty content.
func Cut(content []byte, o Options) (Page, error) {
	total := Lines(content)
	if err := o.check(total); err != nil {
		return Page{}, err
	}
	if total == 0 {
		return Page{}, nil
	}
	if o.fitsWhole(content, total) {
		return Page{Text: string(content), StartLine: 1, EndLine: total, TotalLines: total}, nil
	}
	line := lineStart(content, o.Offset)
	start, err := columnStart(content[line:], o)
	if err != nil {
		return Page{}, err
	}
	c := cutter{rest: content[line+start:], number: o.Offset, room: o.MaxBytes, numbers: o.LineNumbers}
	c.cut(o.Limit)
	page := Page{
		Text: c.text.String(), StartLine: o.Offset, EndLine: c.number - 1, TotalLines: total,
		Truncated: len(c.rest) > 0,
	}
	switch {
	case c.part > 0:
		page.EndLine, page.NextOffset, page.NextColumn = c.number, c.number, start+c.part+1
	case page.Truncated:
		page.NextOffset = c.number
	}
	return page, nil
}

// check fills in defaults and refuses what no page can begin with.
func (o *Options) check(total int) error {
	if o.Offset < 0 || o.Column < 0 || o.Limit < 0 {
		return workspace.Errorf(workspace.Invalid, "offset, column and limit count from 1").
			Hinted("To read the end of a file, use the number of lines that a first call returns.")
	}
	if o.Offset == 0 {
		o.Offset = 1
	}
	if o.Column == 0 {
		o.Column = 1
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	o.MaxBytes = max(o.MaxBytes, leastBytes)
	switch {
	case total == 0 && (o.Offset > 1 || o.Column > 1):
		return workspace.Errorf(workspace.Invalid, "the file is empty")
	case total > 0 && o.Offset > total:
		return workspace.Errorf(workspace.Invalid, "offset %d is past the end: the file has %s", o.Offset, count(total, "line"))
	}
	return nil
}

// fitsWhole reports, for most files, that the page is all of a content: at most
// six bytes stand for one where it travels, so that nothing has to be measured.
func (o *Options) fitsWhole(content []byte, total int) bool {
	return o.Offset == 1 && o.Column == 1 && !o.LineNumbers && total <= o.Limit && mostEscaped*len(content) <= o.MaxBytes
}

// columnStart returns where the page begins in text, which begins with its first
// line.
func columnStart(text []byte, o Options) (int, error) {
	length := lineLen(text)
	if o.Column > length {
		return 0, workspace.Errorf(workspace.Invalid, "column %d is past the end of line %d, which has %s",
			o.Column, o.Offset, count(length, "byte"))
	}
	return runeStart(text[:length], o.Column-1), nil
}

// cutter moves lines from rest into text while there is room.
type cutter struct {
	text    strings.Builder
	rest    []byte
	number  int // of the line that rest begins in
	room    int // left in the page, in escaped bytes
	part    int // length of the part of a line that the page is, or 0
	numbers bool
}

// cut takes up to limit lines.
func (c *cutter) cut(limit int) {
	for range limit {
		if len(c.rest) == 0 {
			return
		}
		prefix := ""
		if c.numbers {
			prefix = strconv.Itoa(c.number) + "\t"
		}
		line := c.rest[:lineLen(c.rest)]
		room := c.room - escapedPrefix(prefix)
		n, used := fit(line, room)
		if n < len(line) && c.text.Len() > 0 {
			return
		}
		c.text.WriteString(prefix)
		c.text.Write(line[:n])
		c.rest = c.rest[n:]
		if n < len(line) {
			c.part = n
			return
		}
		c.room = room - used
		c.number++
	}
}

// escapedPrefix is the room that a line number takes: its tab is escaped.
func escapedPrefix(prefix string) int {
	if prefix == "" {
		return 0
	}
	return len(prefix) + 1
}

// Lines counts the lines of a content.
func Lines(content []byte) int {
	n := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

// lineStart returns where a line begins. Content must have that many lines.
func lineStart(content []byte, number int) int {
	const block = 64 << 10
	at, skip := 0, number-1
	for len(content)-at > block { // whole blocks: counting is faster than finding
		n := bytes.Count(content[at:at+block], []byte("\n"))
		if n >= skip {
			break
		}
		at, skip = at+block, skip-n
	}
	for range skip {
		at += lineLen(content[at:])
	}
	return at
}

// lineLen is the length of the line that text begins with.
func lineLen(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// count says a number of things.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
