package s3

import (
	"context"
	"errors"
	"io"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/workspace"
)

// Open implements workspace.Blobs. The object is there and has the right size;
// what it holds is checked as it is read, see the package's comment. The reader
// keeps a chunk in memory, ends with ctx, and is for one goroutine.
func (b *Blobs) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	r := &reader{id: id, chunk: -1, again: func(do func() error) error { return b.again(ctx, do) }}
	r.get = func(from, to int64) (*stream, error) { return b.get(ctx, id, from, to) }
	err := r.again(func() error { return r.begin(ctx) })
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// reader reads a content in its bucket.
type reader struct {
	id    workspace.OID
	get   func(from, to int64) (*stream, error)
	again func(do func() error) error

	start int64 // of the content in the object
	sums  *sums
	at    int64 // where the next Read begins
	done  bool  // closed

	chunk int    // that is in memory, -1 for none
	buf   []byte // its bytes

	stream *stream // nil for none
	next   int     // the chunk that stream goes on with
	until  int     // the chunk before which it ends
	window int     // how many chunks the last one was to bring

	hash   *workspace.BlobHash
	hashed int // how many chunks are in hash
}

// begin looks at the object, and leaves a stream at the start of the content.
func (r *reader) begin(ctx context.Context) error {
	r.drop()
	s, err := r.get(0, maxStored)
	if err != nil {
		return err
	}
	r.stream = s
	start, size, err := s.head(r.id)
	if err != nil {
		return err
	}
	r.start, r.sums = start, parseSums(s.sums, size)
	if r.sums == nil {
		if r.sums, err = r.survey(ctx, size); err != nil {
			return err
		}
	}
	r.hash, r.hashed = workspace.NewBlobHash(size), 0
	r.next, r.until, r.window = 0, r.sums.count(), r.sums.count()
	return nil
}

// survey reads a content that has no sums to its end, holds it against its id,
// and makes the sums.
func (r *reader) survey(ctx context.Context, size int64) (*sums, error) {
	defer r.drop()
	s := &summer{sums: newSums(size)}
	id, err := content.Copy(ctx, s, r.stream, size)
	if err == nil && id != r.id || workspace.KindOf(err) == workspace.Invalid {
		return nil, content.Damaged(r.id, "%d bytes with another id", size)
	}
	var known *workspace.Error
	if err != nil && !errors.As(err, &known) {
		err = broken{err}
	}
	return s.sums, err
}

// Read reads up to the end of a chunk.
func (r *reader) Read(p []byte) (int, error) {
	switch {
	case r.done:
		return 0, workspace.Errorf(workspace.Closed, "%s: it is closed", reading)
	case len(p) == 0:
		return 0, nil
	case r.at >= r.sums.size:
		return 0, io.EOF
	}
	if n := int(r.at / r.sums.chunk); n != r.chunk {
		if err := r.load(n); err != nil {
			return 0, err
		}
	}
	from, _ := r.sums.span(r.chunk)
	n := copy(p, r.buf[r.at-from:])
	r.at += int64(n)
	return n, nil
}

// load brings a chunk that is as it was stored into memory.
func (r *reader) load(n int) error {
	r.chunk = -1
	err := r.matching(n)
	if err == nil {
		err = r.check(n)
	}
	if err != nil {
		return r.vanished(err)
	}
	r.chunk = n
	return nil
}

// matching fetches a chunk that matches its sum. One that does not is asked for a
// second time: it may have been altered on the way.
func (r *reader) matching(n int) error {
	for range 2 {
		err := r.again(func() error {
			err := r.fetch(n)
			if err != nil {
				r.drop()
			}
			return err
		})
		if err != nil || r.sums.match(n, r.buf) {
			return err
		}
		r.drop()
	}
	return content.Damaged(r.id, "the bytes of a part are others than were stored")
}

// vanished makes a content that went while it was read Unavailable: it may have
// been moved to another store.
func (r *reader) vanished(err error) error {
	if !errors.Is(err, workspace.ErrMissing) {
		return err
	}
	return workspace.Errorf(workspace.Unavailable, "content %s was moved or removed while it was read", r.id).Hinted("Repeat the call.")
}

// fetch reads a chunk into buf, from the stream if that is there.
func (r *reader) fetch(n int) error {
	if r.stream == nil || r.next != n || r.next == r.until {
		if err := r.follow(n); err != nil {
			return err
		}
	}
	_, length := r.sums.span(n)
	if r.buf = r.buf[:0]; int64(cap(r.buf)) < length {
		r.buf = make([]byte, 0, min(r.sums.chunk, r.sums.size))
	}
	r.buf = r.buf[:length]
	if _, err := io.ReadFull(r.stream, r.buf); err != nil {
		return broken{err}
	}
	r.next++
	return nil
}

// follow opens a stream at a chunk. Whoever reads on gets twice as much with each
// one; whoever has jumped gets the chunk alone.
func (r *reader) follow(n int) error {
	window := 1
	if n == r.next {
		window = min(2*r.window, r.sums.count())
	}
	r.drop()
	until := min(n+window, r.sums.count())
	from, _ := r.sums.span(n)
	last, length := r.sums.span(until - 1)
	s, err := r.get(r.start+from, r.start+last+length)
	if err != nil {
		return err
	}
	r.stream, r.next, r.until, r.window = s, n, until, window
	if found := s.total - r.start; found != r.sums.size {
		return content.Damaged(r.id, "it has %d of %d bytes", found, r.sums.size)
	}
	return nil
}

// check holds the content against its id when all chunks have come in order.
func (r *reader) check(n int) error {
	if n != r.hashed {
		return nil
	}
	r.hash.Write(r.buf)
	if r.hashed++; r.hashed < r.sums.count() {
		return nil
	}
	if id, err := r.hash.ID(); err != nil || id != r.id {
		r.hash, r.hashed = workspace.NewBlobHash(r.sums.size), 0 // a second look says the same
		return content.Damaged(r.id, "%d bytes with another id", r.sums.size)
	}
	return nil
}

// Seek implements io.Seeker; it transfers nothing.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.sums.size
	case io.SeekStart:
	default:
		return 0, workspace.Errorf(workspace.Invalid, "seek in content: whence is %d", whence)
	}
	if offset < 0 {
		return 0, workspace.Errorf(workspace.Invalid, "seek in content: the position is %d", offset)
	}
	r.at = offset
	return offset, nil
}

// drop ends the stream.
func (r *reader) drop() {
	if r.stream != nil {
		r.stream.body.Close()
		r.stream = nil
	}
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.drop()
	r.buf, r.done = nil, true
	return nil
}
