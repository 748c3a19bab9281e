package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// TestReached asks git which branches and tags have each commit.
func TestReached(t *testing.T) {
	git := gittest.Init(t)
	first := git.Commit("first")
	git.Git("checkout", "-q", "-b", "side")
	side := git.Commit("on a branch")
	git.Git("checkout", "-q", "--detach")
	tagged := git.Commit("with a tag only")
	git.Git("tag", "light")
	kept := git.Commit("with a ref of ours only")
	git.Git("update-ref", "refs/carrel/x/a", kept)
	remote := git.Commit("with a remote-tracking branch only")
	git.Git("update-ref", "refs/remotes/origin/b", remote)
	git.Git("tag", "odd", "HEAD^{tree}") // no commit
	git.Git("checkout", "-q", "main")
	r := New(nil)
	for commit, want := range map[string]bool{
		first: true, side: true, tagged: true, remote: true, kept: true, // below remote
		strings.Repeat("ab", 20): false,
	} {
		got, err := r.Reached(ctx, inPlace(git.Dir), oid(t, commit))
		if got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", commit[:10], got, err, want)
		}
	}
	git.Git("update-ref", "-d", "refs/remotes/origin/b")
	if got, err := New(nil).Reached(ctx, inPlace(git.Dir), oid(t, kept)); got || err != nil {
		t.Errorf("a commit that only we hold: got %v, %v", got, err)
	}
	if err := r.RemoveRef(ctx, inPlace(git.Dir), "refs/heads/side", oid(t, side)); !errors.Is(err, workspace.Invalid) {
		t.Errorf("remove a branch: got %v", err)
	}
	if err := r.RemoveRef(ctx, inPlace(git.Dir), "refs/carrel/x/a", oid(t, kept)); err != nil {
		t.Error(err)
	}
	if refs, err := r.Refs(ctx, inPlace(git.Dir), "refs/carrel"); len(refs) != 0 || err != nil {
		t.Errorf("refs: got %v, %v", refs, err)
	}
}

func TestUnfinished(t *testing.T) {
	root := t.TempDir()
	r := New(&Config{ManagedRoot: root})
	if _, err := r.Create(ctx, "group/whole"); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{
		".new-old": 48 * time.Hour, "group/.new-old": 48 * time.Hour, "group/.new-young": 0, "group/whole.git/.new-old": 48 * time.Hour,
	} {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Join(dir, "refs"), 0o777); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := r.Unfinished(); n != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", n, err)
	}
	if n, err := r.RemoveUnfinished(); n != 2 || err != nil {
		t.Errorf("removed %d, %v, want 2", n, err)
	}
	for name, want := range map[string]bool{".new-old": false, "group/.new-old": false, "group/.new-young": true, "group/whole.git/.new-old": true, "group/whole.git/HEAD": true} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	if n, err := New(nil).Unfinished(); n != 0 || err != nil {
		t.Errorf("without managed repositories: %d, %v", n, err)
	}
}
