package inflate

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt is a stream that is not what it should be: malformed or truncated,
// with a wrong checksum, with a preset dictionary, or of another size.
var ErrCorrupt = errors.New("compressed data is damaged")

// A Decoder decompresses one stream after the other. It holds the tables that
// this takes, to be used again, and nothing of a stream after a call. The zero
// value is ready. It is not safe for concurrent use.
type Decoder struct {
	lit  litTable
	dist distTable

	// To read the tables of a block.
	pre   preTable
	codes [maxLits + maxDists + 1]code
	b     builder
}

// stream is one stream as it is decompressed.
//
// The lowest n bits of bits are those that were taken from src[:in] and are not
// decoded yet. Bits above them may be set: they are the next ones of src, if src
// has any left.
type stream struct {
	dst, src []byte
	out, in  int
	bits     uint64
	n        uint
}

// Sizes of a zlib stream's ends, in bytes.
const (
	headerSize   = 2
	checksumSize = 4
)

// Zlib decompresses the zlib stream at the start of src into dst, which it must
// fill exactly. It returns how many bytes of src the stream takes, its checksum
// included; what follows is not looked at. The error is ErrCorrupt, and what dst
// then holds means nothing. dst and src must not overlap.
func (d *Decoder) Zlib(dst, src []byte) (n int, err error) {
	s := stream{dst: dst, src: src}
	if !d.whole(&s) || s.out != len(dst) {
		return 0, ErrCorrupt
	}
	return s.in, nil
}

// Prefix decompresses the zlib stream at the start of src into dst until dst is
// full, and returns how many bytes it made. What comes after them is neither
// decompressed nor checked; a stream that ends before dst is full is checked like
// one that Zlib reads. The error is ErrCorrupt, and dst[:n] is what came before
// the damage. dst and src must not overlap.
func (d *Decoder) Prefix(dst, src []byte) (n int, err error) {
	s := stream{dst: dst, src: src}
	if !d.whole(&s) && s.out < len(dst) {
		return s.out, ErrCorrupt
	}
	return s.out, nil
}

// whole decompresses a stream, from its header to its checksum. It fails if dst
// is too small, and does not see whether it is too large.
func (d *Decoder) whole(s *stream) bool {
	if len(s.src) < headerSize || !validHeader(s.src[0], s.src[1]) {
		return false
	}
	s.in = headerSize
	for final := false; !final; {
		s.refill()
		if s.n < 3 {
			return false
		}
		final = s.bits&1 != 0
		typ := s.bits >> 1 & 3
		s.skip(3)
		if !d.block(s, typ) {
			return false
		}
	}
	s.align()
	if len(s.src)-s.in < checksumSize || binary.BigEndian.Uint32(s.src[s.in:]) != adler32(s.dst[:s.out]) {
		return false
	}
	s.in += checksumSize
	return true
}

// validHeader reports whether a stream begins with these bytes: deflate, a
// window of at most 32 KiB, no preset dictionary, and a sum that is right.
func validHeader(method, flags byte) bool {
	const deflate, maxWindow, dictionary = 8, 7, 0x20
	return method&0xf == deflate && method>>4 <= maxWindow && flags&dictionary == 0 &&
		(uint(method)<<8|uint(flags))%31 == 0
}

// block decompresses one block, whose type has been read.
func (d *Decoder) block(s *stream, typ uint64) bool {
	switch typ {
	case 0:
		return s.stored()
	case 1:
		t := fixed()
		return s.compressed(&t.lit, &t.dist)
	case 2:
		return d.readTables(s) && s.compressed(&d.lit, &d.dist)
	default:
		return false
	}
}

// stored copies a block that is not compressed, as far as src and dst go.
func (s *stream) stored() bool {
	s.align()
	if len(s.src)-s.in < 4 {
		return false
	}
	size := binary.LittleEndian.Uint16(s.src[s.in:])
	complement := binary.LittleEndian.Uint16(s.src[s.in+2:])
	if size != ^complement {
		return false
	}
	s.in += 4
	n := copy(s.dst[s.out:], s.src[s.in:min(len(s.src), s.in+int(size))])
	s.in += n
	s.out += n
	return n == int(size)
}

// refill takes in as many whole bytes as there is room for, so that n is at
// least 56 unless src ends sooner.
func (s *stream) refill() {
	if len(s.src)-s.in >= 8 {
		s.bits, s.n, s.in = refilled(s.bits, s.n, s.src, s.in)
		return
	}
	for s.n < 56 && s.in < len(s.src) {
		s.bits |= uint64(s.src[s.in]) << (s.n & 63)
		s.in++
		s.n += 8
	}
}

// skip drops bits that are decoded, at most n.
func (s *stream) skip(n uint) {
	s.bits >>= n & 63
	s.n -= n
}

// align goes on at the next whole byte of src, and gives back what was taken in
// ahead of it.
func (s *stream) align() {
	s.in -= int(s.n >> 3)
	s.bits, s.n = 0, 0
}
