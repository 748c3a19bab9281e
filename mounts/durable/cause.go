package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Cause is why a call of the file system failed, without the paths of the host,
// which no client is to see.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// Hint is what to do about a repository for which a call of the file system
// failed.
func Hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "The disk that holds the repository is full. Free some space, then repeat the call."
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "Give the user that runs Carrel the right to read and write in the repository's git directory."
	}
	return "Check that the repository is where it was and that this process may read and write it."
}

// RenameInto is os.Rename into a directory that somebody may remove while it is
// empty, as git's garbage collection does: then it is made again.
func RenameInto(from, to string, perm fs.FileMode, made func(dir string) error) error {
	const tries = 10
	for try := 1; ; try++ {
		err := os.Rename(from, to)
		if !errors.Is(err, fs.ErrNotExist) || try == tries {
			return err
		}
		if _, gone := os.Lstat(from); gone != nil {
			return err
		}
		if err := MkdirAll(filepath.Dir(to), perm, made); err != nil {
			return err
		}
	}
}
