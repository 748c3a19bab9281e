package inflate

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oracle is what the standard library makes of the zlib stream at the start of
// src, up to most bytes. It is whole if there is no more and the checksum is right;
// taken is then how much of src it takes.
func oracle(src []byte, most int) (content []byte, taken int, whole bool) {
	r := bytes.NewReader(src)
	z, err := zlib.NewReader(r)
	// The library has a reader without a dictionary accept an empty one.
	if err != nil || src[1]&0x20 != 0 {
		return nil, 0, false
	}
	content, err = io.ReadAll(io.LimitReader(z, int64(most)))
	if err == nil {
		_, err = z.Read(make([]byte, 1))
	}
	return content, len(src) - r.Len(), err == io.EOF
}

// deflated is content as one stream of a level, or of flate.HuffmanOnly.
func deflated(t testing.TB, content []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// levels are all that the standard library has.
var levels = []int{flate.HuffmanOnly, flate.NoCompression, 1, 2, 3, 4, 5, 6, 7, 8, 9}

// agree holds Zlib and Prefix against the oracle on one input: the verdicts, what
// comes out, and that no byte beyond dst changes.
func agree(t testing.TB, d *Decoder, src []byte, size int) {
	t.Helper()
	const guard = 64
	buf := make([]byte, size+guard)
	for i := range buf {
		buf[i] = 0xa5
	}
	dst := buf[:size]
	content, taken, whole := oracle(src, size+1)
	n, err := d.Zlib(dst, src)
	switch want := whole && len(content) == size; {
	case err == nil && !want:
		t.Fatalf("a stream is accepted for %d bytes that has %d, whole: %v", size, len(content), whole)
	case err != nil && want:
		t.Fatalf("a stream of %d bytes is refused: %v", size, err)
	case err == nil && (n != taken || !bytes.Equal(dst, content)):
		t.Fatalf("a stream of %d bytes takes %d, want %d, or has other content", size, n, taken)
	case err != nil && (err != ErrCorrupt || n != 0):
		t.Fatalf("refused with %d, %v", n, err)
	}
	content = content[:min(len(content), size)]
	n, err = d.Prefix(dst, src)
	// Where a stream is damaged, one may come a little further than the other.
	if both := min(n, len(content)); !bytes.Equal(dst[:both], content[:both]) {
		t.Fatalf("the first %d bytes are not those of the stream", both)
	}
	switch {
	case err == nil && n != size && !whole:
		t.Fatalf("a prefix of %d bytes is accepted of a damaged stream of %d", n, len(content))
	case whole && (err != nil || n != len(content)):
		t.Fatalf("a prefix of %d bytes is %d long, want %d, %v", size, n, len(content), err)
	case err != nil && (err != ErrCorrupt || n == size):
		t.Fatalf("a prefix of %d bytes, of which %d are there, is refused: %v", size, n, err)
	}
	for i, b := range buf[size:] {
		if b != 0xa5 {
			t.Fatalf("byte %d behind dst was written", i)
		}
	}
}

// source is the source of this module, size bytes of it.
func source(t testing.TB, size int) []byte {
	t.Helper()
	var b []byte
	err := filepath.WalkDir(filepath.Join("..", ".."), func(name string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		file, err := os.ReadFile(name)
		b = append(b, file...)
		if err == nil && len(b) >= size {
			err = fs.SkipAll
		}
		return err
	})
	if err != nil || len(b) < size {
		t.Fatalf("%d bytes of source: %v", len(b), err)
	}
	return b[:size]
}
