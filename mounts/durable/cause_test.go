package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRenameInto: git removes the directories of loose objects while they are
// empty, also between their making and the rename.
func TestRenameInto(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "ab", "cd")
	if err := os.WriteFile(from, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := 0
	err := RenameInto(from, to, 0o777, func(string) error {
		if made++; made < 3 {
			return os.Remove(filepath.Dir(to)) // somebody else's garbage collection
		}
		return nil
	})
	if err != nil || made != 3 {
		t.Errorf("renamed with %v after the directory was made %d times", err, made)
	}
	if b, err := os.ReadFile(to); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
	if err := RenameInto(from, to, 0o777, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestCauseHidesPaths(t *testing.T) {
	dir := t.TempDir()
	_, open := os.Open(filepath.Join(dir, "none"))
	rename := os.Rename(filepath.Join(dir, "none"), filepath.Join(dir, "other"))
	link := os.Link(filepath.Join(dir, "none"), filepath.Join(dir, "other"))
	for _, err := range []error{open, rename, link} {
		got := Cause(err)
		if strings.Contains(got.Error(), dir) || !errors.Is(got, fs.ErrNotExist) {
			t.Errorf("got %v", got)
		}
	}
}

func TestHint(t *testing.T) {
	for want, err := range map[string]error{
		"is full":         &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC},
		"the right to":    &os.LinkError{Op: "link", Old: "/x", New: "/y", Err: syscall.EROFS},
		"is where it was": &fs.PathError{Op: "open", Path: "/x", Err: syscall.EIO},
	} {
		if got := Hint(err); !strings.Contains(got, want) || strings.Contains(got, "/x") {
			t.Errorf("%v: got %q, want %q in it", err, got, want)
		}
	}
}
