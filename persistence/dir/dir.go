// Package dir keeps larger contents as files of a directory, by git blob id.
//
// A content with the id abcdef… is the file ab/cdef…, and the file holds the
// bytes whose SHA-1 is the id: the header "blob SIZE" and a NUL, as git has it
// (gitformat-loose, uncompressed), then the content. So `sha1sum` checks a file
// by its name alone, and one that was cut is seen from its header.
//
// A file gets its name when it is whole and durable: it is written below tmp,
// synced, renamed, and the directory synced. Files are never written again. The
// time of modification is when a content was last put.
//
// # Decision: a content is checked whenever it is opened
//
// Open reads the whole file and holds it against its id before anybody sees a
// byte, at about 1 ms for each MiB. Checking along with the reader would save the
// second pass over the page cache, a tenth of that, and would hand out bytes
// before they are known to be right: a reader of a file's head or of a range
// would never come to the end where the hash is complete.
package dir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Blobs is a directory of contents. All methods are safe for concurrent use, in
// one process and between processes.
type Blobs struct {
	root string
	// synced tells of each of the 256 directories that its name is durable, and
	// that of root too.
	synced [256]atomic.Bool
}

var (
	_ workspace.Blobs     = (*Blobs)(nil)
	_ workspace.Inventory = (*Blobs)(nil)
)

// abandoned is the age at which a file below tmp belongs to nobody any more.
const abandoned = 24 * time.Hour

// Open opens a directory, and makes it if need be. It removes what processes
// that died left below tmp more than a day ago.
func Open(root string) (*Blobs, error) {
	b, err := OpenAsIs(root)
	if err == nil {
		_, err = b.Clean()
	}
	return b, err
}

// OpenAsIs is Open that removes nothing.
func OpenAsIs(root string) (*Blobs, error) {
	b := &Blobs{root: root}
	if err := os.MkdirAll(b.tmp(), 0o700); err != nil {
		return nil, disk.Fault("make the directory of contents", err)
	}
	return b, nil // names are made durable with what is stored under them
}

func (b *Blobs) tmp() string { return filepath.Join(b.root, "tmp") }

// Abandoned lists the files below tmp that have belonged to nobody for a day, by
// their names.
func (b *Blobs) Abandoned() ([]string, error) {
	entries, err := os.ReadDir(b.tmp())
	if err != nil {
		return nil, disk.Fault("look for abandoned contents", err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // it got its name
		case err != nil:
			return nil, disk.Fault("look for abandoned contents", err)
		case time.Since(info.ModTime()) > abandoned:
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Clean removes the abandoned files and returns how many those were.
func (b *Blobs) Clean() (removed int, err error) {
	names, err := b.Abandoned()
	for _, name := range names {
		err := os.Remove(filepath.Join(b.tmp(), name))
		switch {
		case err == nil:
			removed++
		case !errors.Is(err, fs.ErrNotExist): // another process cleans too
			return removed, disk.Fault("remove an abandoned content", err)
		}
	}
	return removed, err
}

// fan is the directory of an id, path its file.
func (b *Blobs) fan(id workspace.OID) string { return filepath.Join(b.root, id.String()[:2]) }

func (b *Blobs) path(id workspace.OID) string { return filepath.Join(b.fan(id), id.String()[2:]) }

// Put implements workspace.Blobs. A content that is there is checked, and
// replaced if it is damaged.
func (b *Blobs) Put(ctx context.Context, r io.Reader, size int64) (id workspace.OID, err error) {
	f, err := os.CreateTemp(b.tmp(), "put-")
	if err != nil {
		return id, disk.Fault("store content", err)
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	w := file{f}
	if _, err := w.Write(content.Header(size)); err != nil {
		return id, err
	}
	if id, err = content.Copy(ctx, w, r, size); err != nil {
		return id, err
	}
	renewed, err := b.renew(ctx, id)
	if err != nil {
		return id, err
	}
	if renewed {
		return id, disk.Fault("store content", os.Remove(f.Name()))
	}
	if err := b.place(f, id); err != nil {
		return workspace.OID{}, err
	}
	return id, nil
}

// file gives the errors of writing a file their kind, so that they are told
// from those of reading the content.
type file struct{ *os.File }

func (f file) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, disk.Fault("store content", err)
}

// renew marks a content as put now and reports whether it is there and sound.
func (b *Blobs) renew(ctx context.Context, id workspace.OID) (bool, error) {
	r, err := b.Open(ctx, id)
	if err != nil {
		if workspace.KindOf(err) == workspace.Corrupt {
			return false, nil
		}
		return false, err
	}
	r.Close()
	now := time.Now()
	if err := os.Chtimes(b.path(id), now, now); errors.Is(err, fs.ErrNotExist) {
		return false, nil // collected in between
	} else if err != nil {
		return false, disk.Fault("store content", err)
	}
	// Whoever stored it may not have come to this yet.
	return true, b.sync(id)
}

// place gives a file that is written its name.
func (b *Blobs) place(f *os.File, id workspace.OID) error {
	err := f.Sync()
	if err == nil {
		err = os.Mkdir(b.fan(id), 0o700)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = os.Rename(f.Name(), b.path(id))
	}
	if err != nil {
		return disk.Fault("store content", err)
	}
	return b.sync(id)
}

// sync makes the names of a content and of its directory durable.
func (b *Blobs) sync(id workspace.OID) error {
	if err := disk.SyncDir(b.fan(id)); err != nil {
		return err
	}
	if synced := &b.synced[id[0]]; !synced.Load() {
		if err := errors.Join(disk.SyncDir(b.root), disk.SyncDir(filepath.Dir(b.root))); err != nil {
			return err
		}
		synced.Store(true)
	}
	return nil
}
