package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

func rawID() string { return rand.Text() }

var errBroken = errors.New("the disk is on fire")

// brittle is a store whose appends fail when told to.
type brittle struct {
	workspace.StoreWithFeed
	mode atomic.Int32
	// blind makes it answer nothing of what became of an append.
	blind atomic.Bool
}

// How an append of a brittle store goes.
const (
	appends     int32 = iota
	failsBefore       // nothing was appended
	failsAfter        // it was appended, and the answer is lost
)

func (b *brittle) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	mode := b.mode.Load()
	if mode == failsBefore {
		return nil, errBroken
	}
	records, err := b.StoreWithFeed.Append(ctx, batches...)
	if mode == failsAfter {
		return nil, errBroken
	}
	return records, err
}

func (b *brittle) Find(ctx context.Context, s workspace.StreamID, event string) (workspace.Record, error) {
	if b.blind.Load() {
		return workspace.Record{}, errBroken
	}
	return b.StoreWithFeed.Find(ctx, s, event)
}

// TestFailingLowerFailsTheDeletion: what stands below cannot be asked, so nothing
// is deleted.
//
// Cases: DL-3 DL-4
func TestFailingLowerFailsTheDeletion(t *testing.T) {
	t.Parallel()
	r, lower := watchedRig(t)
	w := r.create("/agents/a", f1)
	write(t, w, "/config/worker.ts", "mine\n")
	n := r.records("/agents/a")
	lower.reset(workspace.Errorf(workspace.Unavailable, "the repository cannot be read"))
	for _, p := range []workspace.Path{"/config/tasks/one.md", "/config/worker.ts"} {
		if _, err := w.Delete(t.Context(), p, false); workspace.KindOf(err) != workspace.Unavailable {
			t.Errorf("delete %s: got %v, want unavailable", p, err)
		}
	}
	if _, err := w.Delete(t.Context(), "/config/tasks", true); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("delete of a directory: got %v, want unavailable", err)
	}
	lower.reset(nil)
	if got := r.records("/agents/a"); got != n {
		t.Errorf("%d records, want %d", got, n)
	}
	for p, want := range map[workspace.Path]string{"/config/tasks/one.md": "# one\n", "/config/worker.ts": "mine\n"} {
		if got := read(t, w, p); got != want {
			t.Errorf("%s: got %q, want %q", p, got, want)
		}
	}
	s := snapshot(t, w)
	changes, err := s.Changes(t.Context(), s.Table.At("/config"))
	if err != nil || len(changes) != 1 || changes[0].Change != workspace.Modified {
		t.Errorf("changes %+v, %v, want one modified", changes, err)
	}
}

// TestFailingStoreLeavesNoWhiteout fails each kind of mutation at the append.
//
// Cases: DL-5
func TestFailingStoreLeavesNoWhiteout(t *testing.T) {
	t.Parallel()
	var store *brittle
	r := newRig(t, nil)
	r.open(func(c *workspace.Config) {
		store = &brittle{StoreWithFeed: c.Store}
		c.Store = store
	})
	r.repo("config", map[string]string{"worker.ts": "worker\n", "tasks/one.md": "# one\n"})
	w := r.create("/agents/a", nil)
	write(t, w, "/repos/config/mine.ts", "mine\n")
	store.mode.Store(failsBefore)
	mutations := map[string]func() error{
		"delete": func() error { _, err := w.Delete(t.Context(), "/repos/config/worker.ts", false); return err },
		"delete of our own": func() error {
			_, err := w.Delete(t.Context(), "/repos/config/mine.ts", false)
			return err
		},
		"delete of a directory": func() error { _, err := w.Delete(t.Context(), "/repos/config/tasks", true); return err },
		"write": func() error {
			_, err := w.Write(t.Context(), "/repos/config/worker.ts", []byte("new"), workspace.WriteOptions{})
			return err
		},
		"reset": func() error { _, err := w.Reset(t.Context()); return err },
		"commit": func() error {
			_, err := w.Commit(t.Context(), workspace.CommitRequest{Mount: "/repos/config", Message: "m"})
			return err
		},
	}
	for name, mutate := range mutations {
		if err := mutate(); err == nil {
			t.Errorf("%s succeeded on a store that fails", name)
		}
	}
	for range 2 {
		for p, want := range map[workspace.Path]string{
			"/repos/config/worker.ts": "worker\n", "/repos/config/tasks/one.md": "# one\n", "/repos/config/mine.ts": "mine\n",
		} {
			if got := read(t, w, p); got != want {
				t.Errorf("%s: got %q, want %q", p, got, want)
			}
		}
		store.mode.Store(appends)
		r.open(nil)
		w = r.workspace("/agents/a")
	}
	if _, err := w.Commit(t.Context(), workspace.CommitRequest{Mount: "/repos/config", Message: "m"}); err != nil {
		t.Errorf("commit afterwards: %v", err)
	}
}

// TestCrashDuringCreate stops a creation at every point; what another process
// then finds is both markers or neither, and a creation afterwards completes.
//
// Cases: ID-15
func TestCrashDuringCreate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault string
		mode  int32
		born  bool
	}{
		{"before the append", "bodies put", appends, false},
		{"in the append", "", failsBefore, false},
		{"after the append", "", failsAfter, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var store *brittle
			r := newRig(t, nil)
			r.repo("config", map[string]string{"worker.ts": "worker\n"})
			r.open(func(cfg *workspace.Config) {
				store = &brittle{StoreWithFeed: cfg.Store}
				store.blind.Store(true)
				store.mode.Store(c.mode)
				cfg.Store = store
				cfg.Fault = func(point string) error {
					if point == c.fault {
						return errBroken
					}
					return nil
				}
			})
			request := workspace.CreateRequest{ID: "/agents/a", Mounts: f1WithoutIterate(), Digest: "d"}
			if _, err := r.project.Create(t.Context(), workspace.Caller{}, request); err == nil {
				t.Fatal("create succeeded although it was stopped")
			}
			r.open(nil)
			born, copied := r.markers("/agents/a")
			if born != copied || born != c.born {
				t.Errorf("marker on its own stream %v, on the project's %v, want both %v", born, copied, c.born)
			}
			created, err := r.project.Create(t.Context(), workspace.Caller{}, request)
			if err != nil || created == c.born {
				t.Errorf("create again: got %v, %v, want %v", created, err, !c.born)
			}
			if born, copied := r.markers("/agents/a"); !born || !copied {
				t.Errorf("afterwards: marker on its own stream %v, on the project's %v", born, copied)
			}
			if m := snapshot(t, r.workspace("/agents/a")).Table.At("/config"); m == nil {
				t.Error("the mount that it was created with is missing")
			}
		})
	}
}

func f1WithoutIterate() map[string]workspace.MountPatch {
	return map[string]workspace.MountPatch{"/config": f1["/config"]}
}

// markers reports on which streams a workspace's birth stands.
func (r *rig) markers(id string) (own, project bool) {
	r.t.Helper()
	for rec, err := range r.project.Records(r.t.Context(), id, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		own = own || rec.Type == workspace.WorkspaceCreated
	}
	for rec, err := range r.project.Records(r.t.Context(), "/", 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		project = project || rec.Type == workspace.WorkspaceCreated && strings.Contains(string(rec.Payload), `"`+id+`"`)
	}
	return own, project
}

// TestRefusedRefUpdateLeavesNothing lands a commit whose branch is not where it
// expects, on packed and on loose refs.
//
// Cases: D1
func TestRefusedRefUpdateLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.repo("app", map[string]string{"a": "a\n"})
	source := r.source("app")
	git := func(args ...string) string {
		t.Helper()
		out, err := r.git.Git(t.Context(), "app", args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	old, err := r.mounts.Head(t.Context(), source, "main")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.git.Commit(t.Context(), "app", "main", "second", []Edit{{Path: "b", Mode: "100644", Content: []byte("b\n")}}); err != nil {
		t.Fatal(err)
	}
	for _, prepare := range []string{"loose", "packed"} {
		if prepare == "packed" {
			git("pack-refs", "--all", "--prune")
		}
		before := git("for-each-ref")
		for name, change := range map[string]workspace.Change{
			"moved":       {Branch: "main", Expect: old, Parent: old},
			"must be new": {Branch: "main", Parent: old},
			"is gone":     {Branch: "other", Expect: old, Parent: old},
		} {
			change.Source, change.Message, change.When = source, "m", testTime
			change.Author = workspace.Signature{Name: "A", Email: "a@example.com"}
			change.Committer = change.Author
			p, err := r.mounts.Propose(t.Context(), change)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Land(t.Context()); workspace.KindOf(err) != workspace.Conflict {
				t.Errorf("%s, %s: got %v, want conflict", prepare, name, err)
			}
			if after := git("for-each-ref"); after != before {
				t.Errorf("%s, %s: refs %q, were %q", prepare, name, after, before)
			}
		}
	}
}

// busy is a store to which somebody else appends just before every configuration.
type busy struct {
	workspace.StoreWithFeed
	interfere func()
	times     atomic.Int32
}

func (b *busy) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	configures := slices.ContainsFunc(batches[0].Events, func(e workspace.Event) bool { return e.Type == workspace.WorkspaceConfigured })
	if configures && b.times.Add(-1) >= 0 {
		b.interfere()
	}
	return b.StoreWithFeed.Append(ctx, batches...)
}

// TestConfigureIsPlannedAgain lets other writers append between the plan of a
// configuration and its append.
//
// Cases: CF-11
func TestConfigureIsPlannedAgain(t *testing.T) {
	t.Parallel()
	var store *busy
	r := newRig(t, nil)
	r.repo("app", map[string]string{"a": "a\n"})
	r.open(func(c *workspace.Config) {
		store = &busy{StoreWithFeed: c.Store}
		c.Store = store
	})
	w := r.create("/agents/a", nil)
	store.interfere = func() { r.append("/agents/a", "agent/thought", `{}`) }
	configure := func(point string) error {
		_, err := w.Configure(t.Context(), map[string]workspace.MountPatch{point: {workspace.FieldRepo: str("/repos/app"), workspace.FieldPolicy: str("read-only")}})
		return err
	}
	store.times.Store(4)
	if err := configure("/four"); err != nil {
		t.Errorf("with four conflicts: %v", err)
	}
	store.times.Store(100)
	if err := configure("/hundred"); workspace.KindOf(err) != workspace.Conflict {
		t.Errorf("with conflicts without end: got %v, want conflict", err)
	}
	if got := 100 - store.times.Load(); got != 5 {
		t.Errorf("planned %d times, want 5", got)
	}
	// A plan that would be refused on the newer state is refused: the file that
	// comes between lies at the new mount's point.
	store.interfere = func() {
		store.times.Store(0)
		r.open(nil)
		write(t, r.workspace("/agents/a"), "/repos/app/x", "x")
	}
	store.times.Store(1)
	if err := configure("/repos/app/x"); workspace.KindOf(err) != workspace.Conflict {
		t.Errorf("over a file that came between: got %v, want conflict", err)
	}
	points := []string{}
	for _, m := range snapshot(t, w).Table.Mounts {
		points = append(points, string(m.Point))
	}
	if diff := cmp.Diff([]string{"/four", "/repos/app"}, points); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}
