package inflate

import (
	"math/bits"
	"sync"
)

// maxCodeBits is how many bits a code may have.
const maxCodeBits = 15

// Of each kind of code: the symbols, how many bits are looked up at once, and the
// most entries that a complete set of codes can need with its nested tables, as
// zlib's enough.c computes it.
const (
	litSymbols = 288
	litWidth   = 11
	litSize    = 2342

	distSymbols = 32
	distWidth   = 8
	distSize    = 402

	preSymbols = 19
	preWidth   = 7 // none is longer
	preSize    = 1 << preWidth
)

type (
	litTable  [litSize]entry  // of literals and lengths
	distTable [distSize]entry // of distances
	preTable  [preSize]entry  // of the code that codes are written in
)

// fixedTables are those of fixed blocks.
type fixedTables struct {
	lit  litTable
	dist distTable
}

var fixed = sync.OnceValue(func() *fixedTables {
	var lits, dists []code
	for i := range litSymbols {
		switch {
		case i < 144, i >= 280:
			lits = append(lits, newCode(i, 8))
		case i < 256:
			lits = append(lits, newCode(i, 9))
		default:
			lits = append(lits, newCode(i, 7))
		}
	}
	for i := range distSymbols {
		dists = append(dists, newCode(i, 5))
	}
	t, b := new(fixedTables), new(builder)
	b.build(t.lit[:], lits, litMeanings[:], litWidth)
	b.build(t.dist[:], dists, distMeanings[:], distWidth)
	return t
})

// code is a symbol and how many bits its code has, which together with all others
// gives the code itself.
type code uint16

func newCode(symbol, bits int) code { return code(symbol<<4 | bits) }
func (c code) symbol() int          { return int(c >> 4) }
func (c code) bits() int            { return int(c & 15) }

// builder makes tables.
type builder struct {
	counts [maxCodeBits + 1]uint16 // codes by their bits
	sorted [litSymbols]uint16      // symbols in the order of their codes
}

// build makes the table of these codes, of which each has at least a bit, in the
// order of their symbols. It looks up width bits at once. Codes must be complete,
// or a single one of one bit, or none.
func (b *builder) build(table []entry, codes []code, meanings []meaning, width int) bool {
	if len(codes) == 0 || len(codes) == 1 && codes[0].bits() == 1 {
		first := invalid
		if len(codes) == 1 {
			first = meanings[codes[0].symbol()].entry(1)
		}
		for i := 0; i < 1<<width; i += 2 {
			table[i], table[i+1] = first, invalid
		}
		return true
	}
	if !b.sort(codes) {
		return false
	}
	b.fill(table, meanings, width)
	return true
}

// sort puts the symbols in the order of their codes, and reports whether these are
// complete.
func (b *builder) sort(codes []code) (complete bool) {
	b.counts = [maxCodeBits + 1]uint16{}
	for _, c := range codes {
		b.counts[c.bits()]++
	}
	var places [maxCodeBits + 1]uint16
	var place uint16
	taken := 0
	for n, count := range b.counts {
		places[n] = place
		place += count
		taken += int(count) << (maxCodeBits - n)
	}
	for _, c := range codes {
		at := &places[c.bits()]
		b.sorted[*at] = uint16(c.symbol())
		*at++
	}
	return taken == 1<<maxCodeBits
}

// fill writes the table of complete codes. They are taken in order, at the upper
// end of 16 bits. Since a stream has the first bit of a code lowest, the codes of
// up to n bits fill a table of 1<<n entries, which is doubled for the next ones.
func (b *builder) fill(table []entry, meanings []meaning, width int) {
	symbols := b.sorted[:]
	code := 0
	for n := 1; n <= width; n++ {
		if n > 1 {
			half := 1 << (n - 1)
			copy(table[half:2*half], table[:half])
		}
		count := b.counts[n]
		for _, symbol := range symbols[:count] {
			table[bits.Reverse16(uint16(code))] = meanings[symbol].entry(n)
			code += 1 << (16 - n)
		}
		symbols = symbols[count:]
	}
	b.fillNested(table, meanings, width, code)
}

// fillNested writes the nested tables: those of codes longer than width, of which
// the first is code. Codes that begin alike are in one table, as wide as the
// longest of them needs.
func (b *builder) fillNested(table []entry, meanings []meaning, width, code int) {
	n, i := width, 0
	for _, count := range b.counts[:width+1] {
		i += int(count)
	}
	var left, start int // codes of n bits to come; where the table is
	next := 1 << width  // where the next one will be
	prefix := -1
	for ; code < 1<<16; code += 1 << (16 - n) {
		for left == 0 {
			n++
			left = int(b.counts[n])
		}
		c := int(bits.Reverse16(uint16(code)))
		if first := c & (1<<width - 1); first != prefix {
			prefix = first
			wide := b.nestedWidth(n, left, width)
			start, next = next, next+1<<wide
			table[prefix] = special | nested | entry(wide<<28|start<<16|width<<8)
		}
		for at := start + c>>width; at < next; at += 1 << (n - width) {
			table[at] = meanings[b.sorted[i]].entry(n - width)
		}
		i++
		left--
	}
}

// nestedWidth is how many bits more than width the nested table needs whose first
// code has n bits, as have all of the next left ones: longer ones fill it up.
func (b *builder) nestedWidth(n, left, width int) int {
	room := left
	for room < 1<<(n-width) {
		n++
		room = room<<1 + int(b.counts[n])
	}
	return n - width
}
