// Package spill is a blob store over two: small contents go to one, where an
// append carries them in its own transaction, and larger ones to the other. It
// knows neither: a database and a directory, and that directory and a bucket.
package spill

import (
	"context"
	"errors"
	"io"

	"carrel.dev/workspace"
)

// DefaultThreshold is the largest small content, in bytes: from about here on a
// file of its own takes less time than a row of the database.
const DefaultThreshold = 256 << 10

// Config says how contents are divided; the zero value is the default.
type Config struct {
	// Threshold is the largest small content, in bytes; 0 is DefaultThreshold.
	// Another value than before is harmless: contents are looked for in both.
	Threshold int64
}

// Blobs is a blob store over two.
type Blobs struct {
	small, large workspace.Blobs
	threshold    int64
}

var (
	_ workspace.Blobs   = (*Blobs)(nil)
	_ workspace.Inliner = (*Blobs)(nil)
)

// New makes a store of small and large; a nil cfg is the zero Config.
func New(small, large workspace.Blobs, cfg *Config) *Blobs {
	b := &Blobs{small: small, large: large, threshold: DefaultThreshold}
	if cfg != nil && cfg.Threshold > 0 {
		b.threshold = cfg.Threshold
	}
	return b
}

// Inline implements workspace.Inliner: small contents travel with an append.
func (b *Blobs) Inline(size int64) bool { return size <= b.threshold }

// Put implements workspace.Blobs.
func (b *Blobs) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	if b.Inline(size) {
		return b.small.Put(ctx, r, size)
	}
	return b.large.Put(ctx, r, size)
}

// Open implements workspace.Blobs. A content that one store has damaged is
// taken from the other, if it is there.
func (b *Blobs) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	r, err := b.small.Open(ctx, id)
	if workspace.KindOf(err) != workspace.Corrupt {
		return r, err
	}
	r, largeErr := b.large.Open(ctx, id)
	if workspace.KindOf(largeErr) != workspace.Corrupt {
		return r, largeErr
	}
	// Nobody has it whole. Whoever has it at all knows what is wrong.
	if !errors.Is(err, workspace.ErrMissing) {
		return nil, err
	}
	if !errors.Is(largeErr, workspace.ErrMissing) {
		return nil, largeErr
	}
	// It may have been moved from the one that was asked last.
	return b.small.Open(ctx, id)
}

// Has implements workspace.Blobs.
func (b *Blobs) Has(ctx context.Context, id workspace.OID) (bool, error) {
	// The first is asked twice: a content may be moved to it meanwhile.
	for _, store := range []workspace.Blobs{b.small, b.large, b.small} {
		if has, err := store.Has(ctx, id); has || err != nil {
			return has, err
		}
	}
	return false, nil
}
