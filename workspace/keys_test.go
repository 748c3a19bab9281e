package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// records counts the records of a stream.
func (b *bench) records(stream string) int {
	b.t.Helper()
	n := 0
	for _, err := range b.project.Records(context.Background(), stream, 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		n++
	}
	return n
}

// TestRepeats: whatever mutates answers a repeat under its key as it did the first
// time and does nothing, in this process and after a restart, because a client that
// lost an answer has no other way to ask.
func TestRepeats(t *testing.T) {
	const r = "/repos/app/"
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n", "c": "1\n", "d/x": "1\n", "e": "1\n"}})
	b.create("/agents/a", nil)
	replace := func(_ Found, content []byte) ([]byte, int, error) {
		after := strings.ReplaceAll(string(content), "1", "11")
		return []byte(after), strings.Count(string(content), "1"), nil
	}
	for _, op := range []struct {
		name string
		call func(w *space) (any, error)
	}{
		{"write", func(w *space) (any, error) { return w.Write(ctx, r+"a", []byte("2\n"), WriteOptions{}) }},
		{"edit", func(w *space) (any, error) { return w.Edit(ctx, r+"b", WriteOptions{}, replace) }},
		{"delete", func(w *space) (any, error) { return w.Delete(ctx, r+"d", true) }},
		{"copy", func(w *space) (any, error) { return w.Copy(ctx, r+"c", r+"copied", false) }},
		{"move", func(w *space) (any, error) { return w.Move(ctx, r+"c", r+"moved", false) }},
		{"mkdir", func(w *space) (any, error) { return w.Mkdir(ctx, r+"made") }},
		{"symlink", func(w *space) (any, error) { return w.Symlink(ctx, r+"link", "a") }},
		{"batch", func(w *space) (any, error) {
			return nil, w.Batch(ctx, []Step{EditStep(r+"e", WriteOptions{}, replace)})
		}},
		{"commit of a path", func(w *space) (any, error) {
			return w.Commit(ctx, CommitRequest{Mount: "/repos/app", Message: "m", Paths: []Path{r + "a"}})
		}},
		{"commit", func(w *space) (any, error) {
			return w.Commit(ctx, CommitRequest{Mount: "/repos/app", Message: "m"})
		}},
		{"revert", func(w *space) (any, error) { return w.Revert(ctx, r+"made") }},
	} {
		first, err := op.call(b.keyed("/agents/a", op.name, "request"))
		if err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		n := b.records("/agents/a")
		for _, when := range []string{"at once", "after a restart"} {
			again, err := op.call(b.keyed("/agents/a", op.name, "request"))
			if diff := cmp.Diff(first, again); diff != "" || err != nil {
				t.Errorf("%s, repeated %s: %v (-first +again)\n%s", op.name, when, err, diff)
			}
			b.reopen()
		}
		if _, err := op.call(b.keyed("/agents/a", op.name, "another request")); !errors.Is(err, Conflict) {
			t.Errorf("%s, another request under its key: %v, want a conflict", op.name, err)
		}
		if got := b.records("/agents/a"); got != n {
			t.Errorf("%s: repeats appended %d records", op.name, got-n)
		}
	}
	w := b.open("/agents/a", "s")
	if got := w.read(r+"b") + w.read(r+"e"); got != "11\n11\n" {
		t.Errorf("edits that were repeated: %q", got)
	}
	if n := b.git("app", "rev-list", "--count", "main"); n != "3" {
		t.Errorf("%s commits", n)
	}
}

// TestRepeatOfNothing: a call that changed nothing is not done again under its key
// either, when it would change something by now.
func TestRepeatOfNothing(t *testing.T) {
	const a = "/repos/app/a"
	ctx := context.Background()
	for name, call := range map[string]func(w *space) (any, error){
		"a write of what is there": func(w *space) (any, error) { return w.Write(ctx, a, []byte("1\n"), WriteOptions{}) },
		"a deletion of nothing":    func(w *space) (any, error) { return w.Delete(ctx, "/repos/app/new", false) },
		"a revert of nothing":      func(w *space) (any, error) { return w.Revert(ctx, a) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
			w := b.create("/agents/a", nil)
			first, err := call(b.keyed("/agents/a", "k", "request"))
			if err != nil {
				t.Fatal(err)
			}
			w.write(a, "2\n")
			w.write("/repos/app/new", "new\n")
			again, err := call(b.keyed("/agents/a", "k", "request"))
			if diff := cmp.Diff(first, again); diff != "" || err != nil {
				t.Errorf("repeated: %v (-first +again)\n%s", err, diff)
			}
			if got := w.read(a) + w.read("/repos/app/new"); got != "2\nnew\n" {
				t.Errorf("the repeat left %q", got)
			}
		})
	}
}

// TestRepeatedDeleteOfAWorkspace: a repeat says again that the workspace was ended
// now, where a second deletion says that it was already.
func TestRepeatedDeleteOfAWorkspace(t *testing.T) {
	b := newBench(t, nil)
	b.create("/agents/a", nil)
	ctx := context.Background()
	for _, when := range []string{"first", "repeated", "after a restart"} {
		if gone, err := b.project.Delete(ctx, Caller{Key: "k", Request: "delete"}, "/agents/a", false); err != nil || !gone {
			t.Errorf("%s: %v, %v, want true", when, gone, err)
		}
		if when == "repeated" {
			b.reopen()
		}
	}
	if gone, err := b.project.Delete(ctx, Caller{Key: "other", Request: "delete"}, "/agents/a", false); err != nil || gone {
		t.Errorf("under another key: %v, %v, want false", gone, err)
	}
	if _, err := b.project.Delete(ctx, Caller{Key: "k", Request: "another"}, "/agents/a", false); !errors.Is(err, Conflict) {
		t.Errorf("another request under the key: %v, want a conflict", err)
	}
}

// TestRepeatOfALargeCommit: a commit of more paths than an answer has room for is
// still known by its key, with as many of its paths as fit, so that it is not made
// twice.
func TestRepeatOfALargeCommit(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	var steps []Step
	for i := range 200 {
		steps = append(steps, WriteStep(Path(fmt.Sprintf("/repos/app/%s-%d", strings.Repeat("long", i%50), i)), []byte("1"), WriteOptions{}))
	}
	w.batch(steps...)
	k := b.keyed("/agents/a", "k", "commit")
	first := k.commit("/repos/app")
	again := k.commit("/repos/app")
	if again.Commit != first.Commit || again.Branch != first.Branch {
		t.Errorf("repeated: %+v, want the commit %s on %s", again, first.Commit, first.Branch)
	}
	if n := len(again.Paths); len(first.Paths) != 200 || n == 0 || n == 200 || !cmp.Equal(again.Paths, first.Paths[:n]) {
		t.Errorf("%d paths, and %d of them when repeated", len(first.Paths), n)
	}
}

// TestKeyOfADeadCommit: a commit whose process died is known by its key to whoever
// asks again, whether it has landed or not, so that there is one in the end.
func TestKeyOfADeadCommit(t *testing.T) {
	for _, point := range []string{"intent appended", "landed"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", point, restart), func(t *testing.T) {
				b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
				b.create("/agents/a", nil).write("/repos/app/a", "2\n")
				b.crashAt(point)
				if _, err := b.keyed("/agents/a", "k", "commit").tryCommit("/repos/app"); !errors.Is(err, errCrash) {
					t.Fatalf("got %v, want a crash", err)
				}
				if restart {
					b.reopen()
				}
				for range 2 {
					c := b.keyed("/agents/a", "k", "commit").commit("/repos/app")
					if c.Commit.String() != b.git("app", "rev-parse", "main") || !cmp.Equal(c.Paths, []Path{"/repos/app/a"}) {
						t.Errorf("repeated: %+v", c)
					}
				}
				if n := b.git("app", "rev-list", "--count", "main"); n != "2" {
					t.Errorf("%s commits", n)
				}
				if _, err := b.keyed("/agents/a", "k", "another").tryCommit("/repos/app"); !errors.Is(err, Conflict) {
					t.Errorf("another request under the key: %v, want a conflict", err)
				}
			})
		}
	}
}

// TestKeyBesideADeadCommit: whoever comes first after a commit whose process died
// records its end on the way, under that commit's key and not their own, so that
// what they asked for is done.
func TestKeyBesideADeadCommit(t *testing.T) {
	for _, point := range []string{"intent appended", "landed"} {
		t.Run(point, func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
			b.create("/agents/a", nil).write("/repos/app/a", "2\n")
			b.crashAt(point)
			if _, err := b.open("/agents/a", "s").tryCommit("/repos/app"); !errors.Is(err, errCrash) {
				t.Fatalf("got %v, want a crash", err)
			}
			k := b.keyed("/agents/a", "k", "write")
			first := k.write("/repos/app/new", "precious\n")
			if !first.Created || first.Path != "/repos/app/new" {
				t.Errorf("the write answers %+v", first)
			}
			if diff := cmp.Diff(first, k.write("/repos/app/new", "precious\n")); diff != "" {
				t.Errorf("repeated (-first +again)\n%s", diff)
			}
			if got := b.open("/agents/a", "s").read("/repos/app/new"); got != "precious\n" {
				t.Errorf("what was written reads %q", got)
			}
			if n := len(k.snap().State.Intents); n != 0 {
				t.Errorf("%d intents are left", n)
			}
		})
	}
}
