package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

func TestInspect(t *testing.T) {
	git := gittest.Init(t)
	git.Write("f", "f")
	git.Commit("f")
	git.Git("branch", "topic")
	base := filepath.Dir(git.Dir)
	path := func(name string) string { return filepath.Join(base, name) }
	git.Git("clone", "-q", "--bare", git.Dir, path("bare.git"))
	git.Git("clone", "-q", "--bare", git.Dir, path("gated"))
	git.At(path("gated")).Write("hooks/pre-receive", "#!/bin/sh\n")
	os.Chmod(path("gated/hooks/pre-receive"), 0o755)
	git.Git("clone", "-q", "--bare", git.Dir, path("ungated"))
	git.At(path("ungated")).Write("hooks/update", "not executable\n")
	git.Git("worktree", "add", "-q", "-b", "linked-branch", path("linked"))
	git.Git("clone", "-q", git.Dir, path("detached"))
	git.At(path("detached")).Git("checkout", "-q", "--detach")
	git.Git("-c", "init.defaultBranch=trunk", "init", "-q", path("unborn"))
	if err := os.Symlink(git.Dir, path("by-link")); err != nil {
		t.Fatal(err)
	}

	source := func(name string) workspace.Source { return inPlace(path(name)) }
	tests := []struct {
		path, branch string
		want         Found
	}{
		{"repo", "", Found{source("repo"), Checkout, "main", "branch", "repo"}},
		{"repo/.git", "", Found{source("repo"), Checkout, "main", "branch", "repo"}},
		{"by-link", "", Found{source("repo"), Checkout, "main", "branch", "repo"}},
		{"repo", "topic", Found{source("repo"), Checkout, "topic", "branch", "repo"}},
		{"bare.git", "", Found{source("bare.git"), Bare, "main", "commit-to-main", "bare"}},
		{"gated", "", Found{source("gated"), Bare, "main", "branch", "gated"}},
		{"ungated", "", Found{source("ungated"), Bare, "main", "commit-to-main", "ungated"}},
		{"linked", "", Found{source("linked"), Linked, "linked-branch", "branch", "linked"}},
		{"detached", "main", Found{source("detached"), Checkout, "main", "branch", "detached"}},
		{"unborn", "", Found{source("unborn"), Checkout, "trunk", "branch", "unborn"}},
	}
	for _, tt := range tests {
		got, err := Inspect(path(tt.path), tt.branch)
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.path, diff)
		}
	}
	refused := []struct {
		path, branch string
		kind         workspace.Kind
		hint         string
	}{
		{"detached", "", workspace.Invalid, "NAME=PATH#BRANCH"},
		{"repo", "nowhere", workspace.NotExist, "git branch"},
		{"repo", "a..b", workspace.Invalid, "check-ref-format"},
		{"nowhere", "", workspace.NotExist, "where it was"},
		{".", "", workspace.Invalid, "git init"},
	}
	for _, tt := range refused {
		_, err := Inspect(path(tt.path), tt.branch)
		if workspace.KindOf(err) != tt.kind || !strings.Contains(workspace.HintOf(err), tt.hint) {
			t.Errorf("%s#%s: got %v (hint %q), want %v with %q", tt.path, tt.branch, err, workspace.HintOf(err), tt.kind, tt.hint)
		}
	}
	git.Write("some/dir/x", "")
	if got, err := Discover(path("repo/some/dir")); err != nil || got.Source != source("repo") {
		t.Errorf("Discover: got %+v, %v", got, err)
	}
	if _, err := Discover(base); !errors.Is(err, workspace.Invalid) {
		t.Errorf("Discover outside: got %v", err)
	}
}

func TestManagedNames(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "there", "yet")
	r := New(&Config{ManagedRoot: root})
	for _, name := range []string{"", ".", "..", "../a", "/a", "a/../b", "a//b", ".a", "a/.b", "a.git", "a b", "a\x00", `a\b`, "c:d", strings.Repeat("a", 300)} {
		if _, err := r.Create(ctx, name); !errors.Is(err, workspace.Invalid) {
			t.Errorf("%q: got %v, want invalid", name, err)
		}
		if _, err := r.Head(ctx, workspace.Source{Location: name, Managed: true}, "main"); !errors.Is(err, workspace.Invalid) {
			t.Errorf("Head of %q: got %v, want invalid", name, err)
		}
	}
	for _, name := range []string{"a", "group/b", "A.b-c_d"} {
		s, err := r.Create(ctx, name)
		if err != nil || s != (workspace.Source{Location: name, Managed: true}) {
			t.Errorf("%q: got %v, %v", name, s, err)
		}
		git := (&gittest.Repo{T: t}).At(filepath.Join(root, name+".git"))
		git.Fsck()
		if got := git.Git("symbolic-ref", "HEAD"); got != "refs/heads/main" {
			t.Errorf("%q: HEAD is %s", name, got)
		}
		if got := git.Git("rev-parse", "--is-bare-repository"); got != "true" {
			t.Errorf("%q: bare is %s", name, got)
		}
	}
	if _, err := New(nil).Create(ctx, "a"); !errors.Is(err, workspace.Unavailable) {
		t.Errorf("without a root: got %v", err)
	}
	if _, err := New(nil).Head(ctx, inPlace("relative"), "main"); !errors.Is(err, workspace.Invalid) {
		t.Errorf("a relative location: got %v", err)
	}
}

// TestCreateIsAllOrNothing stops before the repository has its name.
func TestCreateIsAllOrNothing(t *testing.T) {
	root := t.TempDir()
	r := New(&Config{ManagedRoot: root, Fault: func(string) error { return errors.New("stop") }})
	if _, err := r.Create(ctx, "a"); err == nil {
		t.Fatal("Create went on")
	}
	if _, err := os.Stat(filepath.Join(root, "a.git")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is there: %v", err)
	}
	if _, err := New(&Config{ManagedRoot: root}).Create(ctx, "a"); err != nil {
		t.Errorf("again: %v", err)
	}
}
