package inflate

import "encoding/binary"

// outcome is how far decompressing a block came.
type outcome int

const (
	more   outcome = iota // it goes on
	ended                 // it is over
	failed                // it is damaged, or dst is full
)

// compressed decompresses a block whose tables are known. If there is no room for
// all of it, it fills dst and fails.
func (s *stream) compressed(lit *litTable, dist *distTable) bool {
	o := s.fast(lit, dist)
	for o == more {
		o = s.step(lit, dist)
	}
	return o == ended
}

// What must be left for a turn of fast: two words of src, three literals in dst.
const (
	fastSrc = 16
	fastDst = 3
)

// distMost is how many bits a distance takes at most.
const distMost = maxCodeBits + 13

// fast decompresses most of a block, until an end of src or dst is near.
//
// A turn takes what is most frequent: at most three literals, or at most two and a
// match. The first literal is taken without a branch, which the processor could
// not foretell: what is none drops no bits and makes no byte. The next entry is
// looked up before a match is copied, so that one does not wait for the other. All
// else is left to step.
func (s *stream) fast(lit *litTable, dist *distTable) outcome {
	src, dst := s.src, s.dst
	in, out := s.in, s.out
	bits, n := s.bits, s.n // n modulo 64
turns:
	for in <= len(src)-fastSrc && out <= len(dst)-fastDst {
		bits, n, in = refilled(bits, n, src, in)
		e := lit[bits&(1<<litWidth-1)]
		for in <= len(src)-fastSrc && out <= len(dst)-fastDst {
			bits >>= e.drop()
			n -= uint(e)
			dst[out] = byte(e >> 16)
			out += e.literals()
			e = lit[bits&(1<<litWidth-1)]
			if e&literal != 0 {
				bits >>= e.drop()
				n -= uint(e)
				dst[out] = byte(e >> 16)
				out++
				e = lit[bits&(1<<litWidth-1)]
			}
			if e&literal != 0 {
				bits >>= e.drop()
				n -= uint(e)
				dst[out] = byte(e >> 16)
				out++
				continue turns
			}
			if e&special != 0 {
				s.in, s.out, s.bits, s.n = in, out, bits, n&63
				if o := s.step(lit, dist); o != more {
					return o
				}
				in, out, bits, n = s.in, s.out, s.bits, s.n
				continue turns
			}
			length := e.length(bits)
			bits >>= e.lengthDrop()
			n -= e.lengthDrop()
			if n&63 < distMost {
				bits, n, in = refilled(bits, n, src, in)
			}
			e = dist[bits&(1<<distWidth-1)]
			if e&nested != 0 {
				bits >>= e.codeBits()
				n -= e.codeBits()
				e = dist[e.place(bits)]
			}
			distance := e.number(bits)
			bits >>= e.drop()
			n -= uint(e)
			if e&special != 0 || distance > out {
				s.out = out
				return failed
			}
			bits, n, in = refilled(bits, n, src, in)
			e = lit[bits&(1<<litWidth-1)]
			if length > 32 || distance < 8 || len(dst)-out < 32 {
				if !repeat(dst, out, distance, length) {
					s.out = len(dst)
					return failed
				}
				out += length
				continue
			}
			from, to := (*[32]byte)(dst[out-distance:]), (*[32]byte)(dst[out:])
			binary.LittleEndian.PutUint64(to[:8], binary.LittleEndian.Uint64(from[:8]))
			binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
			if length > 16 {
				binary.LittleEndian.PutUint64(to[16:], binary.LittleEndian.Uint64(from[16:]))
				binary.LittleEndian.PutUint64(to[24:], binary.LittleEndian.Uint64(from[24:]))
			}
			out += length
		}
	}
	s.in, s.out, s.bits, s.n = in, out, bits, n&63
	return more
}

// refilled is refill where a word of src is left.
func refilled(bits uint64, n uint, src []byte, in int) (uint64, uint, int) {
	return bits | binary.LittleEndian.Uint64(src[in:])<<(n&63), n | 56, in + int(^n>>3&7)
}

// repeat makes bytes at dst[out:] that are those from distance before on, and
// reports whether there is room for all. If not, it fills dst.
func repeat(dst []byte, out, distance, length int) (fits bool) {
	to := dst[out:]
	if fits = length <= len(to); fits {
		to = to[:length]
	}
	for start := out - distance; len(to) > 0; {
		n := copy(to, dst[start:out])
		to = to[n:]
		out += n
	}
	return fits
}

// step decompresses one symbol, as far as src and dst go.
func (s *stream) step(lit *litTable, dist *distTable) outcome {
	s.refill()
	e := s.look(lit[:], litWidth)
	switch {
	case e.codeBits() > s.n, e&(special|end) == invalid:
		return failed
	case e&end != 0:
		s.skip(e.codeBits())
		return ended
	case e&literal != 0 && s.out == len(s.dst):
		return failed
	case e&literal != 0:
		s.dst[s.out] = byte(e.value())
		s.out++
		s.skip(e.drop())
		return more
	}
	length, bits := e.length(s.bits), e.lengthDrop()
	if bits > s.n {
		return failed
	}
	s.skip(bits)
	s.refill()
	e = s.look(dist[:], distWidth)
	distance := e.number(s.bits)
	if e.drop() > s.n || e&special != 0 || distance > s.out {
		return failed
	}
	s.skip(e.drop())
	if !repeat(s.dst, s.out, distance, length) {
		s.out = len(s.dst)
		return failed
	}
	s.out += length
	return more
}

// look returns the entry of the next code, for which there may be too few bits. If
// it goes on in a nested table, its first part is dropped.
func (s *stream) look(table []entry, width uint) entry {
	e := table[s.bits&(1<<width-1)]
	if e&nested != 0 && e.codeBits() <= s.n {
		s.skip(e.codeBits())
		e = table[e.place(s.bits)]
	}
	return e
}
