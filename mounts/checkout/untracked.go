package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"carrel.dev/mounts/durable"
	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/ignore"
	"carrel.dev/workspace"
)

// untracked finds the files that the index does not have and no rule ignores.
// Those of .git/info/exclude count here, as they do for git status.
func (c *counter) untracked() error {
	exclude, err := readRules(filepath.Join(c.dir.Common, "info", "exclude"))
	if err != nil {
		return err
	}
	rules, err := readRules(c.disk(".gitignore"))
	if err != nil {
		return err
	}
	return c.walk("", ignore.Top(rules).Under(exclude))
}

// readRules reads ignore rules. As git does, it follows no symlink to them.
func readRules(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, workspace.Errorf(workspace.Unavailable, "the checkout's ignore rules cannot be read: %w", durable.Cause(err))
	}
	return text, nil
}

// walk looks at a directory, in which at decides what is ignored.
func (c *counter) walk(dir string, at *ignore.Dir) error {
	if err := c.alive(); err != nil {
		return err
	}
	entries, err := os.ReadDir(c.disk(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return workspace.Errorf(workspace.Unavailable, "a directory of the checkout cannot be read: %w", durable.Cause(err)).At(dir)
	}
	for _, e := range entries {
		path := e.Name()
		if dir != "" {
			path = dir + "/" + e.Name()
		}
		mode := c.tracked[path]
		switch {
		case e.Name() == ".git" || mode == workspace.ModeSubmodule || mode != 0 && !e.IsDir():
		case at.Ignored(e.Name(), e.IsDir()):
		case e.IsDir():
			if err := c.enter(path, e.Name(), at); err != nil {
				return err
			}
		case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
			c.unknown++
		}
	}
	return nil
}

// enter looks at a directory in the one of at. One that is a repository of its
// own counts as one file.
func (c *counter) enter(path, name string, at *ignore.Dir) error {
	if !c.dirs[path] && isRepository(c.disk(path)) {
		c.unknown++
		return nil
	}
	rules, err := readRules(filepath.Join(c.disk(path), ".gitignore"))
	if err != nil {
		return err
	}
	return c.walk(path, at.Child(name, rules))
}

// isRepository reports whether a directory is a checkout of its own.
func isRepository(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return false
	}
	_, err := gitdir.Open(dir)
	return err == nil
}
