package textedit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// gaps is what does not show at one place of a file and of an old text that
// otherwise look alike there.
type gaps struct {
	file, want []byte
	at, wantAt int  // where they begin
	last       bool // after the last character that shows of the old text
	fileEnds   bool // and of the file
}

// gap notes how the two differ.
func (c *comparison) gap(g gaps) {
	if c.count >= mostDifferences {
		c.count++
		return
	}
	d, ok := g.characters()
	if !ok {
		d, ok = g.lines()
	}
	if !ok {
		d = g.spaces(c.flat)
	}
	d.wantAt = min(g.wantAt+d.at-g.at, len(c.want)) // both gaps are as long up to there
	c.add(d)
}

// characters finds one that is no plain white space, and only on one side.
func (g gaps) characters() (d difference, ok bool) {
	if at, r := strange(g.file, g.want); at >= 0 {
		d = difference{kind: "character", at: g.at + at, exact: true}
		d.before = "the file has " + nameOf(r) + " at"
		d.after = ", oldString has " + gapName(g.want)
		if r == '\r' && bytes.ContainsRune(g.want, '\n') {
			d.after += "; a carriage return alone is no line ending here"
		}
		return d, true
	}
	if at, r := strange(g.want, g.file); at >= 0 {
		d = difference{kind: "character", at: g.at, exact: true}
		d.before = "oldString has " + nameOf(r) + " where the file has " + gapName(g.file) + ", at"
		return d, true
	}
	return d, false
}

// strange returns the first character of a gap that is no plain white space and
// not in the other gap; at is -1 if there is none. It looks at the beginnings.
func strange(gap, other []byte) (at int, r rune) {
	const most = 1 << 10
	gap, other = gap[:min(len(gap), most)], other[:min(len(other), most)]
	for at, r := range string(gap) {
		if r != utf8.RuneError && !strings.ContainsRune(" \t\n", r) && !bytes.ContainsRune(other, r) {
			return at, r
		}
	}
	return -1, 0
}

// gapName says what a gap is.
func gapName(gap []byte) string {
	r, size := utf8.DecodeRune(gap)
	switch {
	case len(gap) == 0:
		return "nothing"
	case bytes.ContainsRune(gap, '\n'):
		return "a line ending"
	case size == len(gap):
		return nameOf(r)
	}
	return widthOf(gap)
}

// lines compares the numbers of line endings.
func (g gaps) lines() (d difference, ok bool) {
	d = difference{kind: "lines", at: g.at}
	inFile, inWant := bytes.Count(g.file, []byte("\n")), bytes.Count(g.want, []byte("\n"))
	switch more := inFile - inWant; {
	case more == 0:
		return d, false
	case g.wantAt == 0: // before all that shows of the old text
		d.at += len(g.file)
		d.before = "oldString has " + emptyLines(-more) + " that the file does not have before"
	case more > 0 && inWant == 0:
		d.before, d.after = "the file begins a new line after", ", oldString does not"
	case more > 0:
		d.before, d.after = "the file has "+emptyLines(more)+" after", " that oldString leaves out"
	case g.last && g.fileEnds && inFile == 0:
		d.before, d.after = "the file ends with", ", without the line ending that oldString has"
	case inFile == 0:
		d.before, d.after = "oldString begins a new line where", " of the file goes on"
	default:
		d.before, d.after = "oldString has "+emptyLines(-more)+" that the file does not have after", ""
	}
	return d, true
}

// emptyLines says how many.
func emptyLines(n int) string {
	if n == 1 {
		return "an empty line"
	}
	return fmt.Sprintf("%d empty lines", n)
}

// spaces compares spaces and tabs, line by line.
func (g gaps) spaces(flat []byte) difference {
	at := g.at
	file, fileRest, more := bytes.Cut(g.file, []byte("\n"))
	want, wantRest, _ := bytes.Cut(g.want, []byte("\n"))
	for more && bytes.Equal(file, want) {
		at += len(file) + 1
		file, fileRest, more = bytes.Cut(fileRest, []byte("\n"))
		want, wantRest, _ = bytes.Cut(wantRest, []byte("\n"))
	}
	d := difference{at: at}
	switch {
	case more || g.last && at == g.at:
		d.kind = "trailing"
		d.before, d.after = "oldString has trailing white space,", " of the file does not"
		if len(file) > len(want) {
			d.before, d.after = "the file has trailing white space on", ", oldString does not"
		}
	case at == lineStart(flat, at):
		d.kind = "indentation"
		tabs, wantTabs := bytes.ContainsRune(file, '\t'), bytes.ContainsRune(want, '\t')
		switch {
		case tabs && !wantTabs && len(want) > 0:
			d.before, d.after = "the file uses tabs at", ", oldString spaces"
		case wantTabs && !tabs && len(file) > 0:
			d.before, d.after = "the file uses spaces at", ", oldString tabs"
		case len(file) == 0:
			d.before, d.after = "the file is not indented at", ", oldString is, by "+widthOf(want)
		case len(want) == 0:
			d.before, d.after = "the file is indented by "+widthOf(file)+" at", ", oldString is not"
		default:
			d.before, d.after = "the file is indented by "+widthOf(file)+" at", ", oldString by "+widthOf(want)
		}
	default:
		d.kind, d.exact = "spacing", true
		d.before, d.after = "the file has "+widthOf(file)+" at", ", oldString has "+widthOf(want)
	}
	return d
}

// widthOf says what a line's white space consists of.
func widthOf(space []byte) string {
	spaces, tabs := bytes.Count(space, []byte(" ")), bytes.Count(space, []byte("\t"))
	var parts []string
	if tabs > 0 {
		parts = append(parts, numbered(tabs, "tab"))
	}
	if spaces > 0 {
		parts = append(parts, numbered(spaces, "space"))
	}
	switch {
	case len(space) == 0:
		return "nothing"
	case len(parts) == 0:
		return "white space"
	}
	return strings.Join(parts, " and ")
}

// numbered says a number of things.
func numbered(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
