package mounts

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// TestBetweenLookAndLock has somebody act on the repository when a commit has
// looked at its branch, and has not locked it yet.
func TestBetweenLookAndLock(t *testing.T) {
	const keep = "refs/carrel/1234/agents/demo"
	tests := []struct {
		name string
		act  func(t *testing.T, git *gittest.Repo)
		want workspace.Kind
	}{
		{"the branch moves", func(_ *testing.T, git *gittest.Repo) {
			git.Git("update-ref", "refs/heads/main", git.Git("rev-parse", "theirs"))
		}, workspace.Conflict},
		{"a worktree checks it out", func(t *testing.T, git *gittest.Repo) {
			git.Git("worktree", "add", "-q", filepath.Join(t.TempDir(), "tree"), "main")
		}, workspace.Permission},
		{"the ref that keeps it is locked", func(_ *testing.T, git *gittest.Repo) {
			git.Write(keep+".lock", "")
		}, workspace.Unavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			start, s, git := bare(t, map[string]string{"a": "1"})
			git.Git("branch", "theirs")
			land(t, start, change(t, start, s, "theirs", map[string]string{"a": "theirs"}))
			var before string
			r := New(&Config{LockWait: time.Millisecond, Fault: func(at string) error {
				if at == ObjectsDurable {
					test.act(t, git)
					before = git.Git("rev-parse", "main")
				}
				return nil
			}})
			c := change(t, r, s, "main", map[string]string{"a": "ours"})
			c.Keep = keep
			p, err := r.Propose(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Land(ctx); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if after := git.Git("rev-parse", "main"); before == "" || after != before {
				t.Errorf("main is at %s, not at %s", after, before)
			}
		})
	}
}
