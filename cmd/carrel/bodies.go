package main

import (
	"context"
	"errors"
	"math"
	"path/filepath"

	"carrel.dev/persistence/datadir"
	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/s3"
	"carrel.dev/persistence/spill"
)

// bodies are the contents that are too large for the database: in the data
// directory, and in a bucket if there is one.
type bodies struct {
	spill.Movable
	files *dir.Blobs
	// bucket has the data directory's own prefix; nil for none.
	bucket *s3.Blobs
	from   int64 // the size from which contents belong there
}

// blobsLocation is where the flag or the environment has larger contents kept,
// "" for the data directory.
func (c *cli) blobsLocation() string {
	if c.blobs != "" {
		return c.blobs
	}
	return c.getenv("CARREL_BLOBS")
}

// openData opens the data directory and what keeps its larger contents.
func (h *home) openData(ctx context.Context, o homeOptions) error {
	cfg := &datadir.Config{AsIs: o.asIs}
	var all *s3.Blobs
	var at s3.Location
	if h.blobs != "" {
		var err error
		if at, err = s3.ParseLocation(h.blobs); err != nil {
			return err
		}
		spool := filepath.Join(h.path, "blobs", "tmp")
		if all, err = s3.New(ctx, &s3.Config{Location: at, Spool: spool}); err != nil {
			return err
		}
		cfg.Elsewhere, cfg.Check = at.String(), all.Check
	}
	data, err := datadir.OpenWith(ctx, h.path, cfg)
	if err != nil {
		return err
	}
	h.data = data
	h.close = append(h.close, data.Close)
	openFiles := dir.Open
	if o.asIs {
		openFiles = dir.OpenAsIs
	}
	files, err := openFiles(data.Blobs())
	if err != nil {
		return err
	}
	h.large = &bodies{Movable: files, files: files}
	if !data.Elsewhere() {
		return nil
	}
	h.large.bucket, h.large.from = all.Below(data.ID()), at.From
	small := max(at.From-1, spill.DefaultThreshold)
	if data.Leaving() {
		small = math.MaxInt64
	}
	h.large.Movable = spill.New(files, h.large.bucket, &spill.Config{Threshold: small})
	return nil
}

// Abandoned lists what processes that died were storing, by names.
func (b *bodies) Abandoned(ctx context.Context) (files, uploads []string, err error) {
	if files, err = b.files.Abandoned(); err == nil && b.bucket != nil {
		uploads, err = b.bucket.Abandoned(ctx)
	}
	return files, uploads, err
}

// Clean removes what is abandoned and returns how much that was.
func (b *bodies) Clean(ctx context.Context) (removed int, err error) {
	if removed, err = b.files.Clean(); b.bucket == nil {
		return removed, err
	}
	uploads, uploadsErr := b.bucket.Clean(ctx)
	return removed + uploads, errors.Join(err, uploadsErr)
}
