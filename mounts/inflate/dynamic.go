package inflate

// maxLits and maxDists are how many symbols a block may give a code.
const (
	maxLits  = 286
	maxDists = 30
)

// preOrder is the order in which the codes that codes are written in are given.
var preOrder = [preSymbols]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readTables reads a block's codes and makes their tables.
func (d *Decoder) readTables(s *stream) bool {
	s.refill()
	if s.n < 14 {
		return false
	}
	lits, dists, pres := int(s.bits&31)+257, int(s.bits>>5&31)+1, int(s.bits>>10&15)+4
	s.skip(14)
	if lits > maxLits || dists > maxDists || !d.readPre(s, pres) {
		return false
	}
	codes, ok := d.readCodes(s, lits+dists)
	if !ok {
		return false
	}
	i := firstOf(codes, lits)
	litCodes, distCodes := codes[:i], codes[i:]
	for i := range distCodes {
		distCodes[i] -= newCode(lits, 0)
	}
	i = firstOf(litCodes, endOfBlock)
	return i < len(litCodes) && litCodes[i].symbol() == endOfBlock &&
		d.b.build(d.lit[:], litCodes, litMeanings[:], litWidth) &&
		d.b.build(d.dist[:], distCodes, distMeanings[:], distWidth)
}

// firstOf is where the codes of a symbol and of those after it begin.
func firstOf(codes []code, symbol int) int {
	i := len(codes)
	for i > 0 && codes[i-1].symbol() >= symbol {
		i--
	}
	return i
}

// readPre reads so many of the codes that codes are written in. zlib refuses a
// single one and none at all; neither can write codes that are valid.
func (d *Decoder) readPre(s *stream, count int) bool {
	var lens [preSymbols]uint8
	for _, symbol := range preOrder[:count] {
		if s.n < 3 {
			s.refill()
		}
		if s.n < 3 {
			return false
		}
		lens[symbol] = uint8(s.bits & 7)
		s.skip(3)
	}
	n := 0
	for i, bits := range lens {
		if bits != 0 {
			d.codes[n] = newCode(i, int(bits))
			n++
		}
	}
	return d.b.build(d.pre[:], d.codes[:n], preMeanings[:], preWidth)
}

// preMost is how many bits a symbol takes there at most, with its extra bits.
const preMost = preWidth + 7

// readCodes reads the codes of so many symbols, without those that have none.
func (d *Decoder) readCodes(s *stream, count int) ([]code, bool) {
	bits, n := s.bits, s.n
	found := 0
	last := -1 // bits of the last code; none yet
	for i := 0; i < count; {
		if n < preMost {
			s.bits, s.n = bits, n
			s.refill()
			bits, n = s.bits, s.n
		}
		e := d.pre[bits&(preSize-1)]
		if e&special != 0 || e.drop() > n {
			return nil, false
		}
		number := e.number(bits)
		bits >>= e.drop()
		n -= e.drop()
		if e&literal != 0 {
			last = e.value()
			d.codes[found] = newCode(i, last) // stays only if it has bits
			found += (last + 15) >> 4
			i++
			continue
		}
		if e&again == 0 {
			last = 0
		}
		if last < 0 || number > count-i {
			return nil, false
		}
		end := i + number
		for ; last > 0 && i < end; i++ {
			d.codes[found] = newCode(i, last)
			found++
		}
		i = end
	}
	s.bits, s.n = bits, n
	return d.codes[:found], true
}
