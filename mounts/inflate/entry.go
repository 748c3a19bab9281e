package inflate

// An entry of a table says what the next bits of a stream mean:
//
//	            a literal   a length           a number        a nested table
//	bits 0–5    drop        0                  drop            0
//	bit 6       1           0                  0               0
//	bits 8–11   bits of the code, or of the part of it that was looked up
//	bits 12–15  flags
//	bits 16–31  the value   base (9), drop     base            place (12), width
//
// Drop is how many bits it takes in all, with extra bits behind the code; a length
// has it elsewhere, so that one which is taken for a literal drops none. A number
// is a distance, or how often a code is repeated. The end of the block and what is
// invalid have neither.
//
// A table begins with what the next bits mean, so many that most codes are no
// longer; the rest of longer codes is in nested tables behind that.
type entry uint32

const (
	literal entry = 1 << 6
	nested  entry = 1 << 12
	end     entry = 1 << 13
	special entry = 1 << 14 // nested, end or invalid
	again   entry = 1 << 15 // a number of repetitions of the last code, not of 0
)

// invalid is what stands where no code is, and for codes without a meaning.
const invalid = special

// The masks with 63 cost nothing: that is what the machine's shifts do.

func (e entry) drop() uint       { return uint(e) & 63 }
func (e entry) lengthDrop() uint { return uint(e>>25) & 63 }
func (e entry) codeBits() uint   { return uint(e>>8) & 15 }
func (e entry) value() int       { return int(e >> 16) }

// literals is how many literals it is.
func (e entry) literals() int { return int(e >> 6 & 1) }

// length is the length of a match.
func (e entry) length(bits uint64) int {
	return int(e>>16&511) + int(bits&(1<<e.lengthDrop()-1)>>(e>>8&63))
}

// number is a distance, or another number.
func (e entry) number(bits uint64) int {
	return e.value() + int(bits&(1<<e.drop()-1)>>(e>>8&63))
}

// place is where a nested table has its entry, after the first part is dropped.
func (e entry) place(bits uint64) int {
	return int(e>>16&4095) + int(bits&(1<<(e>>28)-1))
}

// A meaning is what a symbol means. Its entry is of, and for each bit of the code
// bit.
type meaning struct{ of, bit entry }

const (
	perBit       entry = 1<<8 | 1
	perLengthBit entry = 1<<8 | 1<<25
)

// entry is that of a symbol with a code of n bits.
func (m meaning) entry(n int) entry { return m.of + m.bit*entry(n) }

// endOfBlock is a symbol among literals and lengths.
const endOfBlock = 256

var (
	litMeanings  = makeLitMeanings()
	distMeanings = makeDistMeanings()
	preMeanings  = makePreMeanings()
)

func makeLitMeanings() (m [litSymbols]meaning) {
	for i := range endOfBlock {
		m[i] = meaning{literal | entry(i)<<16, perBit}
	}
	m[endOfBlock] = meaning{special | end, 1 << 8}
	base := entry(3)
	for i := endOfBlock + 1; i < 285; i++ {
		extra := entry(0)
		if i >= 265 {
			extra = entry(i-261) / 4
		}
		m[i] = meaning{base<<16 | extra<<25, perLengthBit}
		base += 1 << extra
	}
	m[285] = meaning{258 << 16, perLengthBit}
	m[286], m[287] = meaning{of: invalid}, meaning{of: invalid}
	return m
}

func makeDistMeanings() (m [distSymbols]meaning) {
	base := entry(1)
	for i := range 30 {
		extra := entry(0)
		if i >= 4 {
			extra = entry(i-2) / 2
		}
		m[i] = meaning{base<<16 | extra, perBit}
		base += 1 << extra
	}
	m[30], m[31] = meaning{of: invalid}, meaning{of: invalid}
	return m
}

// The code that codes are written in has their lengths as literals, and three
// repetitions.
func makePreMeanings() (m [preSymbols]meaning) {
	for i := range maxCodeBits + 1 {
		m[i] = meaning{literal | entry(i)<<16, perBit}
	}
	m[16] = meaning{again | 3<<16 | 2, perBit}
	m[17] = meaning{3<<16 | 3, perBit}
	m[18] = meaning{11<<16 | 7, perBit}
	return m
}
