package object

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
	"github.com/klauspost/compress/zlib"
)

// Pending is an object that is to be in a repository.
type Pending struct {
	ID   workspace.OID
	Type Type
	// Content returns what the id names; it is asked only if the repository
	// lacks the object.
	Content func() ([]byte, error)
}

// Writer says how Write treats what it makes.
type Writer struct {
	// Keep names the write, on one line, for RemoveKeep.
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
const looseMost = 8

// Write makes objects durable, those that the repository lacks. One that it has
// is marked as recently used, as git does, so that a concurrent git gc does not
// take it for garbage. A content that its id does not name is Corrupt.
//
// Until a ref leads to the objects, a pack of them has a .keep file, as one that
// git receives has: git repack -ad would remove it, and with it what no ref
// needed when it looked. The caller calls release when the ref has moved, or
// will not move.
func (s *Store) Write(objects []Pending, w *Writer) (release func(moved bool), err error) {
	// What a mapped pack has need not be in the repository any more.
	set, err := s.relist()
	if err != nil {
		return nil, err
	}
	var lacking []Pending
	seen := map[workspace.OID]bool{}
	for _, o := range objects {
		if !seen[o.ID] && !s.refresh(set, o.ID) {
			lacking = append(lacking, o)
		}
		seen[o.ID] = true
	}
	b := &batch{store: s, Writer: w, packs: filepath.Join(s.dir, "pack")}
	if err := durable.MkdirAll(b.packs, 0o777, w.Share); err != nil {
		return nil, unavailable(err)
	}
	if len(lacking) <= looseMost {
		err = b.loose(lacking)
	} else {
		err = b.pack(lacking)
	}
	if err != nil && !w.Stopped(err) {
		b.discard()
	}
	return b.release, err
}

// refresh sets the time of the file that has an object to now. False if there is
// none that this process may touch, or none but in a pack that no ref led to when
// it was written: a repack that began before may be about to remove it.
func (s *Store) refresh(set *files, id workspace.OID) bool {
	now := time.Now()
	for path, p := range set.byPath {
		if _, ok, err := p.find(id); err != nil || !ok {
			continue
		}
		if _, unmoved := s.unmoved.Load(packPath(path)); !unmoved && os.Chtimes(packPath(path), now, now) == nil {
			return true
		}
	}
	for _, dir := range set.dirs {
		if os.Chtimes(loosePath(dir, id), now, now) == nil {
			return true
		}
	}
	return false
}

// release ends the protection of what was written.
func (b *batch) release(moved bool) {
	if b.keep == "" {
		return
	}
	os.Remove(b.keep)
	if moved {
		b.store.unmoved.Delete(strings.TrimSuffix(b.keep, ".keep") + ".pack")
	}
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

// batch is one write. Each file is made under a temporary name that git's
// garbage collection clears away, synced, and then named.
type batch struct {
	store *Store
	*Writer
	packs string // the directory of packs
	keep  string // the .keep file, if there is one
	files []tempFile
	dirs  []string // to sync in the end
}

type tempFile struct{ temp, name string }

// create makes a temporary file that will have a name.
func (b *batch) create(name string) (*os.File, error) {
	temp := filepath.Join(b.packs, "tmp_obj_"+rand.Text())
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, unavailable(err)
	}
	b.files = append(b.files, tempFile{temp, name})
	return f, nil
}

// finish syncs and closes a temporary file.
func (b *batch) finish(f *os.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = b.Share(f.Name())
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// publish gives all files their names, in order, and makes the names durable.
func (b *batch) publish() error {
	if err := b.Written(); err != nil {
		return err
	}
	if b.keep != "" {
		b.store.unmoved.Store(strings.TrimSuffix(b.keep, ".keep")+".pack", true)
		if err := os.WriteFile(b.keep, []byte(b.Keep+"\n"), 0o444); err != nil {
			return unavailable(err)
		}
	}
	for _, f := range b.files {
		if err := os.Rename(f.temp, f.name); err != nil {
			return unavailable(err)
		}
	}
	if err := b.Named(); err != nil {
		return err
	}
	for _, dir := range b.dirs {
		if err := durable.SyncDir(dir); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

func (b *batch) discard() {
	b.release(false)
	for _, f := range b.files {
		os.Remove(f.temp)
	}
}

// checked returns the content of an object, verified.
func (b *batch) checked(o Pending) ([]byte, error) {
	content, err := o.Content()
	if err == nil {
		err = b.store.pool.Verify(o.ID, o.Type, content)
	}
	return content, err
}

// loose writes each object as a file of its own.
func (b *batch) loose(objects []Pending) error {
	for _, o := range objects {
		content, err := b.checked(o)
		if err != nil {
			return err
		}
		name := loosePath(b.store.dir, o.ID)
		dir := filepath.Dir(name)
		if err := durable.MkdirAll(dir, 0o777, b.Share); err != nil {
			return unavailable(err)
		}
		f, err := b.create(name)
		if err != nil {
			return err
		}
		z, err := zlib.NewWriterLevel(f, zlib.BestSpeed)
		if err == nil {
			z.Write(header(o.Type, len(content)))
			z.Write(content)
			err = z.Close() // repeats an error of Write
		}
		if err := b.finish(f, err); err != nil {
			return err
		}
		b.dirs = append(b.dirs, dir)
		b.store.remember(o, content)
	}
	return b.publish()
}

// remember keeps a new object in memory, since it is likely to be read next.
func (s *Store) remember(o Pending, content []byte) {
	switch o.Type {
	case TypeBlob:
		s.pool.addBlob(o.ID, content)
	case TypeTree:
		if t, err := ParseTree(content); err == nil {
			s.pool.addTree(o.ID, t)
		}
	}
}
