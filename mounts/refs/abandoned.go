package refs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// RemoveAbandoned removes the locks of a ref, and of any ref below the folder
// keep, that hold exactly id: what a process left that died while it moved them
// there. The caller knows that this process is dead. Any other lock stays.
func (s *Store) RemoveAbandoned(ref, keep string, id workspace.OID) error {
	// Of two processes that both see such a lock, the slower must not remove the
	// next one. They take turns.
	dir, err := os.Open(s.dir)
	if err != nil {
		return unavailable(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return unavailable(err)
	}
	if err := removeIfHolds(filepath.Join(s.dir, ref)+".lock", id); err != nil {
		return err
	}
	root := filepath.Join(s.dir, keep)
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".lock") {
			return nil
		}
		return removeIfHolds(path, id)
	})
}

func removeIfHolds(name string, id workspace.OID) error {
	text, err := os.ReadFile(name)
	if err == nil && string(text) == id.String()+"\n" {
		err = os.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		return unavailable(err)
	}
	return nil
}
