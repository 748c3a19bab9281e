package workspace_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	. "carrel.dev/workspace"

	"carrel.dev/mounts"
)

// rewrite replaces a repository's history by one commit of files and lets git
// take away what was there before. Another process goes on.
func (b *bench) rewrite(name string, files map[string]string) {
	b.t.Helper()
	b.git(name, "update-ref", "-d", "refs/heads/main")
	b.populate(filepath.Join(b.root, name+".git"), files)
	b.git(name, "reflog", "expire", "--expire=now", "--all")
	b.git(name, "gc", "-q", "--prune=now")
	repos := mounts.New(&mounts.Config{ManagedRoot: b.root})
	b.cfg.Trees, b.cfg.Committer, b.cfg.Ignorer = repos, repos, repos
	b.reopen()
}

// Of a file that was edited, what it was before stays readable when the
// repository has lost it.
func TestBaseOutlivesTheRepository(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "before\n", "b": "1\n"}})
	w := b.create("/agents/a", nil)
	w.write("/repos/app/a", "after\n")
	b.rewrite("app", map[string]string{"b": "2\n"})
	w = b.open("/agents/a", "s")
	s := w.snap()
	e, _ := s.State.Upper.Get("/repos/app/a")
	got, err := s.Blob(ctx, s.Table.At("/repos/app"), e.Base.OID)
	if err != nil || string(got) != "before\n" {
		t.Errorf("what was edited: got %q, %v", got, err)
	}
}

// A base that can no longer be read matches nothing: whoever deleted a directory
// of a history that is gone has not seen what is there now.
func TestLostBaseIsAConflict(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"d/x": "1\n", "d/y": "1\n", "e": "1\n"}})
	w := b.create("/agents/a", nil)
	w.del("/repos/app/d")
	b.rewrite("app", map[string]string{"d/x": "2\n", "d/new": "2\n", "e": "2\n"})
	w = b.open("/agents/a", "s")
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
		t.Errorf("commit: got %v, want a conflict", err)
	}
	if got := b.git("app", "ls-tree", "-r", "--name-only", "main"); got != "d/new\nd/x\ne" {
		t.Errorf("the repository has %q", got)
	}
}

// Somebody rewrites the work branch without what was committed to it: the mount
// keeps reading that, says so, and commits nothing on top of what it has not seen.
func TestRewrittenWorkBranch(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", map[string]MountPatch{"/repos/app": {FieldPolicy: policy(WorkBranch)}})
	w.write("/repos/app/a", "2\n")
	c := w.commit("/repos/app")
	b.outside("app", map[string]string{"a": "theirs\n"})
	theirs := b.git("app", "rev-parse", "main")
	b.git("app", "update-ref", "refs/heads/"+c.Branch, theirs)
	if got := w.read("/repos/app/a"); got != "2\n" {
		t.Errorf("read %q, want what was committed", got)
	}
	if state := w.workBranchState("/repos/app"); !state.Lost {
		t.Errorf("the work branch is %+v", state)
	}
	w.write("/repos/app/b", "b\n")
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
		t.Errorf("commit: got %v, want a conflict", err)
	}
	if got := b.git("app", "rev-parse", c.Branch); got != theirs {
		t.Errorf("the branch is at %s, not where somebody put it", got)
	}
	b.git("app", "update-ref", "refs/heads/"+c.Branch, c.Commit.String())
	w.commit("/repos/app")
}
