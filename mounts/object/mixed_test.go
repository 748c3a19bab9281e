package object

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// An object that is sound in itself, and stands where another one should, is not
// handed out for that one: only its id tells.
func TestObjectInTheWrongPlace(t *testing.T) {
	git := gittest.Init(t)
	git.Write("a", "one\n")
	git.Write("b", "two\n")
	git.Commit("both")
	file := func(hex string) string { return filepath.Join(git.Dir, ".git", "objects", hex[:2], hex[2:]) }
	one, two := git.Git("rev-parse", "HEAD:a"), git.Git("rev-parse", "HEAD:b")
	other, err := os.ReadFile(file(two))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file(one)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(one), other, 0o444); err != nil {
		t.Fatal(err)
	}
	s := open(git)
	for hex, want := range map[string]error{one: workspace.Corrupt, two: nil} {
		id, err := workspace.ParseOID(hex)
		if err != nil {
			t.Fatal(err)
		}
		if _, content, err := s.Read(id); !errors.Is(err, want) {
			t.Errorf("%s: got %q, %v, want %v", hex, content, err, want)
		}
	}
}
