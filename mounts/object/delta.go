package object

import (
	"encoding/binary"
	"errors"
)

var errDelta = errors.New("delta is damaged")

// deltaSizes returns the sizes of a delta's base and result, and how many bytes
// say so.
func deltaSizes(delta []byte) (from, to uint64, n int, err error) {
	from, n = binary.Uvarint(delta)
	if n <= 0 {
		return 0, 0, 0, errDelta
	}
	to, m := binary.Uvarint(delta[n:])
	if m <= 0 {
		return 0, 0, 0, errDelta
	}
	return from, to, n + m, nil
}

// applyDelta returns the content that a delta makes of its base.
func applyDelta(from, delta []byte) ([]byte, error) {
	want, size, n, err := deltaSizes(delta)
	if err != nil || want != uint64(len(from)) {
		return nil, errDelta
	}
	delta = delta[n:]
	// A copy instruction of one byte makes up to 64 KiB.
	if size > uint64(len(delta))<<16 {
		return nil, errDelta
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		var piece []byte
		op := delta[0]
		switch {
		case op&0x80 != 0:
			piece, n = copied(from, delta)
		case op == 0:
			return nil, errDelta
		default:
			n = 1 + int(op)
			if n <= len(delta) {
				piece = delta[1:n]
			}
		}
		if len(piece) == 0 || uint64(len(out)+len(piece)) > size {
			return nil, errDelta
		}
		out = append(out, piece...)
		delta = delta[n:]
	}
	if uint64(len(out)) != size {
		return nil, errDelta
	}
	return out, nil
}

// copied decodes the copy instruction at the start of delta: the bytes of from
// that it names, empty if it is damaged, and its own length.
func copied(from, delta []byte) (piece []byte, n int) {
	op := delta[0]
	n = 1
	var fields [7]byte // four of the offset, three of the size, little-endian
	for bit := range fields {
		if op&(1<<bit) == 0 {
			continue
		}
		if n >= len(delta) {
			return nil, n
		}
		fields[bit] = delta[n]
		n++
	}
	offset := uint64(binary.LittleEndian.Uint32(fields[:4]))
	size := uint64(fields[4]) | uint64(fields[5])<<8 | uint64(fields[6])<<16
	if size == 0 {
		size = 0x10000
	}
	if offset+size > uint64(len(from)) {
		return nil, n
	}
	return from[offset : offset+size], n
}
