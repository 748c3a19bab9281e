package checkout

import (
	"errors"
	"io/fs"
	"os"

	"carrel.dev/mounts/durable"
	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/refs"
	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// modified compares the files on disk with the index.
func (c *counter) modified() error {
	for i := range c.entries {
		e := &c.entries[i]
		if err := c.alive(); err != nil {
			return err
		}
		if c.changed[e.path] || e.assumed || e.skipped || e.stage != 0 {
			continue
		}
		differs, err := c.differs(e)
		if err != nil {
			return workspace.Errorf(workspace.Unavailable, "a file of the checkout cannot be read: %w", durable.Cause(err)).At(e.path)
		}
		if differs || e.intention {
			c.changed[e.path] = true
		}
	}
	return nil
}

// differs reports whether a file on disk is not what the index says.
func (c *counter) differs(e *entry) (bool, error) {
	name := c.disk(e.path)
	var st unix.Stat_t
	err := unix.Lstat(name, &st)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if e.mode == workspace.ModeSubmodule {
		return c.submoduleDiffers(name, e.id), nil
	}
	if c.modeDiffers(e.mode, &st) {
		return true, nil
	}
	if e.sameStat(&st) && !c.racy(e) {
		return false, nil
	}
	var content []byte
	if e.mode == workspace.ModeSymlink {
		var target string
		target, err = os.Readlink(name)
		content = []byte(target)
	} else {
		content, err = os.ReadFile(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	id, err := workspace.BlobID(content)
	return err != nil || id != e.id, nil
}

// modeDiffers compares the kind of file, and whether it is executable if the
// repository says that the file system knows.
func (c *counter) modeDiffers(mode workspace.Mode, st *unix.Stat_t) bool {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return mode != workspace.ModeSymlink
	case unix.S_IFREG:
		executable := st.Mode&0o100 != 0
		return mode == workspace.ModeSymlink ||
			!c.dir.Config.NoFileMode && executable != (mode == workspace.ModeExecutable)
	}
	return true
}

// sameStat reports whether a file looks as when git last looked.
func (e *entry) sameStat(st *unix.Stat_t) bool {
	return e.mtime == uint32(st.Mtim.Sec) && e.mtimeNano == uint32(st.Mtim.Nsec) &&
		e.ctime == uint32(st.Ctim.Sec) && e.ctimeNano == uint32(st.Ctim.Nsec) &&
		e.ino == uint32(st.Ino) && e.uid == st.Uid && e.gid == st.Gid && e.size == uint32(st.Size)
}

// racy reports whether a file may have changed after git looked at it without
// looking different: it is not older than the index.
func (c *counter) racy(e *entry) bool {
	at := c.written.ModTime()
	if int64(e.mtime) != at.Unix() {
		return int64(e.mtime) > at.Unix()
	}
	return int(e.mtimeNano) >= at.Nanosecond()
}

// submoduleDiffers reports whether another commit is checked out. A submodule
// that is not checked out does not differ.
func (c *counter) submoduleDiffers(name string, want workspace.OID) bool {
	d, err := gitdir.Open(name)
	if err != nil {
		return false
	}
	head, err := Head(d, refs.Open(d.Common))
	return err == nil && head != want
}

// Head returns the commit that is checked out in a git directory, the zero id
// for an unborn branch.
func Head(d *gitdir.Dir, r *refs.Store) (workspace.OID, error) {
	target, err := gitdir.Head(d.Git)
	if err != nil {
		return workspace.OID{}, err
	}
	if target == "" {
		return gitdir.Detached(d.Git)
	}
	id, _, err := r.Resolve(target)
	if errors.Is(err, workspace.NotExist) {
		return workspace.OID{}, nil
	}
	return id, err
}
