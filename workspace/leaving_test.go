package workspace_test

import (
	"context"
	"errors"
	"testing"

	. "carrel.dev/workspace"
)

// What was committed is the repository's from then on: what others do to it shows
// at once, and nothing of it is left in the upper.
func TestCommittedEntriesLeave(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "gone": "1\n", "d/x": "1\n"}})
	w := b.create("/agents/a", nil)
	w.write("/repos/app/a", "2\n")
	w.write("/repos/app/new", "2\n")
	w.del("/repos/app/gone")
	w.del("/repos/app/d")
	w.commit("/repos/app")
	if n := w.snap().State.Upper.Len(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	b.outside("app", map[string]string{"a": "3\n", "new": "3\n", "gone": "3\n", "d/x": "3\n"})
	for _, p := range []string{"a", "new", "gone", "d/x"} {
		if got := w.read("/repos/app/" + p); got != "3\n" {
			t.Errorf("%s: got %q, want what somebody else committed since", p, got)
		}
	}
}

// A message without a word in it commits nothing, and neither does a read-only
// mount.
func TestRefusedCommits(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	w.write("/repos/app/a", "2\n")
	for _, r := range []CommitRequest{{Message: " \n\t"}, {Message: "m", Author: Signature{Name: "Ada\nEve", Email: "a@b"}}} {
		r.Mount = "/repos/app"
		if _, err := w.Commit(context.Background(), r); !errors.Is(err, Invalid) {
			t.Errorf("%+v: got %v, want invalid", r, err)
		}
	}
	if n := b.git("app", "rev-list", "--count", "main"); n != "1" || w.snap().State.Seq != 2 {
		t.Errorf("%s commits, %d records", n, w.snap().State.Seq)
	}
}

// Who writes what somebody else has committed meanwhile has changed nothing, and
// goes on seeing what they do.
func TestWritingWhatTheyHave(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	w.write("/repos/app/a", "mine\n")
	b.outside("app", map[string]string{"a": "2\n"})
	w.write("/repos/app/a", "2\n")
	if n := w.snap().State.Upper.Len(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	b.outside("app", map[string]string{"a": "3\n"})
	if got := w.read("/repos/app/a"); got != "3\n" {
		t.Errorf("got %q, want what they committed since", got)
	}
}

// A file that is written again and again is judged by what it was made from at
// first: it can be committed, unless somebody else has changed it since then.
func TestWrittenTwice(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n"}})
	w := b.create("/agents/a", nil)
	for _, text := range []string{"2\n", "3\n", "4\n"} {
		w.write("/repos/app/a", text)
		w.write("/repos/app/b", text)
	}
	w.commit("/repos/app", "/repos/app/a")
	b.outside("app", map[string]string{"b": "theirs\n"})
	w.write("/repos/app/b", "5\n")
	b.open("/agents/a", "another").write("/repos/app/b", "6\n")
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
		t.Errorf("commit: got %v, want a conflict", err)
	}
	if got := b.git("app", "show", "main:a") + b.git("app", "show", "main:b"); got != "4theirs" {
		t.Errorf("the repository has %q", got)
	}
}
