package textedit

import (
	"bytes"
	"math/bits"
)

// Bounds of the search for what is like an old text, in bytes of outlines.
const (
	mostCompared = 64 << 10 // of the old text
	longestGram  = 8
)

// nearest returns where in the outline of a file the part begins that has most
// in common with the outline of an old text, and whether that is much. It slides
// a window as long as the old text over the file and counts the sequences of a
// few characters that both have, as often as both have them, so its time is
// that of reading the file, whatever the old text is.
func nearest(file, old []byte) (at int, ok bool) {
	old = old[:min(len(old), mostCompared)]
	n := gramLen(len(old))
	window := len(old) - n + 1
	if window < 2 || len(file) < n {
		return 0, false
	}
	s := newShared(old, n)
	best := 0
	enter, leave := gram{n: n}, gram{n: n}
	for i, b := range file {
		enter.push(b)
		if i < n-1 {
			continue
		}
		s.add(enter.slot(s.shift))
		if start := i - n + 1; start >= window { // the gram at start-window leaves
			for leave.seen < start-window+n {
				leave.push(file[leave.seen])
			}
			s.remove(leave.slot(s.shift))
		}
		if s.hits > best {
			best, at = s.hits, max(0, i+1-len(old))
		}
	}
	const least = 0.4
	return at, float64(best) >= least*float64(window)
}

// gramLen is how many characters to compare at a time: few in a short text,
// where a difference spoils many, and more in a long one, where few say little.
func gramLen(n int) int {
	switch {
	case n < 16:
		return 2
	case n < 64:
		return 3
	}
	return longestGram
}

// gram is the last n bytes of a sequence.
type gram struct {
	n, seen int
	last    uint64
}

func (g *gram) push(b byte) {
	g.last = g.last<<8 | uint64(b)
	g.seen++
}

// slot hashes the gram to a number of 64-shift bits.
func (g *gram) slot(shift int) int {
	const spread = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return int(g.last << (64 - 8*g.n) * spread >> shift)
}

// shared counts the grams that a window and the old text share.
type shared struct {
	shift      int
	need, have []int32 // by slot: how often the old text and the window have it
	hits       int
}

func newShared(old []byte, n int) *shared {
	size := bits.Len(uint(len(old))) + 3 // bits, for slots that grams rarely share
	s := &shared{shift: 64 - size, need: make([]int32, 1<<size), have: make([]int32, 1<<size)}
	g := gram{n: n}
	for _, b := range old {
		if g.push(b); g.seen >= n {
			s.need[g.slot(s.shift)]++
		}
	}
	return s
}

func (s *shared) add(slot int) {
	if s.need[slot] == 0 {
		return
	}
	if s.have[slot] < s.need[slot] {
		s.hits++
	}
	s.have[slot]++
}

func (s *shared) remove(slot int) {
	if s.need[slot] == 0 {
		return
	}
	s.have[slot]--
	if s.have[slot] < s.need[slot] {
		s.hits--
	}
}

// sameLook returns up to a few offsets at which the outline of an old text
// occurs in that of a file.
func sameLook(file, old []byte) []int {
	const most = 16
	var all []int
	for from := 0; len(all) < most; {
		n := bytes.Index(file[from:], old)
		if n < 0 {
			break
		}
		all = append(all, from+n)
		from += n + 1
	}
	return all
}
