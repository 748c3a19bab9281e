package workspace_test

import (
	"strings"
	"testing"
	"time"

	. "carrel.dev/workspace"
)

// TestNarrowedWorkBranch: a mount that committed to a work branch keeps reading it
// when it is made read-only, because what was committed must not vanish.
func TestNarrowedWorkBranch(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", map[string]MountPatch{"/x": mount("/repos/app", WorkBranch)})
	w.write("/x/a", "2\n")
	c := w.commit("/x")
	w.configure("/x", MountPatch{FieldPolicy: policy(ReadOnly)})
	if got := w.read("/x/a"); got != "2\n" {
		t.Errorf("read-only, the committed file reads %q", got)
	}
	w.configure("/x", MountPatch{FieldPolicy: policy(WorkBranch)})
	w.write("/x/a", "3\n")
	if again := w.commit("/x"); again.Branch != c.Branch {
		t.Errorf("the next commit went to %s, not to %s", again.Branch, c.Branch)
	}
	if got := b.git("app", "show", "main:a") + b.git("app", "show", c.Branch+":a"); got != "13" {
		t.Errorf("main and the work branch have %q", got)
	}
}

// TestTwoMountsOfAWorkBranch: two mounts of one repo share the workspace's branch
// in it, so that the first commit of the one waits for that of the other instead of
// finding a branch that nobody made.
func TestTwoMountsOfAWorkBranch(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n"}})
	w := b.create("/agents/a", map[string]MountPatch{"/x": mount("/repos/app", WorkBranch), "/y": mount("/repos/app", WorkBranch)})
	w.write("/x/a", "2\n")
	w.write("/y/b", "2\n")
	type result struct {
		Commit
		err error
	}
	second := make(chan result, 1)
	b.during("landed", func() error {
		go func() {
			c, err := b.open("/agents/a", "s").tryCommit("/y")
			second <- result{c, err}
		}()
		time.Sleep(30 * time.Millisecond) // most often enough for it to come in between
		return nil
	})
	c := b.open("/agents/a", "s").commit("/x")
	y := <-second
	if y.err != nil {
		t.Fatalf("the second commit: %v", y.err)
	}
	if y.Branch != c.Branch || !strings.HasPrefix(c.Branch, "carrel/") {
		t.Errorf("the commits went to %s and %s", c.Branch, y.Branch)
	}
	if got := b.git("app", "rev-list", "--count", c.Branch) + b.git("app", "rev-list", "--count", "main"); got != "31" {
		t.Errorf("commits on the work branch and on main: %q", got)
	}
	if got := b.git("app", "show", c.Branch+":a") + b.git("app", "show", c.Branch+":b"); got != "22" {
		t.Errorf("the work branch has %q", got)
	}
	b.fsck("app")
}
