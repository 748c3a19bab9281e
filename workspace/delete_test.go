package workspace_test

import (
	"context"
	"errors"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// A file that is only the workspace's own leaves no trace when it is deleted: what
// somebody commits there later is seen.
func TestDeletedDraftLeavesNothing(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	for _, p := range []string{"/repos/app/new", "/repos/app/d/new", "/workspace/new"} {
		w.write(p, "mine\n")
		if r := w.del(p); !r.Deleted {
			t.Errorf("%s: not deleted", p)
		}
	}
	if n := w.snap().State.Upper.Len(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	b.outside("app", map[string]string{"new": "theirs\n", "d/new": "theirs\n"})
	if got := w.read("/repos/app/new") + w.read("/repos/app/d/new"); got != "theirs\ntheirs\n" {
		t.Errorf("got %q, want what somebody committed since", got)
	}
}

// A directory that was deleted and made again is empty, and its commit deletes
// what it had; somebody else's change of that is a conflict.
func TestRemadeDirectory(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "d/x": "1\n", "d/e/y": "1\n"}})
	w := b.create("/agents/a", nil)
	w.del("/repos/app/d")
	for _, p := range []Path{"/repos/app/d", "/repos/app/d/e"} {
		if created, err := w.Mkdir(ctx, p); !created || err != nil {
			t.Errorf("mkdir %s: %v, %v", p, created, err)
		}
	}
	if got := w.walk("/repos/app/d"); len(got) != 0 {
		t.Errorf("it has %v", got)
	}
	if got := w.read("/repos/app/d/x") + w.read("/repos/app/d/e/y") + w.read("/repos/app/d/e"); got != "<absent><absent><dir>" {
		t.Errorf("read %s", got)
	}
	w.write("/repos/app/d/x", "2\n")
	b.outside("app", map[string]string{"d/e/y": "theirs\n"})
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
		t.Errorf("commit over their change: got %v, want a conflict", err)
	}
	b.outside("app", map[string]string{"d/e/y": "1\n"})
	w.commit("/repos/app")
	if got := b.git("app", "ls-tree", "-r", "--name-only", "main"); got != "a\nd/x" {
		t.Errorf("the repository has %q", got)
	}
}

// Deleting a file that was edited deletes the file, and not the edit.
func TestDeletedEdit(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "d/x": "1\n"}})
	w := b.create("/agents/a", nil)
	for _, p := range []string{"a", "d/x"} {
		w.write("/repos/app/"+p, "2\n")
		w.del("/repos/app/" + p)
		if got := w.read("/repos/app/" + p); got != "<absent>" {
			t.Errorf("%s: got %q", p, got)
		}
	}
	w.write("/repos/app/d/x", "3\n")
	w.del("/repos/app/d")
	if diff := cmp.Diff([]string{"D a", "D d/x"}, w.status("/repos/app")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
