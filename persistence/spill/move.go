package spill

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel.dev/workspace"
)

// Movable is a store that contents are moved from and to.
type Movable interface {
	workspace.Blobs
	workspace.Inventory
	Discarder
}

// Move moves contents from one store to another. A content is removed from the
// one only after the other has it and it was read there to its end; so a Move
// that dies loses nothing, and another one goes on where it was. Processes may go
// on meanwhile that look in both stores and put nothing into From.
type Move struct {
	From, To Movable
	Least    int64 // the size of the smallest content that is moved, in bytes
	Progress workspace.Progress
}

// Moved is what a Move has done.
type Moved struct {
	Contents int
	Bytes    int64 // of them
	// Damaged are contents that From has and cannot read; they stay there.
	Damaged []workspace.OID
}

// movesAtOnce is how many contents are on their way at once.
const movesAtOnce = 4

// Run moves. After an error, what it returns is what was moved until then.
func (m *Move) Run(ctx context.Context) (Moved, error) {
	var todo []workspace.Stored
	var total int64
	for c, err := range m.From.Contents(ctx, time.Time{}) {
		if err != nil {
			return Moved{}, err
		}
		if c.Size >= m.Least {
			todo, total = append(todo, c), total+c.Size
		}
	}
	var mu sync.Mutex // guards moved and done
	var moved Moved
	var done int64
	group, grouped := errgroup.WithContext(ctx)
	group.SetLimit(movesAtOnce)
	for _, c := range todo {
		group.Go(func() error {
			err := m.one(grouped, c.ID)
			mu.Lock()
			defer mu.Unlock()
			done += c.Size
			switch {
			case err == nil:
				moved.Contents++
				moved.Bytes += c.Size
			case errors.Is(err, workspace.ErrMissing): // collected meanwhile
			case workspace.KindOf(err) == workspace.Corrupt:
				moved.Damaged = append(moved.Damaged, c.ID)
			default:
				return err
			}
			if m.Progress != nil {
				m.Progress("moving contents", done, total)
			}
			return nil
		})
	}
	return moved, group.Wait()
}

// one moves a content. One that cannot be read is Corrupt, and stays.
func (m *Move) one(ctx context.Context, id workspace.OID) error {
	there, err := whole(ctx, m.To, id)
	if err == nil && !there {
		err = m.carry(ctx, id)
	}
	if err != nil {
		return err
	}
	_, err = m.From.Discard(ctx, time.Time{}, []workspace.OID{id})
	return err
}

// carry copies a content and reads the copy.
func (m *Move) carry(ctx context.Context, id workspace.OID) error {
	r, err := m.From.Open(ctx, id)
	if err != nil {
		return err
	}
	defer r.Close()
	size, err := r.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	put, err := m.To.Put(ctx, r, size)
	if err != nil {
		return err
	}
	there, err := whole(ctx, m.To, id)
	if err == nil && (!there || put != id) {
		err = workspace.Errorf(workspace.Unavailable, "content %s cannot be read where it was moved to", id).
			Hinted("Nothing is lost: it is still where it was. Look at the store that it was moved to, then move again.")
	}
	return err
}

// whole reports whether a store has a content that can be read to its end.
func whole(ctx context.Context, store workspace.Blobs, id workspace.OID) (bool, error) {
	has, err := store.Has(ctx, id)
	if !has || err != nil {
		return false, err
	}
	r, err := store.Open(ctx, id)
	if err == nil {
		defer r.Close()
		_, err = io.Copy(io.Discard, r)
	}
	if workspace.KindOf(err) == workspace.Corrupt {
		return false, nil
	}
	return err == nil, err
}
