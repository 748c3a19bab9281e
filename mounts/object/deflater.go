package object

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/zlib"
)

// deflater compresses to a file, with memory to be used again: it is a megabyte, and
// most of what is written is small.
type deflater struct {
	out *bufio.Writer
	z   *zlib.Writer
}

// deflater returns one that writes to out, until release.
func (p *Pool) deflater(out io.Writer) *deflater {
	d, ok := p.deflaters.Get().(*deflater)
	if !ok {
		z, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
		if err != nil {
			panic("object: " + err.Error()) // there is no such level
		}
		d = &deflater{bufio.NewWriterSize(nil, 64<<10), z}
	}
	d.out.Reset(out)
	return d
}

// release gives the memory back. Nothing is written any more.
func (p *Pool) release(d *deflater) {
	d.out.Reset(nil)
	d.z.Reset(nil)
	p.deflaters.Put(d)
}

// deflate writes parts as one zlib stream.
func (p *Pool) deflate(out io.Writer, parts ...[]byte) error {
	d := p.deflater(out)
	defer p.release(d)
	d.z.Reset(d.out)
	for _, b := range parts {
		d.z.Write(b)
	}
	if err := d.z.Close(); err != nil { // or that of a Write
		return err
	}
	return d.out.Flush()
}
