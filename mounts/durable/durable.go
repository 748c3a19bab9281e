// Package durable writes small files and directories so that they survive a
// crash of the machine: content first, then the name that shows it.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Sync makes the content of a file durable, or the names in a directory.
func Sync(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// WriteFile creates a file that must not exist yet, with its content durable.
// Its name is durable after Sync of its directory. On an error nothing is
// left behind.
func WriteFile(name string, content []byte, perm fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}

// MkdirAll makes a directory with its parents like os.MkdirAll, the names that
// it makes durable. made, if not nil, is called with each directory that is new.
func MkdirAll(dir string, perm fs.FileMode, made func(dir string) error) error {
	err := os.Mkdir(dir, perm)
	if errors.Is(err, fs.ErrNotExist) {
		if err = MkdirAll(filepath.Dir(dir), perm, made); err != nil {
			return err
		}
		err = os.Mkdir(dir, perm)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, e := os.Stat(dir); e == nil && info.IsDir() {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	if made != nil {
		if err := made(dir); err != nil {
			return err
		}
	}
	return Sync(filepath.Dir(dir))
}
