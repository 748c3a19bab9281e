package traced

import (
	"context"
	"io"

	"go.opentelemetry.io/otel/attribute"

	"carrel.dev/persistence/spill"
	"carrel.dev/workspace"
)

// Blobs are contents whose storing and opening is traced.
type Blobs struct {
	*spill.Blobs
	t *Tracer
}

var _ workspace.Blobs = (*Blobs)(nil)

// Blobs decorates contents.
func (t *Tracer) Blobs(b *spill.Blobs) *Blobs { return &Blobs{b, t} }

// Put implements workspace.Blobs.
func (b *Blobs) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	ctx, _, end := b.t.begin(ctx, "blobs put", attribute.Int64("carrel.bytes", size))
	id, err := b.Blobs.Put(ctx, r, size)
	end(err)
	return id, err
}

// Open implements workspace.Blobs.
func (b *Blobs) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	ctx, _, end := b.t.begin(ctx, "blobs open")
	r, err := b.Blobs.Open(ctx, id)
	end(err)
	return r, err
}

// Has implements workspace.Blobs.
func (b *Blobs) Has(ctx context.Context, id workspace.OID) (bool, error) {
	ctx, _, end := b.t.begin(ctx, "blobs has")
	has, err := b.Blobs.Has(ctx, id)
	end(err)
	return has, err
}
