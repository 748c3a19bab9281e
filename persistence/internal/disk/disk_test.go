package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel.dev/workspace"
)

func TestFault(t *testing.T) {
	const path = "/home/ann/secret"
	for _, test := range []struct {
		err  error
		is   error
		hint string
	}{
		{&fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}, syscall.ENOSPC, "is full"},
		{&os.LinkError{Op: "rename", Old: path, New: path, Err: syscall.EDQUOT}, syscall.EDQUOT, "is full"},
		{&fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}, fs.ErrPermission, "right to write"},
		{&fs.PathError{Op: "open", Path: path, Err: syscall.EROFS}, syscall.EROFS, "right to write"},
		{&fs.PathError{Op: "open", Path: path, Err: syscall.EMFILE}, syscall.EMFILE, "open files"},
		{&fs.PathError{Op: "write", Path: path, Err: os.ErrClosed}, fs.ErrClosed, "Look at the disk"},
		{&fs.PathError{Op: "write", Path: path, Err: errors.New(path)}, nil, "Look at the disk"},
	} {
		got := Fault("store content", test.err)
		if workspace.KindOf(got) != workspace.Unavailable || !strings.Contains(workspace.HintOf(got), test.hint) {
			t.Errorf("%v: got %v with hint %q", test.err, got, workspace.HintOf(got))
		}
		if strings.Contains(got.Error(), path) || !strings.HasPrefix(got.Error(), "store content: ") {
			t.Errorf("%v: got %q", test.err, got)
		}
		if test.is != nil && !errors.Is(got, test.is) {
			t.Errorf("%v: got %v, want it to be %v", test.err, got, test.is)
		}
	}
	if Fault("x", nil) != nil {
		t.Error("no error became one")
	}
	known := workspace.Errorf(workspace.Corrupt, "known")
	if Fault("x", known) != error(known) {
		t.Error("an error that was classified was classified again")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path); workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("lock what is locked: got error %v, want one of kind canceled", err)
	}
	done := make(chan error)
	go func() {
		second, err := Lock(t.Context(), path)
		if err == nil {
			second.Close()
		}
		done <- err
	}()
	first.Close()
	if err := <-done; err != nil {
		t.Errorf("lock what was released: %v", err)
	}
}

func TestProbe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	files := make([]*os.File, 3)
	for i := range files {
		var err error
		if files[i], err = OpenLock(path); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	owner, one, two := files[0], files[1], files[2]
	probe := func(f *os.File, want bool) {
		t.Helper()
		if held, err := Probe(f); held != want || err != nil {
			t.Errorf("got held %v, %v, want %v", held, err, want)
		}
	}
	if held, err := TryLock(owner); !held || err != nil {
		t.Fatal(held, err)
	}
	probe(one, true)
	if held, err := TryLock(two); held || err != nil {
		t.Errorf("lock what is locked: got %v, %v", held, err)
	}
	if err := Unlock(owner); err != nil {
		t.Fatal(err)
	}
	probe(one, false)
	probe(two, false) // though the other one probes
}

func TestCheckLocal(t *testing.T) {
	if err := CheckLocal(t.TempDir()); err != nil {
		t.Errorf("a directory for tests: %v", err)
	}
	if err := CheckLocal(filepath.Join(t.TempDir(), "absent")); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("a directory that is not there: got error %v", err)
	}
}
