package object

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
)

// Pending is an object that is to be in a repository.
type Pending struct {
	ID   workspace.OID
	Type Type
	// Content returns what the id names; it is asked only if the repository
	// lacks the object.
	Content func(ctx context.Context) ([]byte, error)
}

// Writer says how Write treats what it makes.
type Writer struct {
	// Keep names the write, on one line, for RemoveKeep. Without it there is no
	// .keep file.
	Keep string
	// Share gives a new file or directory the repository's permissions.
	Share func(path string) error
	// Written and Named are called when the objects are complete under temporary
	// names, and when they have their own, not yet synced. An error stops the
	// write there, nothing cleaned up if Stopped says so.
	Written, Named func() error
	Stopped        func(error) bool
}

// looseMost is the most objects that are written as files of their own.
const looseMost = 2

// Write makes objects durable, those that the repository lacks. One that it has
// is marked as recently used, as git does, so that a concurrent git gc does not
// take it for garbage. A content that its id does not name is Corrupt.
//
// Until a ref leads to the objects, a pack of them has a .keep file, as one that
// git receives has: git repack -ad would remove it, and with it what no ref
// needed when it looked. The caller calls release when the ref has moved, or
// will not move.
//
// Somebody's repack may remove a file of others between the look at it and its
// use; then the write begins again.
func (s *Store) Write(ctx context.Context, objects []Pending, w *Writer) (release func(moved bool), err error) {
	const tries = 5
	for try := 1; ; try++ {
		release, err = s.write(ctx, objects, w)
		if !errors.Is(err, fs.ErrNotExist) || w.Stopped(err) || try == tries {
			return release, err
		}
	}
}

func (s *Store) write(ctx context.Context, objects []Pending, w *Writer) (release func(moved bool), err error) {
	// What a mapped pack has need not be in the repository any more.
	set, err := s.relist()
	if err != nil {
		return nil, err
	}
	b := s.newBatch(w)
	if err := durable.MkdirAll(b.packs, 0o777, w.Share); err != nil {
		return nil, unavailable(err)
	}
	s.forgetRemoved(set)
	var lacking []Pending
	seen := map[workspace.OID]bool{}
	for _, o := range objects {
		if !seen[o.ID] && !b.reuse(set, o.ID) {
			lacking = append(lacking, o)
		}
		seen[o.ID] = true
	}
	if len(lacking) <= looseMost && !b.packed {
		err = b.loose(ctx, lacking)
	} else {
		err = b.pack(ctx, lacking)
	}
	if err != nil && !w.Stopped(err) {
		b.discard()
	}
	return b.release, err
}

// forgetRemoved forgets of packs that are not there any more whether a ref was
// moved.
func (s *Store) forgetRemoved(set *files) {
	s.unmoved.Range(func(pack, _ any) bool {
		if set.byPath[indexPath(pack.(string))] == nil {
			s.unmoved.Delete(pack)
		}
		return true
	})
}

// settled is how old a file must be for the kernel to have written it to disk by
// itself.
const settled = time.Minute

// reuse marks the file that has an object as recently used, and makes it durable
// if whoever wrote it may not have, as git with objects in files of their own.
// False if there is no file that this process may touch, or none but a pack that
// is not known to be led to by a ref: a repack that began before may be about to
// remove it, and until then git prune-packed removes the object's own file.
func (b *batch) reuse(set *files, id workspace.OID) bool {
	packed := false
	for _, p := range set.order {
		if _, ok, err := p.find(id); err != nil || !ok {
			continue
		}
		if b.store.ledTo(p) && b.touch(packPath(p.path)) == nil {
			return true
		}
		packed = true
	}
	if packed {
		b.packed = true
		return false
	}
	for _, dir := range set.dirs {
		if b.touch(loosePath(dir, id)) == nil {
			return true
		}
	}
	return false
}

// ledTo reports whether a pack is git's, or a ref was moved to it when it was
// written here. Of what other processes wrote, and of what was folded, no one knows
// whether it landed.
func (s *Store) ledTo(p *pack) bool {
	if unmoved, known := s.unmoved.Load(packPath(p.path)); known {
		return !unmoved.(bool)
	}
	own, err := p.isOwn()
	return err == nil && !own
}

// touch sets the time of a file to now, or has it synced if it is new.
func (b *batch) touch(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	now := time.Now()
	if now.Sub(info.ModTime()) < settled {
		b.young[name] = true
		return nil
	}
	return os.Chtimes(name, now, now)
}

// RemoveKeep ends the protection of what a process wrote under a name that died
// before it could.
func (s *Store) RemoveKeep(name string) error {
	keeps, err := filepath.Glob(filepath.Join(s.dir, "pack", "pack-*.keep"))
	if err != nil {
		return unavailable(err)
	}
	for _, keep := range keeps {
		text, err := os.ReadFile(keep)
		if err == nil && string(text) == name+"\n" {
			os.Remove(keep)
		}
	}
	return nil
}
