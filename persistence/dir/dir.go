// Package dir keeps contents as files in a directory, by git blob id: the
// content whose id begins with "ab" is in the file ab/ and the rest of the id.
// The files hold the bytes and nothing else, so that they can be checked with
// git hash-object.
//
// # Decision: a content is checked when it is opened
//
// A content is read once to check it before the first byte is handed out. A
// check along the way would have to take back what a caller has used already,
// and would find nothing in a read of a range. Contents here are megabytes; the
// check costs about a millisecond for each.
package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Store is a directory of contents. All methods are safe for concurrent use, by
// several processes too.
type Store struct{ root string }

var _ workspace.Blobs = (*Store)(nil)

// Open returns the store in a directory, which it makes if need be.
func Open(root string) (*Store, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, disk.Fault("make the directory of contents", err)
	}
	return &Store{root}, nil
}

func (s *Store) path(id workspace.OID) string {
	name := id.String()
	return filepath.Join(s.root, name[:2], name[2:])
}

// Put implements workspace.Blobs: the content is written under a temporary name,
// synced and renamed. One that is there only gets a new time.
func (s *Store) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	f, err := os.CreateTemp(s.root, "put-*")
	if err != nil {
		return workspace.OID{}, disk.Fault("store a content", err)
	}
	defer os.Remove(f.Name()) // does nothing once it is renamed
	id, err := content.Copy(ctx, f, r, size)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return workspace.OID{}, disk.Fault("store a content", err)
	}
	if whole, err := s.renew(id, size); whole || err != nil {
		return id, err
	}
	return id, s.name(f.Name(), s.path(id))
}

// renew sets the time of a content that is there whole, so that garbage
// collection takes it for new.
func (s *Store) renew(id workspace.OID, size int64) (whole bool, err error) {
	stored, err := os.ReadFile(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, disk.Fault("look for a content", err)
	}
	if int64(len(stored)) != size || content.Check(id, stored) != nil {
		return false, nil // a damaged one is replaced
	}
	now := time.Now()
	err = os.Chtimes(s.path(id), now, now)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // collected a moment ago
	}
	return true, disk.Fault("renew a content", err)
}

// name gives a file its name, durably.
func (s *Store) name(from, to string) error {
	dir := filepath.Dir(to)
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		if err := disk.SyncDir(s.root); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return disk.Fault("store a content", err)
	}
	if err := os.Rename(from, to); err != nil {
		return disk.Fault("store a content", err)
	}
	return disk.SyncDir(dir)
}

// Open implements workspace.Blobs.
func (s *Store) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	f, err := os.Open(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, content.Missing(id)
	}
	if err != nil {
		return nil, disk.Fault("open a content", err)
	}
	if err := check(ctx, f, id); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// check reads a file to its end and holds it against its id.
func check(ctx context.Context, f *os.File, id workspace.OID) error {
	info, err := f.Stat()
	if err != nil {
		return disk.Fault("open a content", err)
	}
	got, err := content.Copy(ctx, io.Discard, f, info.Size())
	switch {
	case errors.Is(err, workspace.Invalid) || err == nil && got != id:
		return content.Damaged(id, "its file has %d bytes with another id", info.Size())
	case err != nil:
		return disk.Fault("read a content", err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return disk.Fault("read a content", err)
}

// Has implements workspace.Blobs.
func (s *Store) Has(_ context.Context, id workspace.OID) (bool, error) {
	info, err := os.Stat(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), disk.Fault("look for a content", err)
}
