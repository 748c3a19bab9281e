package workspace_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// census are the processes of a data directory, of which some are alive.
type census struct {
	self  string
	alive map[string]bool
}

func (c census) Self() string                    { return c.self }
func (c census) Alive(name string) (bool, error) { return c.alive[name], nil }

// A commit that another process is making is that process's to decide, however
// long it takes; once the process is dead whoever comes by decides it.
func TestCommitOfALivingProcess(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	b.cfg.Processes = census{self: "first"}
	b.crashAt("intent appended")
	w := b.create("/agents/a", nil)
	w.write("/repos/app/a", "2\n")
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, errCrash) {
		t.Fatalf("got %v", err)
	}
	b.cfg.Processes = census{self: "second", alive: map[string]bool{"first": true}}
	b.reopen()
	w = b.open("/agents/a", "s")
	w.write("/workspace/x", "1")
	if n := len(w.snap().State.Intents); n != 1 {
		t.Errorf("%d commits under way beside a living process, want its one", n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := w.Commit(ctx, CommitRequest{Mount: "/repos/app", Message: "m"}); !errors.Is(err, Unavailable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second commit of the mount: got %v", err)
	}
	if n := b.git("app", "rev-list", "--count", "main"); n != "1" {
		t.Errorf("%s commits", n)
	}
	b.cfg.Processes = census{self: "third"}
	b.reopen()
	w = b.open("/agents/a", "s")
	w.write("/workspace/x", "2")
	if n := len(w.snap().State.Intents); n != 0 {
		t.Errorf("%d commits of a dead process are open", n)
	}
	w.commit("/repos/app")
}

// A commit that landed before its process died is done: its changes leave the
// upper, and the next one goes on from it, on a work branch too.
func TestLandedCommitOfADeadProcess(t *testing.T) {
	for _, p := range []Policy{CommitToMain, WorkBranch} {
		t.Run(string(p), func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
			b.create("/agents/a", map[string]MountPatch{"/repos/app": {FieldPolicy: policy(p)}})
			b.crashAt("landed")
			w := b.open("/agents/a", "s")
			w.write("/repos/app/a", "2\n")
			if _, err := w.tryCommit("/repos/app"); !errors.Is(err, errCrash) {
				t.Fatalf("got %v", err)
			}
			b.cfg.Fault = nil
			b.reopen()
			w = b.open("/agents/a", "s")
			w.write("/repos/app/b", "b\n")
			if diff := cmp.Diff([]string{"A b"}, w.status("/repos/app")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if n := w.snap().State.Upper.Len(); n != 1 {
				t.Errorf("%d entries are left of what was committed", n-1)
			}
			c := w.commit("/repos/app")
			if got := b.git("app", "log", "--format=%H", c.Branch); len(strings.Fields(got)) != 3 {
				t.Errorf("%s has the commits\n%s", c.Branch, got)
			}
		})
	}
}
