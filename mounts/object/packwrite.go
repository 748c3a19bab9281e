package object

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"slices"

	"carrel.dev/workspace"
)

// placed is an object in a pack that is being written.
type placed struct {
	id     workspace.OID
	offset uint64
	crc    uint32
}

// packWriter writes a pack of whole objects, without deltas: what makes deltas
// worth while is a repack of many commits, which git does better.
type packWriter struct {
	*deflater
	sum    hash.Hash // of everything, the pack's checksum
	crc    hash.Hash32
	offset uint64
	placed []placed
}

// Write passes on to the file and both checksums.
func (w *packWriter) Write(b []byte) (int, error) {
	w.sum.Write(b)
	w.crc.Write(b)
	w.offset += uint64(len(b))
	return w.out.Write(b)
}

// newPackWriter begins a pack of n objects; release ends it.
func newPackWriter(p *Pool, out io.Writer, n int) (*packWriter, error) {
	w := &packWriter{deflater: p.deflater(out), sum: sha1.New(), crc: crc32.NewIEEE()}
	const version = 2
	head := binary.BigEndian.AppendUint32([]byte("PACK"), version)
	_, err := w.Write(binary.BigEndian.AppendUint32(head, uint32(n)))
	return w, err
}

// add writes one object.
func (w *packWriter) add(id workspace.OID, t Type, content []byte) error {
	w.crc.Reset()
	at := w.offset
	size := uint64(len(content))
	c := byte(t)<<4 | byte(size&0xf)
	var head []byte
	for size >>= 4; size > 0; size >>= 7 {
		head = append(head, c|0x80)
		c = byte(size & 0x7f)
	}
	if _, err := w.Write(append(head, c)); err != nil {
		return err
	}
	w.z.Reset(w)
	if _, err := w.z.Write(content); err != nil {
		return err
	}
	if err := w.z.Close(); err != nil {
		return err
	}
	w.placed = append(w.placed, placed{id, at, w.crc.Sum32()})
	return nil
}

// copy writes one object as another pack has it, its header included.
func (w *packWriter) copy(id workspace.OID, raw []byte) error {
	w.crc.Reset()
	at := w.offset
	_, err := w.Write(raw)
	w.placed = append(w.placed, placed{id, at, w.crc.Sum32()})
	return err
}

// close writes the checksum and returns it.
func (w *packWriter) close() ([]byte, error) {
	sum := w.sum.Sum(nil)
	if _, err := w.out.Write(sum); err != nil {
		return nil, err
	}
	return sum, w.out.Flush()
}

// index returns the .idx file, version 2, of what was written.
func (w *packWriter) index(packSum []byte) []byte {
	slices.SortFunc(w.placed, func(a, b placed) int { return bytes.Compare(a.id[:], b.id[:]) })
	var fanout [256]uint32
	for _, p := range w.placed {
		for i := int(p.id[0]); i < len(fanout); i++ {
			fanout[i]++
		}
	}
	b := binary.BigEndian.AppendUint32([]byte("\xfftOc"), 2)
	for _, n := range fanout {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, p := range w.placed {
		b = append(b, p.id[:]...)
	}
	for _, p := range w.placed {
		b = binary.BigEndian.AppendUint32(b, p.crc)
	}
	const large = 1 << 31
	var far []byte
	for _, p := range w.placed {
		if p.offset < large {
			b = binary.BigEndian.AppendUint32(b, uint32(p.offset))
			continue
		}
		b = binary.BigEndian.AppendUint32(b, large|uint32(len(far)/8))
		far = binary.BigEndian.AppendUint64(far, p.offset)
	}
	b = append(append(b, far...), packSum...)
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}
