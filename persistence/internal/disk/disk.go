package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"carrel.dev/workspace"
)

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return Fault("open a directory", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return Fault("sync a directory", err)
	}
	return nil
}

// Fault classifies what the file system reported while doing something. The
// message keeps the system's reason and drops the path, since a client may see
// it. Everything is Unavailable: the content may be fine and the disk is not.
func Fault(doing string, err error) error {
	var known *workspace.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return workspace.Errorf(workspace.Unavailable, "%s: %w", doing, reason(err)).Hinted("%s", hint(err))
}

// reason is err without the path that it names.
func reason(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrClosed} {
		if errors.Is(err, known) {
			return known
		}
	}
	return fmt.Errorf("the file system failed (%T)", err)
}

// FullHint is what to do when the disk is full.
const FullHint = "The disk that holds the data directory is full. Free some space, then repeat the call; nothing of it was stored."

func hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return FullHint
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "Give the user that runs Carrel the right to write in the data directory."
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "Too many files are open. Raise the limit of open files, then repeat the call."
	}
	return "Look at the disk that holds the data directory, then repeat the call."
}
