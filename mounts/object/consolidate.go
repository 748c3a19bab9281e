package object

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/workspace"
)

const (
	// packMark begins the name of every pack that is written here: what others
	// made is left alone.
	packMark = "pack-ca44e1"
	// consolidateFrom is how many packs make it worth while to fold them, and
	// consolidateSize the size in bytes from which on a pack stays as it is.
	consolidateFrom = 50
	consolidateSize = 4 << 20
)

// Consolidate folds the small packs that commits have left into one, once there
// are many, since whoever looks for an object looks into each. It drops nothing:
// the new pack has all objects of the old ones, durable, before these are
// removed. A pack that a commit in progress protects stays.
func (s *Store) Consolidate(ctx context.Context, w *Writer) error {
	set, err := s.relist()
	if err != nil {
		return err
	}
	b := s.newBatch(w)
	small := b.smallPacks(set)
	if len(small) < consolidateFrom {
		return nil
	}
	var objects []Pending
	seen := map[workspace.OID]bool{}
	for _, p := range small {
		err := p.each(func(id workspace.OID, offset uint64) error {
			t, _, err := p.stat(s.pool, offset)
			if !seen[id] {
				objects = append(objects, Pending{ID: id, Type: t, Content: func(context.Context) ([]byte, error) {
					_, content, err := p.read(s.pool, offset)
					return content, err
				}})
			}
			seen[id] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := b.pack(ctx, objects); err != nil {
		b.discard()
		return err
	}
	for _, p := range small {
		os.Remove(p.path) // the index first: without it nobody opens the pack
		os.Remove(packPath(p.path))
	}
	b.release(true)
	return nil
}

// smallPacks returns the packs that may be folded.
func (b *batch) smallPacks(set *files) (small []*pack) {
	if _, err := os.Lstat(filepath.Join(b.packs, "multi-pack-index")); err == nil {
		return nil // it names packs, and git keeps the two in step
	}
	for _, p := range set.order {
		dir, name := filepath.Split(p.path)
		pack := packPath(p.path)
		_, unmoved := b.store.unmoved.Load(pack)
		if filepath.Clean(dir) != b.packs || !strings.HasPrefix(name, packMark) || unmoved || p.file.Size() >= consolidateSize {
			continue
		}
		if _, err := os.Lstat(strings.TrimSuffix(pack, ".pack") + ".keep"); err == nil {
			continue
		}
		small = append(small, p)
	}
	return small
}

// packName is a name that no pack ever had, of the length of an id, which git
// expects: by its name git removes a pack.
func packName() string {
	var id [idSize]byte
	rand.Read(id[:])
	digits := hex.EncodeToString(id[:])
	return packMark + digits[len(packMark)-len("pack-"):]
}
