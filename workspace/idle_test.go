package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// idleBench is a bench whose clock the test turns.
func idleBench(t *testing.T) (b *bench, pass func(time.Duration)) {
	t.Helper()
	b = newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n"}})
	now := time.Unix(1_700_000_000, 0)
	b.cfg.Now = func() time.Time { return now }
	b.reopen()
	return b, func(d time.Duration) { now = now.Add(d) }
}

// An idle workspace leaves the memory, and everything of it is there at the next
// call.
//
// Cases: SH-11
func TestIdleWorkspaceIsReadAgain(t *testing.T) {
	b, pass := idleBench(t)
	w, busy := b.create("/agents/a", nil), b.create("/agents/busy", nil)
	w.write("/repos/app/a", "mine\n")
	w.write("/workspace/notes", "notes\n")
	w.del("/repos/app/b")
	want := w.status("/repos/app")
	if !w.InMemory() {
		t.Fatal("a workspace that was just used is not in memory")
	}
	pass(10 * time.Minute)
	busy.write("/workspace/x", "1")
	if !w.InMemory() {
		t.Error("out of memory after 10 minutes")
	}
	pass(6 * time.Minute)
	busy.write("/workspace/x", "2")
	if w.InMemory() || !busy.InMemory() {
		t.Errorf("in memory after 16 idle minutes: %v; the busy one: %v", w.InMemory(), busy.InMemory())
	}
	// What another process did meanwhile is there too.
	elsewhere := b.process()
	other, err := elsewhere.Workspace(context.Background(), "/agents/a", Caller{Session: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	(&space{t, other}).write("/workspace/more", "more\n")
	if diff := cmp.Diff(want, w.status("/repos/app")); diff != "" {
		t.Errorf("status (-before +after)\n%s", diff)
	}
	for p, want := range map[string]string{"/repos/app/a": "mine\n", "/workspace/notes": "notes\n", "/workspace/more": "more\n", "/repos/app/b": "<absent>"} {
		if got := w.read(p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	w.write("/repos/app/a", "again\n")
	w.commit("/repos/app")
	if got := b.git("app", "show", "main:a"); got != "again" {
		t.Errorf("committed %q", got)
	}
}

// What a session read before its workspace left the memory is still the base of
// its next write: what landed in between is a conflict.
func TestIdleWorkspaceKeepsWhatWasServed(t *testing.T) {
	for name, between := range map[string]func(b *bench, w *space){
		"nothing of the workspace's own": func(*bench, *space) {},
		"a checkpoint of another process": func(b *bench, w *space) {
			other, err := b.process().Workspace(context.Background(), "/agents/a", Caller{Session: "elsewhere"})
			if err != nil {
				w.t.Fatal(err)
			}
			for range 600 {
				(&space{w.t, other}).write("/workspace/x", time.Now().String())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, pass := idleBench(t)
			w, busy := b.create("/agents/a", nil), b.create("/agents/busy", nil)
			w.read("/repos/app/a")
			w.write("/repos/app/b", "draft\n")
			between(b, w)
			pass(time.Hour)
			busy.read("/repos/app/a")
			if w.InMemory() {
				t.Fatal("still in memory")
			}
			b.outside("app", map[string]string{"a": "theirs\n", "b": "theirs\n"})
			w.write("/repos/app/a", "mine\n")
			if _, err := w.tryCommit("/repos/app", "/repos/app/a"); !errors.Is(err, Conflict) {
				t.Errorf("commit over what was not read: %v", err)
			}
			w.revert("/repos/app/b") // a draft that is gone is no base
			w.write("/repos/app/b", "mine\n")
			w.commit("/repos/app", "/repos/app/b")
		})
	}
}

// An idle workspace that no handle and no session refers to takes no memory at
// all; one with a handle is the same for whoever asks for it, and follows what
// others do.
func TestIdleWorkspacesCostNothing(t *testing.T) {
	b, pass := idleBench(t)
	busy := b.create("/agents/busy", nil)
	for i := range 100 {
		b.create(fmt.Sprint("/agents/", i), nil)
	}
	handle := b.create("/agents/held", nil)
	busy.read("/repos/app/a")
	pass(24 * time.Hour)
	busy.read("/repos/app/a")
	deadline := time.Now().Add(time.Minute)
	for b.project.Kept() > 2 && time.Now().Before(deadline) {
		runtime.GC() // the handles are gone, and what they kept goes with them
		time.Sleep(time.Millisecond)
	}
	if got := b.project.Kept(); got != 2 {
		t.Errorf("%d workspaces take memory, want the busy one and the one with a handle", got)
	}
	again, err := b.project.Workspace(t.Context(), "/agents/held", Caller{Session: "other"})
	if err != nil {
		t.Fatal(err)
	}
	(&space{t, again}).write("/workspace/x", "1\n")
	if got := handle.read("/workspace/x"); got != "1\n" {
		t.Errorf("the handle reads %q", got)
	}
	pass(24 * time.Hour)
	busy.read("/repos/app/a")
	if handle.InMemory() {
		t.Error("still in memory")
	}
	handle.write("/workspace/x", "2\n")
	if got := (&space{t, again}).read("/workspace/x"); got != "2\n" {
		t.Errorf("the other handle reads %q", got)
	}
	other, err := b.process().Workspace(t.Context(), "/agents/held", Caller{Session: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	(&space{t, other}).write("/workspace/x", "3\n")
	if got := handle.read("/workspace/x"); got != "3\n" {
		t.Errorf("after another process wrote, the handle reads %q", got)
	}
}

// The first call after a pause is itself what finds a workspace idle: what it is
// given stays all the same, though no handle does.
func TestIdleWorkspaceIsKeptByItsFirstCall(t *testing.T) {
	b, pass := idleBench(t)
	b.create("/agents/a", nil) // nothing of it was served
	get := func() *space {
		w, err := b.project.Workspace(t.Context(), "/agents/a", Caller{Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		return &space{t, w}
	}
	pass(20 * time.Minute)
	token := func() string {
		w := get()
		w.read("/repos/app/a")
		return w.Hold(w.snap())
	}()
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if _, err := get().Held(token); err != nil {
		t.Errorf("the cursor of a moment ago: %v", err)
	}
	b.outside("app", map[string]string{"a": "theirs\n"})
	get().write("/repos/app/a", "mine\n")
	if _, err := get().tryCommit("/repos/app", "/repos/app/a"); !errors.Is(err, Conflict) {
		t.Errorf("commit over what was not read: %v", err)
	}
}

// A cursor whose snapshot left the memory says so.
func TestIdleWorkspaceDropsHeldSnapshots(t *testing.T) {
	b, pass := idleBench(t)
	w, busy := b.create("/agents/a", nil), b.create("/agents/busy", nil)
	token := w.Hold(w.snap())
	pass(time.Hour)
	busy.snap()
	if _, err := w.Held(token); !errors.Is(err, Conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}
