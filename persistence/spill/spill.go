// Package spill is a blob store over two: one for small contents, which can take
// them in the same transaction as the events that name them, and one for larger
// ones, which a database would carry badly.
package spill

import (
	"context"
	"errors"
	"io"

	"carrel.dev/workspace"
)

// DefaultThreshold is the size in bytes up to which a content is small. Measured
// on a local disk, a file of its own is as fast as a row from about here on.
const DefaultThreshold = 256 << 10

// Store spills larger contents from Small to Large. All methods are safe for
// concurrent use if those of both are.
type Store struct {
	Small, Large workspace.Blobs
	// Threshold is the size of the largest small content; 0 means DefaultThreshold.
	Threshold int64
}

var (
	_ workspace.Blobs   = (*Store)(nil)
	_ workspace.Inliner = (*Store)(nil)
)

// Inline implements workspace.Inliner.
func (s *Store) Inline(size int64) bool {
	if s.Threshold == 0 {
		return size <= DefaultThreshold
	}
	return size <= s.Threshold
}

// Put implements workspace.Blobs.
func (s *Store) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	if s.Inline(size) {
		return s.Small.Put(ctx, r, size)
	}
	return s.Large.Put(ctx, r, size)
}

// Open implements workspace.Blobs. The threshold may have been another when the
// content was put, so both stores are asked.
func (s *Store) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	small, err := s.Small.Has(ctx, id)
	if err != nil {
		return nil, err
	}
	if small {
		r, err := s.Small.Open(ctx, id)
		if !errors.Is(err, workspace.Corrupt) {
			return r, err
		}
		// A damaged or vanished copy may have a whole one beside it.
		if large, _ := s.Large.Has(ctx, id); !large {
			return nil, err
		}
	}
	return s.Large.Open(ctx, id)
}

// Has implements workspace.Blobs.
func (s *Store) Has(ctx context.Context, id workspace.OID) (bool, error) {
	if small, err := s.Small.Has(ctx, id); small || err != nil {
		return small, err
	}
	return s.Large.Has(ctx, id)
}
