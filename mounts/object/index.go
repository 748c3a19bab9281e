package object

import (
	"bytes"
	"encoding/binary"
	"errors"

	"carrel.dev/workspace"
)

// index is a pack's .idx file, version 1 or 2, searched in place.
type index struct {
	fanout []byte // 256 big-endian counts
	names  []byte // n entries of stride bytes, each with an id at its end
	stride int
	off32  []byte // n offsets; in version 1 in front of each id in names
	off64  []byte // the offsets that do not fit off32
	sum    []byte // the checksum of the pack
}

const (
	idSize     = len(workspace.OID{})
	fanoutSize = 256 * 4
)

var errIndex = errors.New("pack index is damaged")

// parseIndex checks the structure of an index; what it says about objects is
// checked when they are read.
func parseIndex(b []byte) (*index, error) {
	const magic, v2Header, trailer = "\xfftOc", 8, 2 * idSize
	if len(b) < v2Header+fanoutSize+trailer {
		return nil, errIndex
	}
	v2 := string(b[:4]) == magic
	if v2 {
		if binary.BigEndian.Uint32(b[4:]) != 2 {
			return nil, errIndex
		}
		b = b[v2Header:]
	}
	x := &index{fanout: b[:fanoutSize], sum: b[len(b)-trailer : len(b)-idSize]}
	n, ok := x.count()
	body := b[fanoutSize : len(b)-trailer]
	switch {
	case !ok:
		return nil, errIndex
	case !v2:
		x.stride = 4 + idSize
		if len(body) != n*x.stride {
			return nil, errIndex
		}
		x.names = body
		return x, nil
	}
	x.stride = idSize
	fixed := n * (idSize + 4 + 4) // ids, checksums, offsets
	if len(body) < fixed || (len(body)-fixed)%8 != 0 {
		return nil, errIndex
	}
	x.names = body[:n*idSize]
	x.off32 = body[n*(idSize+4) : fixed]
	x.off64 = body[fixed:]
	return x, nil
}

// count returns the number of objects, if the fan-out never decreases.
func (x *index) count() (n int, ok bool) {
	var last uint32
	for i := 0; i < fanoutSize; i += 4 {
		c := binary.BigEndian.Uint32(x.fanout[i:])
		if c < last {
			return 0, false
		}
		last = c
	}
	return int(last), true
}

// find returns where in the pack the object is.
func (x *index) find(id workspace.OID) (offset uint64, ok bool) {
	i, ok := x.search(id)
	if !ok {
		return 0, false
	}
	return x.offset(i), true
}

// search returns the object's number in the order of ids.
func (x *index) search(id workspace.OID) (i int, ok bool) {
	var lo int
	if id[0] > 0 {
		lo = int(binary.BigEndian.Uint32(x.fanout[4*(int(id[0])-1):]))
	}
	hi := int(binary.BigEndian.Uint32(x.fanout[4*int(id[0]):]))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		end := (mid + 1) * x.stride
		switch c := bytes.Compare(id[:], x.names[end-idSize:end]); {
		case c == 0:
			return mid, true
		case c < 0:
			hi = mid
		default:
			lo = mid + 1
		}
	}
	return 0, false
}

// offset returns the place of the i-th object.
func (x *index) offset(i int) uint64 {
	if x.off32 == nil {
		return uint64(binary.BigEndian.Uint32(x.names[i*x.stride:]))
	}
	const large = 1 << 31
	off := binary.BigEndian.Uint32(x.off32[4*i:])
	if off < large {
		return uint64(off)
	}
	at := int(off-large) * 8
	if at+8 > len(x.off64) {
		return ^uint64(0) // beyond any pack: reading there is Corrupt
	}
	return binary.BigEndian.Uint64(x.off64[at:])
}
