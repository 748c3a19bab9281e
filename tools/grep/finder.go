package grep

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// finder finds needles in a content. It looks at each byte once for each needle,
// wherever the others are.
type finder struct {
	needles []needle
	overlap int // one byte less than the longest needle
	fold    bool
	content []byte

	// view is content[base:], or a part of it in lower case; next is where each
	// needle is next in view, by its position in content, or view's end.
	view   []byte
	base   int
	next   []int
	buffer []byte // for view, if fold
}

// needle is one text in two parts. The second one, which begins with a rare byte
// if there is any, is looked for: the machine looks for a first byte quickly and
// slows down with each that it finds.
type needle struct{ head, tail []byte }

func newNeedle(text string) needle {
	at := 0
	for i := 1; i < len(text)-1; i++ {
		if rarity(text[i]) > rarity(text[at]) {
			at = i
		}
	}
	return needle{[]byte(text[:at]), []byte(text[at:])}
}

// rarity ranks bytes by how rare they are in programs and prose.
func rarity(c byte) int {
	const common = " etaoinsrlcdpumfhg.,()_-=bywvkx"
	if i := strings.IndexByte(common, c); i >= 0 {
		return i
	}
	return len(common)
}

// find returns where in text the needle is, or -1.
func (n needle) find(text []byte) int {
	for from := 0; from+len(n.head) <= len(text); {
		i := bytes.Index(text[from+len(n.head):], n.tail)
		if i < 0 {
			return -1
		}
		from += i
		if bytes.HasPrefix(text[from:], n.head) {
			return from
		}
		from++
	}
	return -1
}

// foldedAtOnce is how much of a content is put into lower case at a time.
const foldedAtOnce = 16 << 10

func newFinder(n *needles) *finder {
	f := &finder{fold: n.fold, next: make([]int, len(n.list))}
	for _, s := range n.list {
		f.needles = append(f.needles, newNeedle(s))
		f.overlap = max(f.overlap, len(s)-1)
	}
	if f.fold {
		f.buffer = make([]byte, foldedAtOnce+f.overlap)
	}
	return f
}

// reset begins with a content.
func (f *finder) reset(content []byte) {
	f.content = content
	f.see(0)
}

// see moves the view to a position.
func (f *finder) see(base int) {
	f.base, f.view = base, f.content[base:]
	if f.fold {
		f.view = f.buffer[:min(len(f.buffer), len(f.view))]
		lower(f.view, f.content[base:])
	}
	for i := range f.next {
		f.next[i] = -1
	}
}

// find returns the first position of a needle at or after pos, or -1. The
// positions asked for do not decrease.
func (f *finder) find(pos int) int {
	for {
		if pos-f.base > len(f.view) {
			f.see(pos)
		}
		end := f.base + len(f.view)
		first := end
		for i, needle := range f.needles {
			if f.next[i] < pos {
				if n := needle.find(f.view[pos-f.base:]); n >= 0 {
					f.next[i] = pos + n
				} else {
					f.next[i] = end
				}
			}
			first = min(first, f.next[i])
		}
		switch {
		case first < end:
			return first
		case end == len(f.content):
			return -1
		}
		pos = max(pos, end-f.overlap)
		f.see(pos)
	}
}

// lower copies as much of src as dst holds, with ASCII letters in lower case.
func lower(dst, src []byte) {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
	)
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		// In each byte below 0x80 the high bit tells whether it is at least 'A',
		// and whether it is more than 'Z'.
		low := x &^ high
		upper := (low + (0x80-'A')*ones) &^ (low + (0x7f-'Z')*ones) &^ x & high
		binary.LittleEndian.PutUint64(dst[i:], x|upper>>2)
	}
	for ; i < len(dst); i++ {
		c := src[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst[i] = c
	}
}
