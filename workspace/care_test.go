package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/persistence/memory"
	. "carrel.dev/workspace"
)

// clock is a time that a test moves on.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// aging is a bench whose clock the test moves.
type aging struct {
	*bench
	*clock
	store *memory.Store
}

func newAging(t *testing.T) *aging {
	t.Helper()
	b := &aging{bench: newBench(t, nil), clock: newClock()}
	b.store = memory.New(&memory.Config{Now: b.now})
	b.cfg.Store, b.cfg.Blobs, b.cfg.Now, b.cfg.DataID = b.store, b.store, b.now, "0123"
	b.reopen()
	b.repo("app", map[string]string{"a": "1\n"})
	return b
}

func (b *aging) gc() Collected {
	b.t.Helper()
	c, err := b.host.GC(context.Background(), GC{})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// has reports whether a content is stored.
func (b *aging) has(content string) bool {
	b.t.Helper()
	has, err := b.store.Has(context.Background(), blobID(content))
	if err != nil {
		b.t.Fatal(err)
	}
	return has
}

func blobID(content string) OID {
	id, err := BlobID([]byte(content))
	if err != nil {
		panic(err)
	}
	return id
}

// append puts a record on a stream, as another program might.
func (b *bench) append(stream string, e Event, bodies ...Body) {
	b.t.Helper()
	if e.Version == 0 {
		e.Version = 1
	}
	e.ID = fmt.Sprintf("raw-%s-%d", e.Type, time.Now().UnixNano())
	_, err := b.cfg.Store.Append(context.Background(), Batch{Stream: StreamID{Project: "p", Name: stream}, Last: Any, Events: []Event{e}, Bodies: bodies})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) delete(id string) {
	b.t.Helper()
	if _, err := b.project.Delete(context.Background(), Caller{}, ID(id), true); err != nil {
		b.t.Fatal(err)
	}
}

const day = 24 * time.Hour

func TestGC(t *testing.T) {
	b := newAging(t)
	ctx := context.Background()
	if _, err := b.store.Put(ctx, reader("never named"), 11); err != nil {
		t.Fatal(err)
	}
	one, two := b.create("/agents/one", nil), b.create("/agents/two", nil)
	one.write("/workspace/f", "an older version")
	one.write("/workspace/f", "only one's")
	one.write("/workspace/s", "shared")
	two.write("/workspace/s", "shared")
	two.write("/repos/app/a", "2\n") // keeps the base, "1\n", as well
	var many []Step
	for i := range 900 {
		many = append(many, WriteStep(Path(fmt.Sprintf("/workspace/many/%0100d", i)), []byte("small"), WriteOptions{}))
	}
	if err := one.Batch(ctx, many); err != nil { // a payload over 64 KiB
		t.Fatal(err)
	}
	b.append("/agents/one", Event{Type: "notes/written", Bodies: []OID{blobID("of another domain")}}, Body{blobID("of another domain"), []byte("of another domain")})
	records := b.records("/agents/one")

	if got := b.gc(); got.Contents != 0 {
		t.Errorf("at once: %d contents were removed", got.Contents)
	}
	b.pass(day + time.Minute)
	if got := b.gc(); got.Contents != 1 || got.Bytes != 11 || b.has("never named") {
		t.Errorf("a day later: got %+v, want the content that was never named", got)
	}
	b.delete("/agents/one")
	if got := b.gc(); got.Contents != 0 {
		t.Errorf("at deletion: %d contents were removed", got.Contents)
	}
	b.pass(day + time.Minute)
	if got := b.gc(); got.Contents != 3 {
		t.Errorf("a day after the deletion: %d contents were removed, want the older version, the newer and the small", got.Contents)
	}
	for content, want := range map[string]bool{
		"an older version": false, "only one's": false, "small": false, "shared": true, "1\n": true, "2\n": true, "of another domain": true,
	} {
		if got := b.has(content); got != want {
			t.Errorf("%q: has %v, want %v", content, got, want)
		}
	}
	// Its records are all there, with their payloads, and it still is deleted.
	b.reopen()
	if got := b.records("/agents/one"); got != records+1 {
		t.Errorf("%d records, want %d", got, records+1)
	}
	if _, err := b.project.Workspace(ctx, "/agents/one", Caller{}); !errors.Is(err, Closed) {
		t.Errorf("open: %v, want closed", err)
	}
	if got := b.gc(); got.Contents != 0 {
		t.Errorf("again: %d contents were removed", got.Contents)
	}
	b.sound()
}

// sound fails the test if fsck finds anything.
func (b *bench) sound() {
	b.t.Helper()
	c, err := b.host.Fsck(context.Background(), Fsck{})
	if err != nil {
		b.t.Fatal(err)
	}
	if d := cmp.Diff([]Finding{}, c.Findings); d != "" {
		b.t.Errorf("fsck (-want +got):\n%s", d)
	}
}

// TestGCKeepsForForks: a fork that lives keeps what its parents had.
func TestGCKeepsForForks(t *testing.T) {
	b := newAging(t)
	b.create("/agents/first", nil).write("/workspace/f", "of the first")
	b.append("/agents/second", Event{Type: WorkspaceCreated, Payload: []byte(`{"digest":"","from":{"workspace":"/agents/first","seq":2}}`)})
	b.append("/agents/third", Event{Type: WorkspaceCreated, Payload: []byte(`{"digest":"","from":{"workspace":"/agents/second","seq":1}}`)})
	b.delete("/agents/first")
	b.append("/agents/second", Event{Type: WorkspaceDeleted, At: b.now(), Payload: []byte(`{}`)})
	b.pass(2 * day)
	if got := b.gc(); got.Contents != 0 {
		t.Errorf("%d contents were removed under a living fork", got.Contents)
	}
	b.append("/agents/third", Event{Type: WorkspaceDeleted, At: b.now(), Payload: []byte(`{}`)})
	b.pass(2 * day)
	if got := b.gc(); got.Contents != 1 {
		t.Errorf("%d contents were removed once all were deleted, want 1", got.Contents)
	}
}

// sweeping does something just before each sweep.
type sweeping struct {
	*memory.Store
	before func()
}

func (s *sweeping) Sweep(ctx context.Context, before time.Time, after Position, choose func([]Record) ([]OID, error)) ([]Stored, error) {
	s.before()
	return s.Store.Sweep(ctx, before, after, choose)
}

// TestGCLooksAgain appends records between gc's look at the references and its
// sweep.
func TestGCLooksAgain(t *testing.T) {
	tests := []struct {
		name  string
		event Event
		want  Kind
		kept  bool
	}{
		{"a reference", Event{Type: "workspace/changed", Payload: []byte(`{"op":"x"}`), Bodies: []OID{blobID("contended")}}, "", true},
		{"another content", Event{Type: "workspace/changed", Payload: []byte(`{"op":"x"}`)}, "", false},
		{"a fork", Event{Type: WorkspaceCreated, Payload: []byte(`{"digest":"","from":{"workspace":"/agents/gone","seq":2}}`)}, "", true},
		{"a newer type", Event{Type: "workspace/newer", Payload: []byte(`{}`)}, Unavailable, true},
		{"a newer version", Event{Type: "repo/created", Version: 2, Payload: []byte(`{}`)}, Unavailable, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newAging(t)
			b.create("/agents/gone", nil).write("/workspace/f", "contended")
			b.delete("/agents/gone")
			b.pass(2 * day)
			var once sync.Once
			b.cfg.Store = &sweeping{b.store, func() {
				once.Do(func() { b.append("/agents/new", test.event) })
			}}
			b.reopen()
			_, err := b.host.GC(context.Background(), GC{})
			if KindOf(err) != test.want {
				t.Errorf("got error %v, want of kind %q", err, test.want)
			}
			if got := b.has("contended"); got != test.kept {
				t.Errorf("kept %v, want %v", got, test.kept)
			}
		})
	}
}

// TestGCUnread removes nothing while a stream holds what only a newer Carrel
// understands.
func TestGCUnread(t *testing.T) {
	b := newAging(t)
	if _, err := b.store.Put(context.Background(), reader("old"), 3); err != nil {
		t.Fatal(err)
	}
	b.append("/agents/a", Event{Type: "workspace/changed", Version: 2, Payload: []byte(`{}`)})
	b.pass(2 * day)
	if _, err := b.host.GC(context.Background(), GC{}); !errors.Is(err, Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	if !b.has("old") {
		t.Error("a content was removed")
	}
}

// TestGCRefs removes the refs of deleted workspaces whose commits a branch has.
func TestGCRefs(t *testing.T) {
	b := newAging(t)
	commits := map[string]Commit{}
	for _, id := range []string{"/agents/alive", "/agents/merged", "/agents/open", "/agents/dropped"} {
		w := b.create(id, map[string]MountPatch{"/repos/app": {FieldPolicy: ptr(string(WorkBranch))}})
		w.write("/repos/app"+id, id)
		commits[id] = w.commit("/repos/app")
	}
	b.git("app", "update-ref", "refs/heads/main", commits["/agents/merged"].Commit.String())
	b.git("app", "branch", "-qD", commits["/agents/dropped"].Branch)
	b.git("app", "pack-refs", "--all")
	for _, id := range []string{"/agents/merged", "/agents/open", "/agents/dropped"} {
		b.delete(id)
	}
	if got := b.gc(); len(got.Refs) != 0 || len(got.Left) != 0 {
		t.Errorf("at once: got %+v", got)
	}
	b.pass(2 * day)
	got := map[string]string{}
	c := b.gc()
	for _, r := range c.Refs {
		got[string(r.Workspace)+" "+r.Ref[:10]] = "removed"
	}
	for _, r := range c.Left {
		got[string(r.Workspace)+" "+r.Ref[:10]] = r.Why
	}
	want := map[string]string{
		"/agents/merged refs/carre":  "removed",
		"/agents/open refs/carre":    "removed",
		"/agents/dropped refs/carre": "nothing else holds its commit",
		"/agents/merged refs/heads":  "a work branch that main has merged",
		"/agents/open refs/heads":    "a work branch that main has not merged",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	refs := b.git("app", "for-each-ref", "--format=%(refname)", "refs/carrel")
	if want := "refs/carrel/0123/" + filepath.Base(commits["/agents/alive"].Branch) + "\nrefs/carrel/0123/" + filepath.Base(commits["/agents/dropped"].Branch); refs != want {
		t.Errorf("refs left: got %s, want %s", refs, want)
	}
	b.fsck("app")
	for _, c := range commits { // none is lost
		b.git("app", "cat-file", "-e", c.Commit.String())
	}
}

func ptr(s string) *string { return &s }

func TestPrune(t *testing.T) {
	b := newAging(t)
	ctx := context.Background()
	for _, id := range []string{"/agents/clean", "/agents/dirty", "/agents/young", "/agents/committed"} {
		b.create(id, nil)
	}
	b.open("/agents/dirty", "s").write("/workspace/f", "uncommitted")
	committed := b.open("/agents/committed", "s")
	committed.write("/repos/app/a", "2\n")
	committed.commit("/repos/app")
	b.pass(10 * day)
	b.open("/agents/young", "s").write("/workspace/f", "x")

	prune := func(o Prune) map[ID]string {
		t.Helper()
		o.Idle = 7 * day
		all, err := b.project.Prune(ctx, Caller{}, o)
		if err != nil {
			t.Fatal(err)
		}
		got := map[ID]string{}
		for _, p := range all {
			got[p.ID] = fmt.Sprint(p.Deleted, " ", p.Unsaved, " ", p.Why)
		}
		return got
	}
	kept := "false 1 /agents/dirty: 1 uncommitted files would be lost, 1 of them private"
	idle := map[ID]string{"/agents/clean": "true 0 ", "/agents/committed": "true 0 ", "/agents/dirty": kept}
	if d := cmp.Diff(idle, prune(Prune{DryRun: true})); d != "" {
		t.Errorf("dry run (-want +got):\n%s", d)
	}
	if d := cmp.Diff(idle, prune(Prune{})); d != "" {
		t.Errorf("after a dry run, which changes nothing (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[ID]string{"/agents/dirty": kept}, prune(Prune{})); d != "" {
		t.Errorf("again (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[ID]string{"/agents/dirty": "true 1 "}, prune(Prune{Discard: true})); d != "" {
		t.Errorf("discard (-want +got):\n%s", d)
	}
	b.open("/agents/young", "s")
	if _, err := b.project.Prune(ctx, Caller{}, Prune{}); !errors.Is(err, Invalid) {
		t.Errorf("without a time: %v", err)
	}
	b.sound()
}

// TestPruneBesideUse has a workspace used between the look at it and its end: it
// is kept, also if its work may be discarded.
func TestPruneBesideUse(t *testing.T) {
	b := newAging(t)
	b.create("/agents/a", nil)
	b.pass(10 * day)
	other := b.process()
	w, err := other.Workspace(context.Background(), "/agents/a", Caller{})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	b.cfg.Store = &appending{b.store, func() {
		once.Do(func() {
			if _, err := w.Write(context.Background(), "/workspace/f", []byte("new"), WriteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}}
	b.reopen()
	got, err := b.project.Prune(context.Background(), Caller{}, Prune{Idle: day, Discard: true})
	if err != nil || len(got) != 1 || got[0].Deleted || got[0].Why != "/agents/a: the workspace was used meanwhile" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := b.open("/agents/a", "s").read("/workspace/f"); got != "new" {
		t.Errorf("the file holds %q", got)
	}
}

// appending does something just before each append.
type appending struct {
	*memory.Store
	before func()
}

func (s *appending) Append(ctx context.Context, batches ...Batch) ([]Record, error) {
	s.before()
	return s.Store.Append(ctx, batches...)
}

func reader(content string) *strings.Reader { return strings.NewReader(content) }
