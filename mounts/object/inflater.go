package object

import (
	"bytes"
	"errors"
	"io"

	"carrel.dev/mounts/inflate"
	"github.com/klauspost/compress/zlib"
)

// errDeflate is a zlib stream that does not hold what its header says.
var errDeflate = errors.New("compressed data is damaged")

const (
	// deflateRatio is how far deflate can shrink data at most: a header that
	// promises more than this of what follows it lies.
	deflateRatio = 1032
	// mostAtOnce is the largest size, in bytes, that is believed before the data
	// have come: a larger content takes memory as it arrives.
	mostAtOnce = 4 << 20
)

// inflater decompresses, with memory to be used again.
type inflater struct {
	decoder inflate.Decoder
	scratch []byte
}

func (p *Pool) inflater() *inflater {
	if f, ok := p.inflaters.Get().(*inflater); ok {
		return f
	}
	return &inflater{}
}

// inflate returns the size bytes that the zlib stream at the start of src holds,
// neither more nor less.
func (p *Pool) inflate(src []byte, size uint64) ([]byte, error) {
	content, _, err := p.measured(src, size)
	return content, err
}

// measured is inflate that says how many bytes of src the stream takes.
func (p *Pool) measured(src []byte, size uint64) (content []byte, taken int, err error) {
	if err := p.checkSize(size, len(src)); err != nil {
		return nil, 0, err
	}
	if size > mostAtOnce {
		return inflateLarge(src, size)
	}
	f := p.inflater()
	defer p.inflaters.Put(f)
	content = make([]byte, size)
	taken, err = f.into(content, src)
	return content, taken, err
}

// inflateFor is inflate of what is needed only until use returns.
func (p *Pool) inflateFor(src []byte, size uint64, use func(content []byte) error) error {
	if size > mostAtOnce {
		content, err := p.inflate(src, size)
		if err != nil {
			return err
		}
		return use(content)
	}
	if err := p.checkSize(size, len(src)); err != nil {
		return err
	}
	f := p.inflater()
	defer p.inflaters.Put(f)
	if uint64(cap(f.scratch)) < size {
		f.scratch = make([]byte, size)
	}
	content := f.scratch[:size]
	if _, err := f.into(content, src); err != nil {
		return err
	}
	return use(content)
}

// inflateStart fills buf with the beginning of what a zlib stream holds and
// returns how much that is. The stream need not be whole.
func (p *Pool) inflateStart(buf, src []byte) int {
	f := p.inflater()
	defer p.inflaters.Put(f)
	n, _ := f.decoder.Prefix(buf, src) // what is there may be enough, its reader tells
	return n
}

// checkSize refuses a size that the stream cannot have, or that is too large.
func (p *Pool) checkSize(size uint64, stream int) error {
	switch {
	case size > deflateRatio*uint64(stream):
		return errDeflate
	case size > uint64(p.maxObject):
		return tooLarge(size)
	}
	return nil
}

// into fills content with all that a zlib stream holds.
func (f *inflater) into(content, src []byte) (taken int, err error) {
	if taken, err = f.decoder.Zlib(content, src); err != nil {
		return 0, errDeflate
	}
	return taken, nil
}

// inflateLarge is measured for a size that nobody vouches for.
func inflateLarge(src []byte, size uint64) (content []byte, taken int, err error) {
	left := bytes.NewReader(src) // from which single bytes are taken, and no more than needed
	z, err := zlib.NewReader(left)
	if err != nil {
		return nil, 0, errDeflate
	}
	// One byte of room more than size: the end must come where it belongs.
	buf := make([]byte, 0, mostAtOnce)
	for {
		n, err := z.Read(buf[len(buf):min(uint64(cap(buf)), size+1)])
		buf = buf[:len(buf)+n]
		switch {
		case uint64(len(buf)) > size, err != nil && err != io.EOF:
			return nil, 0, errDeflate
		case err == io.EOF && uint64(len(buf)) < size:
			return nil, 0, errDeflate
		case err == io.EOF:
			return buf[:size:size], len(src) - left.Len(), nil
		case len(buf) == cap(buf):
			grown := make([]byte, len(buf), min(uint64(2*cap(buf)), size+1))
			copy(grown, buf)
			buf = grown
		}
	}
}
