package grep

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// dfa tells which lines match. It is a deterministic automaton, built as far as
// contents lead it: a state is the set of instructions that the program may be
// at, and there is a way from each on each character. Since it is only asked
// whether there is a match, it stops at the first end of one, and begins one
// anew at each character. It is not safe for concurrent use.
type dfa struct {
	*program
	// A state is known by its row: where in ways its ways on each class are.
	// They lead to other rows.
	ways   []int32
	states []state
	rows   map[string]int32 // by a state's key
	// others is where a row leads to on characters that are not ASCII.
	others map[otherWay]int32
	held   int // instructions in all states together
	epoch  int // how often it forgot
	steps  int // ways found, to look at the context now and then

	// Scratch.
	now, next *pcSet
	key       []byte
}

// state is what is known before a character: at which instructions the program
// is, not yet following those that read nothing, and what stands before.
type state struct {
	at     []uint32 // sorted
	before before
}

type otherWay struct {
	row int32
	r   rune
}

// Bounds on what an automaton remembers. One that is full forgets all and is
// built anew, at worst for each character.
const (
	maxStates = 3_000
	maxHeld   = 500_000
	maxOthers = 20_000
)

// unknown as a row is none, but says that a way must be found. The next rows are
// those of matched and start.
const unknown int32 = 0

func (d *dfa) matched() int32 { return int32(d.classes) }
func (d *dfa) start() int32   { return 2 * int32(d.classes) }

func newDFA(p *program) *dfa {
	d := &dfa{program: p, now: newPCSet(p), next: newPCSet(p)}
	d.forget()
	return d
}

// forget removes all states but the first ones.
func (d *dfa) forget() {
	d.ways = append(d.ways[:0], make([]int32, 3*d.classes)...)
	d.states = append(d.states[:0], state{}, state{}, state{before: lineStart})
	d.rows = map[string]int32{string(d.keyOf(d.states[2])): d.start()}
	d.others = map[otherWay]int32{}
	d.held = 0
	d.epoch++
}

// keyOf returns the key of a state, valid until the next call.
func (d *dfa) keyOf(s state) []byte {
	d.key = append(d.key[:0], byte(s.before))
	for _, pc := range s.at {
		d.key = binary.LittleEndian.AppendUint32(d.key, pc)
	}
	return d.key
}

// find returns a position in the first line that matches, from pos on, where a
// line starts. It may be that of the line's ending. It returns -1 if no line
// matches, or if ctx ended.
func (d *dfa) find(ctx context.Context, content []byte, pos int) (int, error) {
	row, matched := d.start(), d.matched()
	for pos < len(content) {
		to, size := d.ways[int(row)+int(d.class[content[pos]])], 1
		if to > matched { // almost always
			row = to
			pos++
			continue
		}
		if to == unknown {
			if d.steps++; d.steps%1024 == 0 && ctx.Err() != nil {
				return -1, ctx.Err()
			}
			to, size = d.way(row, content[pos:])
		}
		if to == matched {
			return pos, nil
		}
		row = to
		pos += size
	}
	if row != d.start() && d.step(row, endOfLine) == matched {
		return len(content), nil
	}
	return -1, nil
}

// way returns where a row leads to at the start of a content, and how many bytes
// that takes. The end of a line leads to the start of the next.
func (d *dfa) way(row int32, content []byte) (to int32, size int) {
	c := content[0]
	switch {
	case d.hopeless(row):
		n := bytes.IndexByte(content, '\n')
		if n < 0 {
			return row, len(content)
		}
		return d.start(), n + 1
	case c == '\n':
		to = d.step(row, endOfLine)
		d.ways[int(row)+classLF] = to
		return to, 1
	case c == '\r' && len(content) > 1 && content[1] == '\n':
		return d.step(row, endOfLine), 2
	case c < utf8.RuneSelf:
		epoch := d.epoch
		to = d.step(row, rune(c))
		if c != '\r' && d.epoch == epoch {
			d.ways[int(row)+int(d.class[c])] = to
		}
		return to, 1
	}
	r, size := utf8.DecodeRune(content)
	to, ok := d.others[otherWay{row, r}]
	if !ok {
		epoch := d.epoch
		to = d.step(row, r)
		if len(d.others) == maxOthers {
			clear(d.others)
		}
		if d.epoch == epoch {
			d.others[otherWay{row, r}] = to
		}
	}
	return to, size
}

// hopeless reports whether nothing more can match in a line, since the program
// matches at a line's start only. No ways of such a row are kept.
func (d *dfa) hopeless(row int32) bool {
	s := &d.states[int(row)/d.classes]
	return d.anchored && len(s.at) == 0 && s.before != lineStart
}

// step computes where a row leads to on a character. It may forget all rows but
// that which it returns.
func (d *dfa) step(row int32, r rune) int32 {
	s := d.states[int(row)/d.classes]
	d.now.clear()
	for _, pc := range s.at {
		d.now.add(pc)
	}
	d.now.add(uint32(d.Start))
	if d.follow(d.now, assertions(s.before, r)) {
		return d.matched()
	}
	if r == endOfLine {
		return d.start()
	}
	d.next.clear()
	for _, pc := range d.now.list {
		if inst := &d.Inst[pc]; reads(inst) && inst.MatchRune(r) {
			d.next.add(inst.Out)
		}
	}
	return d.rowOf(state{slices.Sorted(slices.Values(d.next.list)), d.beforeAfter(r)})
}

// rowOf returns the row of a state, a new one if need be.
func (d *dfa) rowOf(s state) int32 {
	if row, ok := d.rows[string(d.keyOf(s))]; ok {
		return row
	}
	if len(d.states) >= maxStates || d.held > maxHeld {
		d.forget()
	}
	row := int32(len(d.ways))
	d.rows[string(d.keyOf(s))] = row
	d.states = append(d.states, s)
	d.ways = append(d.ways, make([]int32, d.classes)...)
	d.held += len(s.at)
	return row
}
