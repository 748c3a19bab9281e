package spill

import (
	"bytes"
	"context"
	"iter"
	"time"

	"carrel.dev/workspace"
)

var _ workspace.Inventory = (*Blobs)(nil)

// Discarder is a store that removes contents when told to.
type Discarder interface {
	// Discard removes those of some contents that were last put before a time,
	// the zero time for all, and returns them. The caller has seen to it that
	// nobody begins to refer to them meanwhile.
	Discard(ctx context.Context, before time.Time, ids []workspace.OID) ([]workspace.Stored, error)
}

// Discard implements Discarder, for those of the two stores that do. A content
// that both had is returned twice.
func (b *Blobs) Discard(ctx context.Context, before time.Time, ids []workspace.OID) ([]workspace.Stored, error) {
	var gone []workspace.Stored
	for _, store := range []workspace.Blobs{b.small, b.large} {
		d, ok := store.(Discarder)
		if !ok {
			continue
		}
		some, err := d.Discard(ctx, before, ids)
		if gone = append(gone, some...); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// Contents implements workspace.Inventory: the contents of both stores in one
// order. One that both have is yielded twice. A store that cannot tell is
// Unavailable.
func (b *Blobs) Contents(ctx context.Context, before time.Time) iter.Seq2[workspace.Stored, error] {
	return func(yield func(workspace.Stored, error) bool) {
		small, ok := b.small.(workspace.Inventory)
		large, both := b.large.(workspace.Inventory)
		if !ok || !both {
			yield(workspace.Stored{}, workspace.Errorf(workspace.Unavailable, "the store of contents cannot list them"))
			return
		}
		next, stop := iter.Pull2(large.Contents(ctx, before))
		defer stop()
		l, err, more := next()
		flush := func(until *workspace.OID) bool {
			for more && (err != nil || until == nil || bytes.Compare(l.ID[:], until[:]) < 0) {
				if !yield(l, err) || err != nil {
					return false
				}
				l, err, more = next()
			}
			return true
		}
		for s, err := range small.Contents(ctx, before) {
			if err != nil {
				yield(s, err)
				return
			}
			if !flush(&s.ID) || !yield(s, nil) {
				return
			}
		}
		flush(nil)
	}
}
