// Package content is what every blob store does alike: take in exactly the size
// that was announced while computing the git blob id, and hold a stored content
// against its id before anybody reads it.
package content

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"carrel.dev/workspace"
)

// Copy copies exactly size bytes from r to w and returns their git blob id. A
// reader that ends early or late, and a negative size, are Invalid; then w has
// something else, which the caller throws away. Other errors of r and those of w
// are returned as they are.
func Copy(ctx context.Context, w io.Writer, r io.Reader, size int64) (workspace.OID, error) {
	if size < 0 {
		return workspace.OID{}, workspace.Errorf(workspace.Invalid, "content has the size %d", size)
	}
	hash := workspace.NewBlobHash(size)
	// One byte more than announced is asked for, to see that there is none.
	n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(until(ctx, r), size+1))
	switch {
	case err != nil:
		return workspace.OID{}, err
	case n > size:
		return workspace.OID{}, workspace.Errorf(workspace.Invalid, "content is longer than the %d bytes announced", size)
	case n < size:
		return workspace.OID{}, workspace.Errorf(workspace.Invalid, "content ended after %d of %d bytes", n, size)
	}
	return hash.ID()
}

// Read is Copy into memory.
func Read(ctx context.Context, r io.Reader, size int64) ([]byte, workspace.OID, error) {
	var buf bytes.Buffer
	id, err := Copy(ctx, &buf, r, size)
	if err != nil {
		return nil, id, err
	}
	return buf.Bytes(), id, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// until reads from r while ctx lives.
func until(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, workspace.Errorf(workspace.Canceled, "reading content: %w", context.Cause(ctx))
		}
		return r.Read(p)
	})
}

const mend = "Write the same content again to mend it, or restore the data directory from a backup."

// Missing is the error for a content that is not in the store.
func Missing(id workspace.OID) error {
	return workspace.Errorf(workspace.Corrupt, "content %s %w", id, workspace.ErrMissing).Hinted(mend)
}

// Damaged is the error for a content that is not what its id says.
func Damaged(id workspace.OID, format string, args ...any) error {
	return workspace.Errorf(workspace.Corrupt, "content %s is damaged: %s", id, fmt.Sprintf(format, args...)).Hinted(mend)
}

// Check holds stored bytes against their id.
func Check(id workspace.OID, stored []byte) error {
	if got, err := workspace.BlobID(stored); err != nil || got != id {
		return Damaged(id, "%d bytes with another id", len(stored))
	}
	return nil
}

// Reader reads a content that is in memory.
func Reader(checked []byte) io.ReadSeekCloser { return memory{bytes.NewReader(checked)} }

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }
