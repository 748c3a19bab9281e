package grep

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// collector makes matches of hits, with the lines around them.
type collector struct {
	content []byte
	limits  Limits
	matches []Match

	pos   int // where to look for the next hit
	shown int // what is before has been returned, or was by an earlier call
	// line is the number of the line at lineAt.
	line, lineAt int
}

func newCollector(content []byte, l Limits) *collector {
	c := &collector{content: content, limits: l, line: 1}
	for range l.After {
		n := bytes.IndexByte(content[c.pos:], '\n')
		if n < 0 {
			c.pos = len(content)
			break
		}
		c.pos += n + 1
	}
	c.shown = c.pos
	return c
}

// add makes a match of a hit, which starts at an offset in its line.
func (c *collector) add(h hit, at int) {
	c.after(h.start)
	m := Match{
		Line:   c.lineNumber(h.start),
		Column: at + 1,
		Text:   shown(c.content[h.start:h.end], at),
	}
	m.Before = c.before(h.start, m.Line)
	c.matches = append(c.matches, m)
	c.pos, c.shown = h.next, h.next
}

// finish completes the last match, of which a hit may follow that is not added.
func (c *collector) finish(h hit, ok bool) {
	if ok {
		c.after(h.start)
	} else {
		c.after(len(c.content))
	}
}

// lineNumber returns the number of the line at a position. Positions do not
// decrease.
func (c *collector) lineNumber(at int) int {
	c.line += bytes.Count(c.content[c.lineAt:at], newline)
	c.lineAt = at
	return c.line
}

var newline = []byte("\n")

// before returns the lines above a match that are not shown yet.
func (c *collector) before(start, line int) []ContextLine {
	first := start
	for n := 0; n < c.limits.Context && first > c.shown; n++ {
		first = bytes.LastIndexByte(c.content[:first-1], '\n') + 1
		line--
	}
	var lines []ContextLine
	for at := first; at < start; line++ {
		end := at + bytes.IndexByte(c.content[at:], '\n')
		lines = append(lines, c.contextLine(at, end, line))
		at = end + 1
	}
	return lines
}

// after adds the lines below the last match, before limit.
func (c *collector) after(limit int) {
	if len(c.matches) == 0 {
		return
	}
	m := &c.matches[len(c.matches)-1]
	for n := 1; n <= c.limits.Context && c.shown < limit; n++ {
		end, next := limit, limit
		if i := bytes.IndexByte(c.content[c.shown:limit], '\n'); i >= 0 {
			end, next = c.shown+i, c.shown+i+1
		}
		m.After = append(m.After, c.contextLine(c.shown, end, m.Line+n))
		c.shown = next
	}
}

// contextLine makes a line of content[at:end], which may end in CR.
func (c *collector) contextLine(at, end, line int) ContextLine {
	text := c.content[at:end]
	if end < len(c.content) {
		text = bytes.TrimSuffix(text, []byte("\r"))
	}
	return ContextLine{line, shown(text, 0)}
}

// Lines are shown up to maxShown characters, the marks of a cut included; of one
// that is cut at its start, shownBefore characters before the match.
const (
	maxShown    = 300
	shownBefore = 100
	cutMark     = "…"
)

// shown returns the part of a line around a match at an offset.
func shown(line []byte, match int) string {
	if len(line) <= maxShown || len(line) <= maxShown*utf8.UTFMax && utf8.RuneCount(line) <= maxShown {
		return valid(line)
	}
	const room = maxShown - 2
	from := back(line, match, shownBefore)
	to := forward(line, from, room)
	if to == len(line) {
		from = back(line, to, room)
	}
	text := valid(line[from:to])
	if from > 0 {
		text = cutMark + text
	}
	if to < len(line) {
		text += cutMark
	}
	return text
}

// back returns the offset n characters before another one.
func back(line []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(line[:at])
		at -= size
	}
	return at
}

// forward returns the offset n characters after another one.
func forward(line []byte, at, n int) int {
	for ; n > 0 && at < len(line); n-- {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return at
}

// valid returns text with U+FFFD for what is not UTF-8.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }
