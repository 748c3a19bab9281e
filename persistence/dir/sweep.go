package dir

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Contents implements workspace.Inventory. What is not named as a content is
// passed over. The size is that of the file without the header that its content
// would have.
func (b *Blobs) Contents(ctx context.Context, before time.Time) iter.Seq2[workspace.Stored, error] {
	return func(yield func(workspace.Stored, error) bool) {
		for first := range len(b.synced) {
			entries, err := os.ReadDir(filepath.Join(b.root, fmt.Sprintf("%02x", first)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				yield(workspace.Stored{}, disk.Fault("list contents", err))
				return
			}
			if ctx.Err() != nil {
				yield(workspace.Stored{}, workspace.Errorf(workspace.Canceled, "listing contents: %w", context.Cause(ctx)))
				return
			}
			for _, e := range entries { // sorted
				c, ok, err := stored(byte(first), e)
				if err != nil || ok && old(c, before) {
					if !yield(c, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// old reports whether a content was last put before a time, the zero time for
// ever.
func old(c workspace.Stored, before time.Time) bool { return before.IsZero() || c.Used.Before(before) }

// stored tells what a file is; ok is false for one that is no content, or gone.
func stored(first byte, e fs.DirEntry) (c workspace.Stored, ok bool, err error) {
	rest, err := hex.DecodeString(e.Name())
	if err != nil || len(rest) != len(c.ID)-1 || hex.EncodeToString(rest) != e.Name() || !e.Type().IsRegular() {
		return c, false, nil
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, disk.Fault("list contents", err)
	}
	c.ID[0] = first
	copy(c.ID[1:], rest)
	c.Size, c.Used = content.SizeIn(info.Size()), info.ModTime().UTC()
	return c, true, nil
}

// Discard removes those of some contents that were last put before a time, and
// returns them. The caller has seen to it that nobody begins to refer to them
// meanwhile, see workspace.Sweeper. One that is put meanwhile stays.
func (b *Blobs) Discard(ctx context.Context, before time.Time, ids []workspace.OID) ([]workspace.Stored, error) {
	var gone []workspace.Stored
	for _, id := range ids {
		if ctx.Err() != nil {
			return gone, workspace.Errorf(workspace.Canceled, "removing contents: %w", context.Cause(ctx))
		}
		c, removed, err := b.discard(id, before)
		if err != nil {
			return gone, disk.Fault("remove a content", err)
		}
		if removed {
			gone = append(gone, c)
		}
	}
	return gone, nil
}

// discard takes a file's name away before it looks at its age: a Put that comes
// later does not find it and stores the content again, and one that came before
// has renewed the age and has it put back.
func (b *Blobs) discard(id workspace.OID, before time.Time) (c workspace.Stored, removed bool, err error) {
	info, err := os.Stat(b.path(id))
	if err != nil {
		return c, false, unlessGone(err)
	}
	c = workspace.Stored{ID: id, Size: content.SizeIn(info.Size()), Used: info.ModTime().UTC()}
	if !old(c, before) {
		return c, false, nil
	}
	aside := filepath.Join(b.tmp(), "gone-"+id.String())
	if err := os.Rename(b.path(id), aside); err != nil {
		return c, false, unlessGone(err)
	}
	return b.decide(id, aside, before, c)
}

// decide removes a content that was put aside, or puts it back if it was renewed.
func (b *Blobs) decide(id workspace.OID, aside string, before time.Time, c workspace.Stored) (workspace.Stored, bool, error) {
	info, err := os.Stat(aside)
	if errors.Is(err, fs.ErrNotExist) {
		return c, true, nil // removed by another process, as abandoned
	}
	if err != nil {
		return c, false, err
	}
	if c.Used = info.ModTime().UTC(); old(c, before) {
		return c, true, unlessGone(os.Remove(aside))
	}
	// A link replaces nothing: what was put since keeps its age. Where files
	// cannot be linked, the same content with a younger age is replaced.
	if err = os.Link(aside, b.path(id)); err == nil || errors.Is(err, fs.ErrExist) {
		err = os.Remove(aside)
	} else {
		err = os.Rename(aside, b.path(id))
	}
	return c, false, errors.Join(unlessGone(err), b.sync(id))
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
