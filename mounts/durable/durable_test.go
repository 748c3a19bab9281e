package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMkdirAll(t *testing.T) {
	root := t.TempDir()
	var made []string
	note := func(dir string) error {
		rel, _ := filepath.Rel(root, dir)
		made = append(made, rel)
		return nil
	}
	for range 2 {
		if err := MkdirAll(filepath.Join(root, "a", "b", "c"), 0o777, note); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"a", "a/b", "a/b/c"}, made); diff != "" {
		t.Errorf("made: (-want +got)\n%s", diff)
	}
	file := filepath.Join(root, "file")
	if err := WriteFile(file, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(file, 0o777, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: got %v", err)
	}
	if err := MkdirAll(filepath.Join(file, "a", "b"), 0o777, nil); err == nil {
		t.Error("below a file: no error")
	}
	wrong := errors.New("wrong")
	if err := MkdirAll(filepath.Join(root, "d"), 0o777, func(string) error { return wrong }); err != wrong {
		t.Errorf("error of made: got %v", err)
	}
}

func TestWriteFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := WriteFile(name, []byte("content"), 0o444); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "content" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := WriteFile(name, nil, 0o444); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: got %v", err)
	}
	if err := Sync(filepath.Dir(name)); err != nil {
		t.Errorf("Sync of a directory: %v", err)
	}
	if err := Sync(name + "-gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Sync of nothing: got %v", err)
	}
}
