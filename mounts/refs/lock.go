package refs

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// Lock is <ref>.lock, held by this process, with the id that the ref is to have.
type Lock struct {
	store *Store
	ref   string
	id    workspace.OID
	share func(path string) error
	done  bool
}

// Lock takes the lock of a ref that is to move to id, waiting at most wait for
// somebody else's. share is called with each file and directory that is made.
// It fails with Unavailable if the lock stays taken, with Conflict if the name
// cannot stand beside another ref's, and with Canceled if ctx ends.
func (s *Store) Lock(ctx context.Context, ref string, id workspace.OID, wait time.Duration, share func(string) error) (*Lock, error) {
	if err := Check(ref); err != nil {
		return nil, err
	}
	l := &Lock{store: s, ref: ref, id: id, share: share}
	deadline := time.Now().Add(wait)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := l.try()
		switch {
		case err == nil:
			return l, nil
		case errors.Is(err, fs.ErrNotExist):
			// Git removed an empty directory, or the file to link, meanwhile.
		case errors.Is(err, unix.ENOTDIR):
			return nil, s.clash(ref)
		case !errors.Is(err, fs.ErrExist):
			return nil, unavailable(err)
		}
		if time.Now().After(deadline) {
			if !errors.Is(err, fs.ErrExist) {
				return nil, unavailable(err)
			}
			return nil, busy(ref)
		}
		select {
		case <-ctx.Done():
			return nil, &workspace.Error{Kind: workspace.Canceled, Err: ctx.Err()}
		case <-time.After(pause/2 + mathrand.N(pause)):
		}
	}
}

func busy(ref string) error {
	return workspace.Errorf(workspace.Unavailable, "somebody else holds the lock of %s", ref).
		Hinted("A git process is changing it: try again. If no git process runs there, one has died: remove %s.lock in the repository's git directory.", ref)
}

func (l *Lock) path() string     { return filepath.Join(l.store.dir, l.ref) }
func (l *Lock) lockPath() string { return l.path() + ".lock" }

// try makes the lock: fs.ErrExist if it is taken, fs.ErrNotExist if something
// was cleared away meanwhile.
func (l *Lock) try() error {
	if _, err := os.Lstat(l.lockPath()); err == nil {
		return fs.ErrExist // spares making a file to link
	}
	if err := durable.MkdirAll(filepath.Dir(l.path()), 0o777, l.share); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return unix.ENOTDIR // a ref stands where a directory is needed
		}
		return err
	}
	content := []byte(l.id.String() + "\n")
	temp := filepath.Join(l.store.dir, "objects", "tmp_ref_"+rand.Text())
	if err := durable.WriteFile(temp, content, 0o666); err != nil {
		return err
	}
	defer os.Remove(temp)
	if err := l.share(temp); err != nil {
		return err
	}
	err := os.Link(temp, l.lockPath())
	for _, no := range []error{unix.EXDEV, unix.EPERM, unix.EOPNOTSUPP, unix.EMLINK} {
		if errors.Is(err, no) {
			return l.create(content)
		}
	}
	return err
}

// create makes the lock where files cannot be linked.
func (l *Lock) create(content []byte) error {
	if err := durable.WriteFile(l.lockPath(), content, 0o666); err != nil {
		return err
	}
	return l.share(l.lockPath())
}

// Current is Direct from the files themselves, as they are under the lock.
func (l *Lock) Current() (workspace.OID, error) {
	v, err := readLoose(l.path(), l.ref)
	if errors.Is(err, fs.ErrNotExist) {
		v, err = l.store.readPacked(l.ref, time.Now())
	}
	return direct(l.ref, v, err)
}

// Free reports, as Conflict, a ref whose name would be a directory of this one's
// or the other way around. It matters when the ref does not exist yet.
func (l *Lock) Free() error {
	p, err := l.store.packedRefs()
	if err != nil {
		return err
	}
	if other, ok := p.clash(l.ref); ok {
		return clash(l.ref, other)
	}
	if below := firstBelow(l.path()); below != "" {
		return clash(l.ref, l.ref+"/"+below)
	}
	return nil
}

// firstBelow returns a file below a directory, "" if there is none.
func firstBelow(dir string) (found string) {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && path != dir {
			found, _ = filepath.Rel(dir, path)
			return fs.SkipAll
		}
		return nil
	})
	return filepath.ToSlash(found)
}

// clash says why a ref cannot be made, once making its directory has failed.
func (s *Store) clash(ref string) error {
	for dir := filepath.Dir(ref); dir != "refs" && dir != "."; dir = filepath.Dir(dir) {
		if _, err := s.Read(dir); err == nil {
			return clash(ref, dir)
		}
	}
	return clash(ref, "a ref that is a part of its name")
}

func clash(ref, other string) error {
	return workspace.Errorf(workspace.Conflict, "%s cannot be made: %s exists", ref, other).
		Hinted("Git cannot have both, since one would be a directory of the other. Choose another branch, or rename that one.")
}

// Commit moves the ref to the lock's id, durably, and ends the lock. moved is
// called between the rename and the sync. On an error the lock is still held,
// unless moved was called.
func (l *Lock) Commit(moved func() error) error {
	err := os.Rename(l.lockPath(), l.path())
	if errors.Is(err, unix.EISDIR) || errors.Is(err, fs.ErrExist) {
		removeEmpty(l.path()) // what deleted refs have left, as git does
		err = os.Rename(l.lockPath(), l.path())
	}
	if err != nil {
		return unavailable(err)
	}
	l.done = true
	if err := moved(); err != nil {
		return err
	}
	return l.store.Sync(l.ref)
}

// removeEmpty removes a directory that has nothing but empty directories.
func removeEmpty(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeEmpty(filepath.Join(dir, e.Name()))
		}
	}
	os.Remove(dir)
}

// Release removes the lock, if it is still held. The ref has not moved then.
func (l *Lock) Release() {
	if !l.done {
		l.done = true
		os.Remove(l.lockPath())
	}
}

// Sync makes the last move of a ref durable, whoever made it.
func (s *Store) Sync(ref string) error {
	err := durable.Sync(filepath.Dir(filepath.Join(s.dir, ref)))
	if errors.Is(err, fs.ErrNotExist) { // packed meanwhile, which git made durable
		return nil
	}
	if err != nil {
		// Not Unavailable, which would say that the ref has not moved.
		return workspace.Errorf(workspace.Internal, "the move of %s cannot be made durable: %w", ref, err)
	}
	return nil
}
