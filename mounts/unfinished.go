package mounts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// unfinished is the age at which a managed repository that has no name yet
// belongs to nobody any more.
const unfinished = 24 * time.Hour

// Unfinished counts the managed repositories that a process began to make, more
// than a day ago, before it died.
func (r *Repos) Unfinished() (int, error) {
	dirs, err := r.unfinished()
	return len(dirs), err
}

// RemoveUnfinished removes them and returns how many those were.
func (r *Repos) RemoveUnfinished() (removed int, err error) {
	dirs, err := r.unfinished()
	for _, dir := range dirs {
		if os.RemoveAll(dir) != nil {
			return removed, workspace.Errorf(workspace.Unavailable, "a managed repository that was not finished cannot be removed").
				Hinted("Give the user that runs Carrel the right to write in the data directory.")
		}
		removed++
	}
	return removed, err
}

func (r *Repos) unfinished() ([]string, error) {
	if r.config.ManagedRoot == "" {
		return nil, nil
	}
	var dirs []string
	err := filepath.WalkDir(r.config.ManagedRoot, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || !e.IsDir():
			return err
		case strings.HasSuffix(path, ".git"):
			return fs.SkipDir
		case !strings.HasPrefix(e.Name(), newPrefix):
			return nil
		}
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > unfinished {
			dirs = append(dirs, path)
		}
		return fs.SkipDir
	})
	if err != nil {
		return nil, workspace.Errorf(workspace.Unavailable, "the managed repositories cannot be listed").
			Hinted("Check that the data directory is readable.")
	}
	return dirs, nil
}
