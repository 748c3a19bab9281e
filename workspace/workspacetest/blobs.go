package workspacetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"

	"carrel.dev/workspace"
)

// BlobsTarget is an implementation of workspace.Blobs under judgement, empty.
type BlobsTarget struct {
	Blobs workspace.Blobs
	// Damage changes what is stored of a content behind the implementation's
	// back, to what change makes of it; nil removes it.
	Damage func(t *testing.T, id workspace.OID, change func(content []byte) []byte)
}

// TestBlobs holds an implementation against the contract of workspace.Blobs.
// open is called once for each test and cleans up with t.Cleanup.
func TestBlobs(t *testing.T, open func(t *testing.T) BlobsTarget) {
	tests := []struct {
		name string
		run  func(*testing.T, BlobsTarget)
	}{
		{"PutOpen", testPutOpen},
		{"KnownIDs", testKnownIDs},
		{"Ranges", testRanges},
		{"WrongSize", testWrongSize},
		{"ReaderFails", testReaderFails},
		{"PutCanceled", testPutCanceled},
		{"PutTwice", testPutTwice},
		{"PutConcurrent", testPutConcurrent},
		{"Missing", testMissing},
		{"Damaged", testDamaged},
		{"DamagedRange", testDamagedRange},
		{"OpenSurvivesPut", testOpenSurvivesPut},
		{"Contents", testContents},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// sizes are those at which stores change their ways.
var sizes = [...]int{0, 1, 100, 4095, 4096, 4097, 64 << 10, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1<<20 + 3}

// random makes content that no other size begins with.
func random(size int) []byte {
	content := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{byte(size), byte(size >> 8), byte(size >> 16)})
	rng.Read(content)
	return content
}

func put(t *testing.T, b workspace.Blobs, content []byte) workspace.OID {
	t.Helper()
	id, err := b.Put(t.Context(), bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatalf("put %d bytes: %v", len(content), err)
	}
	if want, _ := workspace.BlobID(content); id != want {
		t.Fatalf("put %d bytes: got id %s, want %s", len(content), id, want)
	}
	return id
}

func testPutOpen(t *testing.T, c BlobsTarget) {
	for _, size := range sizes {
		put(t, c.Blobs, random(size))
	}
	for _, size := range sizes {
		id, _ := workspace.BlobID(random(size))
		checkContent(t, c.Blobs, id, random(size))
	}
}

// testKnownIDs compares with what git hash-object says.
func testKnownIDs(t *testing.T, c BlobsTarget) {
	for content, want := range map[string]string{
		"":        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
		"hello\n": "ce013625030ba8dba906f756967f9e9ca394464a",
	} {
		if got := put(t, c.Blobs, []byte(content)); got.String() != want {
			t.Errorf("id of %q: got %s, want %s", content, got, want)
		}
	}
}

func testRanges(t *testing.T, c BlobsTarget) {
	for _, size := range sizes {
		content := random(size)
		r, err := c.Blobs.Open(t.Context(), put(t, c.Blobs, content))
		if err != nil {
			t.Fatal(err)
		}
		if size <= 4097 { // it reads a few bytes at a time
			if err := iotest.TestReader(r, content); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		if end, err := r.Seek(0, io.SeekEnd); end != int64(size) || err != nil {
			t.Errorf("%d bytes: seek to the end: got %d, %v", size, end, err)
		}
		from, length := size/3, size/2
		if _, err := r.Seek(int64(from), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, length)
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, content[from:from+length]) {
			t.Errorf("%d bytes: range of %d from %d: wrong content or %v", size, length, from, err)
		}
		if _, err := r.Seek(-1, io.SeekStart); err == nil {
			t.Errorf("%d bytes: seek before the start: no error", size)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testWrongSize(t *testing.T, c BlobsTarget) {
	for _, size := range []int{1, 5000, 300 << 10} {
		content := random(size)
		for _, announced := range []int{-1, 0, size - 1, size + 1, 2 * size} {
			if announced == size {
				continue
			}
			_, err := c.Blobs.Put(t.Context(), bytes.NewReader(content), int64(announced))
			if workspace.KindOf(err) != workspace.Invalid {
				t.Errorf("put %d bytes as %d: got error %v, want one of kind invalid", size, announced, err)
			}
			checkAbsent(t, c.Blobs, content)
			checkAbsent(t, c.Blobs, content[:max(0, min(announced, size))])
		}
	}
}

func checkAbsent(t *testing.T, b workspace.Blobs, content []byte) {
	t.Helper()
	id, err := workspace.BlobID(content)
	if err != nil {
		t.Fatal(err)
	}
	if has, err := b.Has(t.Context(), id); has || err != nil {
		t.Errorf("has %d bytes that were not put: got %v, %v", len(content), has, err)
	}
	got, err := readBlob(t, b, id)
	if workspace.KindOf(err) != workspace.Corrupt {
		t.Errorf("open %d bytes that are not there: got %d bytes and error %v, want one of kind corrupt", len(content), len(got), err)
	}
}

func testReaderFails(t *testing.T, c BlobsTarget) {
	broken := errors.New("the line went dead")
	for _, size := range []int{10, 300 << 10} {
		content := random(size)
		r := io.MultiReader(bytes.NewReader(content[:size/2]), iotest.ErrReader(broken))
		if _, err := c.Blobs.Put(t.Context(), r, int64(size)); !errors.Is(err, broken) {
			t.Errorf("put from a broken reader: got error %v, want the reader's", err)
		}
		checkAbsent(t, c.Blobs, content)
	}
}

func testPutCanceled(t *testing.T, c BlobsTarget) {
	content := random(300 << 10)
	ctx, cancel := context.WithCancel(t.Context())
	first := iotest.OneByteReader(bytes.NewReader(content))
	cut := readFunc(func(p []byte) (int, error) { cancel(); return first.Read(p) })
	_, err := c.Blobs.Put(ctx, cut, int64(len(content)))
	checkKind(t, err, workspace.Canceled)
	_, err = c.Blobs.Put(canceled(t), bytes.NewReader(content[:10]), 10)
	checkKind(t, err, workspace.Canceled)
	checkAbsent(t, c.Blobs, content)
	checkAbsent(t, c.Blobs, content[:10])
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func testPutTwice(t *testing.T, c BlobsTarget) {
	for range 2 {
		for _, size := range sizes {
			checkContent(t, c.Blobs, put(t, c.Blobs, random(size)), random(size))
		}
	}
}

func testPutConcurrent(t *testing.T, c BlobsTarget) {
	contents := [][]byte{random(100), random(300 << 10)}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			content := contents[i%2]
			id, err := c.Blobs.Put(t.Context(), bytes.NewReader(content), int64(len(content)))
			if err != nil {
				t.Errorf("put: %v", err)
				return
			}
			checkContent(t, c.Blobs, id, content)
		})
	}
	wg.Wait()
}

func testMissing(t *testing.T, c BlobsTarget) {
	checkAbsent(t, c.Blobs, []byte("never put"))
	for _, size := range sizes {
		id := put(t, c.Blobs, random(size))
		c.Damage(t, id, func([]byte) []byte { return nil })
		checkAbsent(t, c.Blobs, random(size))
		checkContent(t, c.Blobs, put(t, c.Blobs, random(size)), random(size))
	}
}

// testDamaged stores contents, damages them in each way, and expects an error
// before the end of the content; then it puts them again, which mends them.
func testDamaged(t *testing.T, c BlobsTarget) {
	type damage struct {
		name    string
		resized bool
		change  func([]byte) []byte
	}
	damages := []damage{
		{"emptied", true, func([]byte) []byte { return []byte{} }},
		{"cut by a byte", true, func(b []byte) []byte { return b[:len(b)-1] }},
		{"cut to half", true, func(b []byte) []byte { return b[:len(b)/2] }},
		{"longer", true, func(b []byte) []byte { return append(b, 'x') }},
		{"first byte", false, func(b []byte) []byte { b[0] ^= 1; return b }},
		{"last byte", false, func(b []byte) []byte { b[len(b)-1] ^= 0x80; return b }},
		{"zeroed", false, func(b []byte) []byte { clear(b); return b }},
	}
	for _, size := range []int{100, 5000, 256<<10 + 1} {
		for _, d := range damages {
			content := random(size)
			id := put(t, c.Blobs, content)
			c.Damage(t, id, d.change)
			if got, err := readBlob(t, c.Blobs, id); workspace.KindOf(err) != workspace.Corrupt || len(got) >= size {
				t.Errorf("%d bytes, %s: got %d bytes and error %v, want less and one of kind corrupt", size, d.name, len(got), err)
			}
			if has, err := c.Blobs.Has(t.Context(), id); d.resized && has || err != nil {
				t.Errorf("%d bytes, %s: has: got %v, %v", size, d.name, has, err)
			}
			checkContent(t, c.Blobs, put(t, c.Blobs, content), content)
		}
	}
}

// testDamagedRange reads a range that is sound of a content that is not.
func testDamagedRange(t *testing.T, c BlobsTarget) {
	for _, size := range sizes[3:] {
		content := random(size)
		id := put(t, c.Blobs, content)
		c.Damage(t, id, func(b []byte) []byte { b[0] ^= 1; return b })
		r, err := c.Blobs.Open(t.Context(), id)
		if err == nil {
			_, err = r.Seek(int64(size)-10, io.SeekStart)
			if err == nil {
				_, err = io.ReadFull(r, make([]byte, 5))
			}
			r.Close()
		}
		checkKind(t, err, workspace.Corrupt)
	}
}

// testOpenSurvivesPut reads on while the same content is put again.
func testOpenSurvivesPut(t *testing.T, c BlobsTarget) {
	content := random(1<<20 + 3)
	r, err := c.Blobs.Open(t.Context(), put(t, c.Blobs, content))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	head := make([]byte, 1000)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	put(t, c.Blobs, content)
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(append(head, rest...), content) {
		t.Errorf("got %d bytes, %v, want the whole content", len(head)+len(rest), err)
	}
}
