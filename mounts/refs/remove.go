package refs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// Remove removes a ref that points at id, as git does: under its lock, from
// packed-refs first and then its file, with its log. Conflict if it points
// elsewhere; one that is not there is no error. The caller knows that no other
// process of ours moves the ref, so that a lock with its id is one that a dead
// process left.
func (s *Store) Remove(ctx context.Context, ref string, id workspace.OID, wait time.Duration, share func(string) error) error {
	// Of two processes that remove it, the slower must not take the other's lock
	// for abandoned. They take turns.
	dir, err := os.Open(s.dir)
	if err != nil {
		return unavailable(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return unavailable(err)
	}
	if now, err := s.Direct(ref); err != nil || now.IsZero() {
		return err // without a look, its lock would make its folder
	}
	if err := removeIfHolds(filepath.Join(s.dir, ref)+".lock", id); err != nil {
		return err
	}
	l, err := s.Lock(ctx, ref, id, wait, share)
	if err != nil {
		return err
	}
	defer l.Release()
	now, err := l.Current()
	if err != nil || now.IsZero() {
		return err
	}
	if now != id {
		return workspace.Errorf(workspace.Conflict, "%s has moved from %s to %s", ref, id.Short(), now.Short())
	}
	if err := s.unpack(ctx, ref, wait, share); err != nil {
		return err
	}
	os.Remove(filepath.Join(s.dir, "logs", ref))
	if err := os.Remove(l.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	return s.Sync(ref)
}

// unpack takes a ref out of packed-refs. The lock packed-refs.lock exists only
// between two system calls: the new file is made before, from what packed-refs
// held then, and is thrown away if that has changed.
func (s *Store) unpack(ctx context.Context, ref string, wait time.Duration, share func(string) error) error {
	for deadline := time.Now().Add(wait); ; {
		was, err := stat(s.packedPath())
		if err != nil {
			return unavailable(err)
		}
		text, err := os.ReadFile(s.packedPath())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unavailable(err)
		}
		rest, found := without(text, ref)
		if !found {
			return nil
		}
		replaced, err := s.replacePacked(was, rest, share)
		if err != nil || replaced {
			return err
		}
		if time.Now().After(deadline) {
			return busy("packed-refs")
		}
		select {
		case <-ctx.Done():
			return &workspace.Error{Kind: workspace.Canceled, Err: ctx.Err()}
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// replacePacked replaces packed-refs if it still looks as it did and nobody has
// its lock.
func (s *Store) replacePacked(was stamp, text []byte, share func(string) error) (replaced bool, err error) {
	temp := filepath.Join(s.dir, "objects", "tmp_ref_"+rand.Text())
	if err := durable.WriteFile(temp, text, 0o666); err != nil {
		return false, unavailable(err)
	}
	defer os.Remove(temp)
	if err := share(temp); err != nil {
		return false, err
	}
	lock := s.packedPath() + ".lock"
	if err := os.Link(temp, lock); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return false, unavailable(err)
	}
	now, err := stat(s.packedPath())
	if err == nil && now == was {
		err = os.Rename(lock, s.packedPath())
	}
	if err != nil || now != was {
		os.Remove(lock)
	}
	if err != nil {
		return false, unavailable(err)
	}
	if now != was {
		return false, nil
	}
	if err := durable.Sync(s.dir); err != nil {
		return false, unavailable(err)
	}
	return true, nil
}

// without is the text of a packed-refs file without a ref, and without the line
// after it that says what a tag stands for.
func without(text []byte, ref string) (rest []byte, found bool) {
	removed := false
	for line := range bytes.Lines(text) {
		_, name, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		switch {
		case removed && line[0] == '^':
		case line[0] != '#' && string(name) == ref:
			removed, found = true, true
			continue
		default:
			rest = append(rest, line...)
		}
		removed = false
	}
	return rest, found
}
