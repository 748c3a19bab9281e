package object

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/mounts/durable"
	"golang.org/x/sync/errgroup"
)

// batch is one write. Each file is made under a temporary name that git's
// garbage collection clears away, synced, and then named.
type batch struct {
	store *Store
	*Writer
	packs  string // the directory of packs
	keep   string // the .keep file, if there is one
	files  []*tempFile
	young  map[string]bool // files of others to sync as well
	dirs   map[string]bool // to sync in the end
	packed bool            // whether a pack that is not trusted has one of the objects
}

func (s *Store) newBatch(w *Writer) *batch {
	return &batch{store: s, Writer: w, packs: filepath.Join(s.dir, "pack"), young: map[string]bool{}, dirs: map[string]bool{}}
}

// tempFile is a file that will have a name.
type tempFile struct {
	*os.File
	name string
}

// create makes a temporary file that will have a name.
func (b *batch) create(name string) (*tempFile, error) {
	temp := filepath.Join(b.packs, "tmp_obj_"+rand.Text())
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, unavailable(err)
	}
	b.files = append(b.files, &tempFile{f, name})
	return b.files[len(b.files)-1], nil
}

// finish makes the files durable, all at once, since the file system then often
// does it in one go, and closes them.
func (b *batch) finish() error {
	const atOnce = 16
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, f := range b.files {
		g.Go(f.Sync)
	}
	for name := range b.young {
		b.dirs[filepath.Dir(name)] = true
		g.Go(func() error { return durable.Sync(name) })
	}
	err := g.Wait()
	for _, f := range b.files {
		if e := f.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = b.Share(f.Name())
		}
	}
	return err
}

// publish completes the files, gives them their names, in order, and makes the
// names durable.
func (b *batch) publish() error {
	if err := b.finish(); err != nil {
		return unavailable(err)
	}
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
		if err := durable.RenameInto(f.Name(), f.name, 0o777, b.Share); err != nil {
			return unavailable(err)
		}
	}
	if err := b.Named(); err != nil {
		return err
	}
	for dir := range b.dirs {
		if err := durable.Sync(dir); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

// discard removes what was not named.
func (b *batch) discard() {
	b.release(false)
	for _, f := range b.files {
		f.Close() // a second time is harmless
		os.Remove(f.Name())
	}
}

// release ends the protection of what was written.
func (b *batch) release(moved bool) {
	if b.keep == "" {
		return
	}
	os.Remove(b.keep)
	if moved {
		b.store.unmoved.Store(strings.TrimSuffix(b.keep, ".keep")+".pack", false)
	}
}

// content returns the content of an object, verified.
func (b *batch) content(ctx context.Context, o Pending) ([]byte, error) {
	content, err := o.Content(ctx)
	if err == nil {
		err = b.store.pool.Verify(o.ID, o.Type, content)
	}
	if err == nil {
		b.store.remember(o, content)
	}
	return content, err
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

// loose writes each object as a file of its own.
func (b *batch) loose(ctx context.Context, objects []Pending) error {
	for _, o := range objects {
		content, err := b.content(ctx, o)
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
		if err := b.store.pool.deflate(f, header(o.Type, len(content)), content); err != nil {
			return unavailable(err)
		}
		b.dirs[dir] = true
	}
	return b.publish()
}

// pack writes the objects as one pack.
func (b *batch) pack(ctx context.Context, objects []Pending) error {
	w, err := b.startPack(len(objects))
	if err != nil {
		return err
	}
	defer b.store.pool.release(w.deflater)
	for _, o := range objects {
		content, err := b.content(ctx, o)
		if err != nil {
			return err
		}
		if err := w.add(o.ID, o.Type, content); err != nil {
			return unavailable(err)
		}
	}
	return b.endPack(w)
}

// startPack begins a pack of n objects, which has no name yet; release ends it.
func (b *batch) startPack(n int) (*packWriter, error) {
	f, err := b.create("")
	if err != nil {
		return nil, err
	}
	w, err := newPackWriter(b.store.pool, f, n)
	if err != nil {
		return nil, unavailable(err)
	}
	return w, nil
}

// endPack completes and publishes the pack that the batch began with. Its index
// gets its name last: without it nobody looks at the pack.
func (b *batch) endPack(w *packWriter) error {
	sum, err := w.close()
	if err != nil {
		return unavailable(err)
	}
	base := filepath.Join(b.packs, packName(sum))
	if b.Keep != "" {
		b.keep = base + ".keep"
	}
	b.files[0].name = base + ".pack"
	f, err := b.create(base + ".idx")
	if err != nil {
		return err
	}
	if _, err = f.Write(w.index(sum)); err != nil {
		return unavailable(err)
	}
	b.dirs[b.packs] = true
	return b.publish()
}
