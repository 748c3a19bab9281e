package textedit

import (
	"bytes"
	"fmt"
	"strings"
)

// Bounds on the lines that are compared.
const (
	mostLines = 400 // of the old text
	slack     = 20  // lines looked ahead for where both texts go on
	leastLine = 3   // characters of a line that tells where it is
	longest   = 4 << 10
)

// alignment compares the lines of an old text with those of the part of a file
// that is most like it.
type alignment struct {
	old, file  [][]byte
	look       [2][]string // the outlines of both
	firstLine  int         // number of the file's first line here
	start      int         // where that begins in the file
	whole      []byte      // the file
	oldLast    int         // the last line of the old text, which may be a part
	shift      int         // the line of file that the old text's first one is
	blocks     int
	first      block
	whitespace string // the first difference of white space between equal lines
	end        int    // the line of file after the last that corresponds
}

// block is a run of lines that differ: ranges of the old text's and the file's.
type block struct{ old, file span }

// newAlignment aligns old with the lines of flat around an offset.
func newAlignment(old, flat []byte, near int) *alignment {
	a := &alignment{whole: flat}
	a.old = linesOf(bytes.TrimSuffix(old, []byte("\n")), mostLines)
	a.oldLast = len(a.old) - 1
	a.start = lineStart(flat, near)
	base := 0
	for base < slack && a.start > 0 {
		a.start = lineStart(flat, a.start-1)
		base++
	}
	a.firstLine = lineNumber(flat, a.start)
	a.file = linesOf(flat[a.start:], base+len(a.old)+2*slack)
	for i, lines := range [2][][]byte{a.old, a.file} {
		for _, line := range lines {
			a.look[i] = append(a.look[i], string(outline(line[:min(len(line), longest)])))
		}
	}
	a.findShift(base)
	a.walk()
	return a
}

// linesOf returns up to most lines of s, without their endings.
func linesOf(s []byte, most int) [][]byte {
	var all [][]byte
	for line := range bytes.Lines(s) {
		if len(all) == most {
			break
		}
		all = append(all, bytes.TrimSuffix(line, []byte("\n")))
	}
	return all
}

// same reports whether a line of the old text and one of the file look alike. The
// first and the last line of the old text may be parts of lines.
func (a *alignment) same(i, j int) bool {
	old, file := a.look[0][i], a.look[1][j]
	switch i {
	case 0:
		return strings.HasSuffix(file, old)
	case a.oldLast:
		return strings.HasPrefix(file, old)
	}
	return old == file
}

// findShift looks for the first line of the old text that the file has close to
// where it should be if the old text began at line base.
func (a *alignment) findShift(base int) {
	a.shift = base
	for i := range a.old {
		if len(a.look[0][i]) < leastLine {
			continue
		}
		for off := range slack {
			for _, j := range [2]int{base + i + off, base + i - off} {
				if j >= 0 && j < len(a.file) && a.same(i, j) {
					a.shift = j - i
					return
				}
			}
		}
	}
}

// walk goes through both texts and notes where they differ.
func (a *alignment) walk() {
	i, j := max(0, -a.shift), max(0, a.shift)
	if i > 0 {
		a.note(block{span{0, i}, span{0, 0}})
	}
	for i < len(a.old) && j < len(a.file) {
		if a.same(i, j) {
			a.compareSpace(i, j)
			i, j = i+1, j+1
			continue
		}
		di, dj := a.resume(i, j)
		a.note(block{span{i, i + di}, span{j, j + dj}})
		i, j = i+di, j+dj
	}
	if i < len(a.old) {
		a.note(block{span{i, len(a.old)}, span{j, j}})
	}
	a.end = j
}

// note keeps the first block and counts the others.
func (a *alignment) note(b block) {
	if a.blocks == 0 {
		a.first = b
	}
	a.blocks++
}

// resume returns how many lines of each to skip to where both go on alike, or
// one of each, if that is nowhere near.
func (a *alignment) resume(i, j int) (di, dj int) {
	for sum := 1; sum <= slack; sum++ {
		for di := range sum + 1 {
			dj := sum - di
			if i+di >= len(a.old) || j+dj >= len(a.file) {
				continue
			}
			if len(a.look[0][i+di]) >= leastLine && a.same(i+di, j+dj) {
				return di, dj
			}
		}
	}
	return 1, 1
}

// compareSpace notes the first difference between lines that look alike.
func (a *alignment) compareSpace(i, j int) {
	if a.whitespace != "" || i == 0 || i == a.oldLast || bytes.Equal(a.old[i], a.file[j]) || a.look[0][i] == "" {
		return
	}
	offset := a.offset(j)
	if c := compare(a.old[i], a.whole, nextGlyph(a.whole, offset).at); len(c.found) > 0 {
		a.whitespace = c.found[0].sentence(a.whole)
	}
}

// offset is where line j of file begins.
func (a *alignment) offset(j int) int {
	offset := a.start
	for _, line := range a.file[:j] {
		offset += len(line) + 1
	}
	return min(offset, len(a.whole))
}

// say writes what differs.
func (a *alignment) say(x *explainer) {
	from := a.firstLine + max(0, a.shift)
	to := a.firstLine + max(a.end-1, 0)
	fmt.Fprintf(&x.text, "; nearest %s: %s", lineRange(from, to), a.sentence())
	if a.blocks > 1 {
		fmt.Fprintf(&x.text, "; %s further on", numbered(a.blocks-1, "difference"))
	}
	if a.whitespace != "" {
		fmt.Fprintf(&x.text, "; also, %s", a.whitespace)
	}
	b := a.first
	if b.file.len() > 0 {
		fmt.Fprintf(&x.text, "\nfile:      %s", quote(a.file[b.file.from]))
	}
	if b.old.len() > 0 {
		fmt.Fprintf(&x.text, "\noldString: %s", quote(a.old[b.old.from]))
	}
	x.showRegion(a.offset(min(b.file.from, len(a.file))), from, to)
}

// sentence says what the first block is.
func (a *alignment) sentence() string {
	b := a.first
	old, file := linesName(b.old, 1), linesName(b.file, a.firstLine)
	switch {
	case a.blocks == 0:
		return "as far as they are compared here they are alike"
	case b.old.len() == 0:
		return "the file has " + file + " that oldString leaves out"
	case b.file.len() == 0 && a.firstLine+b.file.from == 1:
		return fmt.Sprintf("oldString has %s that the file does not have before line 1", old)
	case b.file.len() == 0:
		return fmt.Sprintf("oldString has %s that the file does not have after line %d", old, a.firstLine+b.file.from-1)
	}
	return fmt.Sprintf("the file's %s and oldString's %s differ", file, old)
}

// linesName names a span of lines, of which the first has a number.
func linesName(s span, first int) string {
	if s.len() == 1 {
		return fmt.Sprintf("line %d", first+s.from)
	}
	return fmt.Sprintf("lines %d to %d", first+s.from, first+s.to-1)
}
