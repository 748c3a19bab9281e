package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"
)

// FS returns the snapshot's files at and below a directory as a file system, so
// that whatever reads an fs.FS works on a workspace. Symlinks are shown and never
// followed. Reads use ctx.
func (s *Snapshot) FS(ctx context.Context, top Path) fs.FS { return fsys{s, ctx, top} }

// fsys is the one place where a context is kept: fs.FS has no room for it.
type fsys struct {
	snap *Snapshot
	ctx  context.Context
	top  Path
}

var (
	_ fs.ReadDirFS  = fsys{}
	_ fs.ReadFileFS = fsys{}
	_ fs.ReadLinkFS = fsys{}
	_ fs.StatFS     = fsys{}
)

// find looks up a name as io/fs spells it.
func (f fsys) find(op, name string) (Found, error) {
	if !fs.ValidPath(name) {
		return Found{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		name = ""
	}
	found, err := f.snap.Lookup(f.ctx, f.top.Join(name))
	return found, pathError(op, name, err)
}

// pathError is err as io/fs reports it: the sentinel, if there is one.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	for _, sentinel := range []error{fs.ErrNotExist, fs.ErrInvalid, fs.ErrPermission} {
		if errors.Is(err, sentinel) {
			err = sentinel
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (f fsys) info(found Found) (fs.FileInfo, error) {
	size, err := f.snap.Size(f.ctx, found)
	name := found.Path.Base()
	if found.Path == f.top {
		name = "."
	}
	return fileInfo{found, name, size}, err
}

// Open opens a file or directory. A symlink opens as its target's text.
func (f fsys) Open(name string) (fs.File, error) {
	found, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	info, err := f.info(found)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	if found.Kind == Dir || found.Kind == Submodule {
		entries, err := f.ReadDir(name)
		return &openDir{info: info, name: name, rest: entries}, err
	}
	b, err := f.snap.Content(f.ctx, found)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &openFile{bytes.NewReader(b), info}, nil
}

// ReadFile returns a file's content, which the caller may modify.
func (f fsys) ReadFile(name string) ([]byte, error) {
	found, err := f.find("readfile", name)
	if err != nil {
		return nil, err
	}
	b, err := f.snap.Content(f.ctx, found)
	return bytes.Clone(b), pathError("readfile", name, err)
}

// ReadLink returns a link's target.
func (f fsys) ReadLink(name string) (string, error) {
	found, err := f.find("readlink", name)
	if err != nil {
		return "", err
	}
	if found.Kind != Symlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	b, err := f.snap.Content(f.ctx, found)
	return string(b), pathError("readlink", name, err)
}

// Stat describes what is at a name; a symlink as itself.
func (f fsys) Stat(name string) (fs.FileInfo, error) {
	found, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := f.info(found)
	return info, pathError("stat", name, err)
}

// Lstat is Stat.
func (f fsys) Lstat(name string) (fs.FileInfo, error) { return f.Stat(name) }

// ReadDir lists a directory.
func (f fsys) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := f.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if found.Kind == Submodule {
		return nil, nil // its files are in a repository of their own
	}
	children, err := f.snap.ReadDir(f.ctx, found.Path)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	entries := make([]fs.DirEntry, len(children))
	for i, c := range children {
		info, err := f.info(c)
		if err != nil {
			return nil, pathError("readdir", path.Join(name, c.Path.Base()), err)
		}
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, nil
}

// fileInfo describes a node for io/fs.
type fileInfo struct {
	found Found
	name  string
	size  int64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) ModTime() time.Time { return i.found.Modified }
func (i fileInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i fileInfo) Sys() any           { return i.found }

// Mode maps git's modes: what git does not keep is readable by everybody.
func (i fileInfo) Mode() fs.FileMode {
	switch {
	case i.found.Kind == Dir, i.found.Kind == Submodule:
		return fs.ModeDir | 0o555
	case i.found.Kind == Symlink:
		return fs.ModeSymlink | 0o777
	case i.found.Mode == ModeExecutable:
		return 0o755
	}
	return 0o644
}

// openFile is a file's content in memory.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openFile) Close() error               { return nil }

// openDir hands out a directory's entries.
type openDir struct {
	info fs.FileInfo
	name string
	rest []fs.DirEntry
}

func (o *openDir) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openDir) Close() error               { return nil }

func (o *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.name, Err: IsDir}
}

// ReadDir returns the next n entries, or all that are left.
func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(o.rest) {
		if n > 0 && len(o.rest) == 0 {
			return nil, io.EOF
		}
		n = len(o.rest)
	}
	next := o.rest[:n]
	o.rest = o.rest[n:]
	return next, nil
}
