package diff

import (
	"bytes"
	"strings"
)

// lines is a text from some line on, in lines with their endings.
type lines struct {
	before []byte // the text in front
	first  int    // number of lines in it
	list   []string
}

// region is where two texts differ: old lines from a0 to before a1 became new
// lines from b0 to before b1, as positions in the lists.
type region struct{ a0, a1, b0, b1 int }

// comparison is two texts and their regions, in order and never adjacent.
type comparison struct {
	old, new lines
	regions  []region
	// insertions and deletions count lines. If together they are more than
	// maxChangedLines, there may be neither lines nor regions.
	insertions, deletions int
	// coarse reports that the difference may be much larger than the smallest.
	coarse bool
}

// compare finds the difference of two texts, with so many common lines around it
// as are needed to slide it and to show context lines.
func compare(a, b []byte, context int, w *work) *comparison {
	head := commonHead(a, b)
	tail := commonTail(a[head:], b[head:])
	na, nb := countLines(a[head:len(a)-tail]), countLines(b[head:len(b)-tail])

	c := &comparison{insertions: nb, deletions: na}
	pure := na == 0 || nb == 0
	c.coarse = !pure && !w.takeLines(na+nb)
	if (pure || c.coarse) && na+nb > maxChangedLines {
		return c
	}
	lead := lastLines(a[:head], context+maxSlide)
	trail := firstLines(a[len(a)-tail:], context+maxSlide)
	c.old, c.new = window(a, head-lead, tail-trail), window(b, head-lead, tail-trail)
	at := countLines(a[head-lead : head])
	switch {
	case na+nb == 0:
	case pure || c.coarse:
		c.regions = []region{{a1: na, b1: nb}}
	default:
		c.search(c.old.list[at:at+na], c.new.list[at:at+nb], w)
	}
	for i := range c.regions {
		c.regions[i].move(at)
	}
	c.slide()
	return c
}

func (r *region) move(by int) { r.a0, r.a1, r.b0, r.b1 = r.a0+by, r.a1+by, r.b0+by, r.b1+by }

// search finds the regions of two lists of lines.
func (c *comparison) search(a, b []string, w *work) {
	ids := make(map[string]int32, len(a))
	aIDs, bIDs := number(a, ids), number(b, ids)
	inA, inB := make([]bool, len(ids)), make([]bool, len(ids))
	for _, id := range aIDs {
		inA[id] = true
	}
	for _, id := range bIDs {
		inB[id] = true
	}
	removed, inserted := make([]bool, len(a)), make([]bool, len(b))
	aKept, aAt := keep(aIDs, inB, removed)
	bKept, bAt := keep(bIDs, inA, inserted)
	aMarks, bMarks := make([]bool, len(aKept)), make([]bool, len(bKept))
	c.coarse = mark(aKept, bKept, aMarks, bMarks, &w.steps)
	for i, at := range aAt {
		removed[at] = aMarks[i]
	}
	for i, at := range bAt {
		inserted[at] = bMarks[i]
	}
	c.collect(removed, inserted)
}

// collect makes regions of what is marked, and counts it.
func (c *comparison) collect(removed, inserted []bool) {
	c.insertions, c.deletions = 0, 0
	var r region
	for r.a1 < len(removed) || r.b1 < len(inserted) {
		r = region{r.a1, r.a1, r.b1, r.b1}
		for r.a1 < len(removed) && removed[r.a1] {
			r.a1++
		}
		for r.b1 < len(inserted) && inserted[r.b1] {
			r.b1++
		}
		if r.a0 == r.a1 && r.b0 == r.b1 {
			r.a1, r.b1 = r.a1+1, r.b1+1 // common to both
			continue
		}
		c.regions = append(c.regions, r)
		c.deletions += r.a1 - r.a0
		c.insertions += r.b1 - r.b0
	}
}

// number returns the lines as ids, adding those of new lines to ids.
func number(list []string, ids map[string]int32) []int32 {
	numbers := make([]int32, len(list))
	for i, line := range list {
		id, ok := ids[line]
		if !ok {
			id = int32(len(ids))
			ids[line] = id
		}
		numbers[i] = id
	}
	return numbers
}

// keep returns those of the numbers that the other side has, with their
// positions, and marks the rest.
func keep(numbers []int32, other []bool, marks []bool) (kept []int32, at []int) {
	for i, id := range numbers {
		if other[id] {
			kept, at = append(kept, id), append(at, i)
		} else {
			marks[i] = true
		}
	}
	return kept, at
}

// window returns the lines of text without some bytes at its start and end.
func window(text []byte, head, tail int) lines {
	shown := text[head : len(text)-tail]
	list := make([]string, 0, countLines(shown))
	for line := range strings.Lines(string(shown)) {
		list = append(list, line)
	}
	return lines{before: text[:head], first: bytes.Count(text[:head], newline), list: list}
}

var newline = []byte("\n")

// countLines counts the lines of text, the last of which may lack its ending.
func countLines(text []byte) int {
	n := bytes.Count(text, newline)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// commonHead returns the length of the whole lines with which both begin. A last
// line without an ending is whole only if both end with it.
func commonHead(a, b []byte) int {
	n := commonBytes(a, b)
	if n == len(a) && n == len(b) {
		return n
	}
	return bytes.LastIndexByte(a[:n], '\n') + 1
}

// commonBytes returns how many bytes at the start a and b have in common.
func commonBytes(a, b []byte) int {
	const block = 4096
	n := 0
	for n+block <= min(len(a), len(b)) && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// commonTail returns the length of the whole lines with which both end.
func commonTail(a, b []byte) int {
	const block = 4096
	n := 0
	for n+block <= min(len(a), len(b)) && bytes.Equal(a[len(a)-n-block:len(a)-n], b[len(b)-n-block:len(b)-n]) {
		n += block
	}
	for n < min(len(a), len(b)) && a[len(a)-n-1] == b[len(b)-n-1] {
		n++
	}
	if n == len(a) && startsLine(b, n) || n == len(b) && startsLine(a, n) {
		return n
	}
	// The first of the n bytes may be in the middle of a line.
	end := bytes.IndexByte(a[len(a)-n:], '\n')
	if end < 0 {
		return 0
	}
	return n - end - 1
}

// startsLine reports whether the last n bytes of text begin a line.
func startsLine(text []byte, n int) bool {
	return n == len(text) || text[len(text)-n-1] == '\n'
}

// lastLines returns the length of the last few lines of text, each with its
// ending.
func lastLines(text []byte, n int) int {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(text[:at-1], '\n') + 1
	}
	return len(text) - at
}

// firstLines returns the length of the first few lines of text.
func firstLines(text []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return len(text)
		}
		at += end + 1
	}
	return at
}
