package textedit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// glyph is a character that shows, with what goes before it and does not.
type glyph struct {
	gap  []byte
	text []byte // the character with its combining marks
	r    rune
	at   int // where text begins
}

// end is where the glyph ends.
func (g glyph) end() int { return g.at + len(g.text) }

// nextGlyph returns the glyph that begins at from or after. At the end it has no
// text.
func nextGlyph(s []byte, from int) glyph {
	at := from
	for at < len(s) {
		r, size := utf8.DecodeRune(s[at:])
		if plain(r) == 0 {
			at += size
			continue
		}
		end := at + size
		for end < len(s) {
			mark, more := utf8.DecodeRune(s[end:])
			if !unicode.Is(unicode.Mn, mark) {
				break
			}
			end += more
		}
		return glyph{gap: s[from:at], text: s[at:end], r: r, at: at}
	}
	return glyph{gap: s[from:], at: len(s)}
}

// gapBefore is where the white space begins that ends at an offset.
func gapBefore(s []byte, at int) int {
	for at > 0 {
		r, size := utf8.DecodeLastRune(s[:at])
		if plain(r) != 0 {
			break
		}
		at -= size
	}
	return at
}

// difference is a place where two texts with one outline differ: what to say
// before and after naming the place.
type difference struct {
	kind          string
	before, after string
	at            int  // in the file
	wantAt        int  // in the old text
	exact         bool // name the column too
}

// sentence says what the difference is, given the file.
func (d difference) sentence(flat []byte) string {
	where := fmt.Sprintf(" line %d", lineNumber(flat, d.at))
	if d.exact {
		where += fmt.Sprintf(" column %d", column(flat, d.at))
	}
	return d.before + where + d.after
}

// comparison compares an old text with the part of a file that has its outline.
type comparison struct {
	want, flat []byte
	start, end int // that part
	found      []difference
	count      int
}

// compare compares want with what begins at a glyph of the file. It keeps the
// first difference of each kind.
func compare(want, flat []byte, start int) *comparison {
	c := &comparison{want: want, flat: flat, start: start}
	w, f := nextGlyph(want, 0), nextGlyph(flat, start)
	f.gap = flat[gapBefore(flat, f.at):f.at]
	if !bytes.HasSuffix(f.gap, w.gap) {
		gap := lastLines(f.gap, bytes.Count(w.gap, []byte("\n")))
		c.gap(gaps{file: gap, want: w.gap, at: f.at - len(gap)})
	}
	for len(w.text) > 0 && len(f.text) > 0 {
		if !bytes.Equal(w.text, f.text) {
			c.glyph(w, f)
		}
		g := gaps{at: f.end(), wantAt: w.end()}
		c.end = f.end()
		w, f = nextGlyph(want, w.end()), nextGlyph(flat, f.end())
		g.file, g.want, g.last = f.gap, w.gap, len(w.text) == 0
		if g.last {
			g.file = firstLines(f.gap, bytes.Count(w.gap, []byte("\n")))
			g.fileEnds = len(f.text) == 0
		}
		if !bytes.Equal(g.want, g.file) && !(g.last && bytes.HasPrefix(g.file, g.want)) {
			c.gap(g)
		}
	}
	return c
}

// lastLines is the end of a gap that has n line feeds, or all of it.
func lastLines(gap []byte, n int) []byte {
	for at := len(gap); ; n-- {
		at = bytes.LastIndexByte(gap[:at], '\n')
		if at < 0 || n == 0 {
			return gap[at+1:]
		}
	}
}

// firstLines is the beginning of a gap that has n line feeds, or all of it.
func firstLines(gap []byte, n int) []byte {
	for at := 0; ; n-- {
		next := bytes.IndexByte(gap[at:], '\n')
		if next < 0 {
			return gap
		}
		if n == 0 {
			return gap[:at+next]
		}
		at += next + 1
	}
}

// add keeps a difference if it is the first of its kind.
func (c *comparison) add(d difference) {
	c.count++
	for _, have := range c.found {
		if have.kind == d.kind {
			return
		}
	}
	c.found = append(c.found, d)
}

// mostDifferences bounds the differences that are looked at and not only counted.
const mostDifferences = 1000

// glyph notes characters of one look that are different ones.
func (c *comparison) glyph(w, f glyph) {
	if c.count >= mostDifferences {
		c.count++
		return
	}
	d := difference{at: f.at, wantAt: w.at, exact: true}
	d.before = "the file has " + pointsOf(f.text) + " at"
	d.after = ", oldString has " + pointsOf(w.text)
	switch _, size := utf8.DecodeRune(f.text); {
	case f.r == utf8.RuneError && size == 1:
		d.kind = "bytes"
		d.before = fmt.Sprintf("the file has the byte 0x%02x, which is not UTF-8, at", f.text[0])
	case len(f.text) > size || utf8.RuneCount(w.text) > 1:
		d.kind = "composition"
		d.after += ": the same letter, composed in another way"
	case unicode.ToLower(f.r) == unicode.ToLower(w.r):
		d.kind = "case"
		d.after += ": upper and lower case differ"
	default:
		d.kind = "look"
	}
	c.add(d)
}

// pointsOf names the characters of a glyph.
func pointsOf(text []byte) string {
	const most = 16 // bytes; marks can be piled up without end
	var all []string
	for at, r := range string(text) {
		if at > most {
			break
		}
		all = append(all, nameOf(r))
	}
	return strings.Join(all, " ")
}
