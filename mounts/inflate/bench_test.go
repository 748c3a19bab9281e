package inflate

import (
	"bytes"
	stdzlib "compress/zlib"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/zlib"
)

// resettable is a reader of zlib streams that is used again.
type resettable interface {
	io.Reader
	Reset(r io.Reader, dict []byte) error
}

// BenchmarkObject decompresses objects of one size, one after the other: different
// ones, as a pack has, since the processor learns the branches of a single one.
func BenchmarkObject(b *testing.B) {
	text := source(b, 1600<<10)
	for _, size := range []int{100, 1 << 10, 4 << 10, 20 << 10, 200 << 10} {
		const most = 64
		count := min(most, len(text)/size)
		srcs := make([][]byte, count)
		for i := range srcs {
			at := len(text) / count * i
			srcs[i] = append(deflated(b, text[at:at+size], 6), "the next object in the pack"...)
		}
		for name, decompress := range decoders(b, srcs[0]) {
			b.Run(fmt.Sprintf("size=%d/by=%s", size, name), func(b *testing.B) {
				dst := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if err := decompress(dst, srcs[i%count]); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}

// decoders are what is compared; first is any stream.
func decoders(b *testing.B, first []byte) map[string]func(dst, src []byte) error {
	var d Decoder
	through := func(z io.Reader, err error, r *bytes.Reader) func(dst, src []byte) error {
		if err != nil {
			b.Fatal(err)
		}
		return func(dst, src []byte) error {
			r.Reset(src)
			if err := z.(resettable).Reset(r, nil); err != nil {
				return err
			}
			if _, err := io.ReadFull(z, dst); err != nil {
				return err
			}
			if n, err := z.Read(dst[:0:0]); n != 0 || err != nil && err != io.EOF {
				return fmt.Errorf("%d bytes more, %w", n, err)
			}
			return nil
		}
	}
	r, rStd := bytes.NewReader(first), bytes.NewReader(first)
	z, err := zlib.NewReader(r)
	zStd, errStd := stdzlib.NewReader(rStd)
	return map[string]func(dst, src []byte) error{
		"inflate":   func(dst, src []byte) error { _, err := d.Zlib(dst, src); return err },
		"klauspost": through(z, err, r),
		"standard":  through(zStd, errStd, rStd),
	}
}
