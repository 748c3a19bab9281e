package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "carrel.dev/workspace"
)

// hookedStore runs a hook before a stream is read; an error of it is that of the
// read.
type hookedStore struct {
	StoreWithFeed
	hook func(s StreamID) error
}

func (h *hookedStore) Records(ctx context.Context, s StreamID, after Seq) iter.Seq2[Record, error] {
	if err := h.hook(s); err != nil {
		return func(yield func(Record, error) bool) { yield(Record{}, err) }
	}
	return h.StoreWithFeed.Records(ctx, s, after)
}

func (h *hookedStore) Last(ctx context.Context, s StreamID) (Seq, error) {
	if err := h.hook(s); err != nil {
		return 0, err
	}
	return h.StoreWithFeed.Last(ctx, s)
}

// onFirstRead starts again with a step that runs when a stream is first read.
func (b *bench) onFirstRead(stream string, step func() error) {
	b.t.Helper()
	var once atomic.Bool
	b.cfg.Store = &hookedStore{b.cfg.Store, func(s StreamID) error {
		if s.Name == stream && once.CompareAndSwap(false, true) {
			return step()
		}
		return nil
	}}
	b.reopen()
}

// TestConcurrentBirths: of those who create, open and write one workspace at once,
// all see each other's files and none waits for ever, because a process has one of
// each workspace whoever was first.
func TestConcurrentBirths(t *testing.T) {
	const births, agents, files = 150, 6, 3
	b := newBench(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // for a hang to fail
	defer cancel()
	for i := range births {
		id := ID(fmt.Sprintf("/agents/w%d", i))
		var made atomic.Int32
		var wg sync.WaitGroup
		for g := range agents {
			wg.Go(func() {
				created, err := b.project.Create(ctx, Caller{}, CreateRequest{ID: id})
				if err != nil {
					t.Errorf("%s: create: %v", id, err)
					return
				}
				if created {
					made.Add(1)
				}
				w, err := b.project.Workspace(ctx, id, Caller{Session: fmt.Sprint(g)})
				if err != nil {
					t.Errorf("%s: open: %v", id, err)
					return
				}
				for n := range files {
					if _, err := w.Write(ctx, Path(fmt.Sprintf("/workspace/%d-%d", g, n)), []byte("x"), WriteOptions{}); err != nil {
						t.Errorf("%s: write: %v", id, err)
					}
				}
			})
		}
		wg.Wait()
		if n := made.Load(); n != 1 {
			t.Errorf("%s was born %d times", id, n)
		}
		if n := len(b.open(string(id), "s").walk("/workspace")); n != agents*files {
			t.Errorf("%s has %d files", id, n)
		}
		if t.Failed() {
			return
		}
	}
}

// TestUnreadableFirstRead: whoever comes while the first reader of a stream fails
// gets the same workspace as those who come later, because one beside it would never
// hear of their records.
func TestUnreadableFirstRead(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	b.create("/agents/a", nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	during := make(chan *Workspace, 1)
	b.onFirstRead("/agents/a", func() error {
		go func() {
			w, err := b.project.Workspace(ctx, "/agents/a", Caller{Session: "during"})
			if err != nil {
				t.Errorf("opened while the first read failed: %v", err)
			}
			during <- w
		}()
		time.Sleep(20 * time.Millisecond) // most often enough for it to come in between
		return errCrash
	})
	if _, err := b.project.Workspace(ctx, "/agents/a", Caller{Session: "first"}); !errors.Is(err, errCrash) {
		t.Fatalf("the first read: %v, want a crash", err)
	}
	w := &space{t, <-during}
	if w.Workspace == nil {
		return
	}
	b.open("/agents/a", "later").write("/repos/app/later", "later\n")
	if got := w.read("/repos/app/later"); got != "later\n" {
		t.Errorf("what another session wrote reads %q", got)
	}
	if _, err := w.Write(ctx, "/repos/app/a", []byte("2\n"), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if c := w.commit("/repos/app"); len(c.Paths) != 2 {
		t.Errorf("committed %v", c.Paths)
	}
}

// TestStreamWithRecordsOfOthers: a workspace is born on a stream that has records
// of another domain already, because its identity is the stream of an agent.
func TestStreamWithRecordsOfOthers(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	note := func(id string) {
		t.Helper()
		_, err := b.cfg.Store.Append(ctx, Batch{Stream: StreamID{Project: "p", Name: "/agents/a"}, Last: Any, Events: []Event{
			{ID: id, Type: "agent/started", Version: 7, At: time.Now(), Payload: []byte("{}")},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	note("before")
	if _, err := b.project.Workspace(ctx, "/agents/a", Caller{}); !errors.Is(err, NotExist) {
		t.Errorf("opened before it was created: %v", err)
	}
	if made, err := b.project.Create(ctx, Caller{}, CreateRequest{ID: "/agents/a"}); err != nil || !made {
		t.Fatalf("create: %v, %v", made, err)
	}
	w := b.open("/agents/a", "s")
	w.write("/repos/app/a", "2\n")
	note("between")
	w.commit("/repos/app")
	b.reopen()
	if got := b.open("/agents/a", "s").read("/repos/app/a"); got != "2\n" {
		t.Errorf("after a restart: %q", got)
	}
}

// TestUnreadCatalog: from the first record on that a newer version wrote, the
// catalog takes in none that it does not understand and nothing is registered, because
// what it shows would be half of two versions.
func TestUnreadCatalog(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	ctx := context.Background()
	var first Seq
	for i, branch := range []string{"newer", "newest"} {
		records, err := b.cfg.Store.Append(ctx, Batch{Stream: StreamID{Project: "p", Name: ProjectStream}, Last: Any, Events: []Event{{
			ID: branch, Type: RepoConfigured, Version: 1000, At: time.Now(),
			Payload: fmt.Appendf(nil, `{"stream":"/repos/app","seq":%d,"payload":{"source":"/elsewhere","branch":%q,"policy":"commit-to-main"}}`, i+2, branch),
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = records[0].Seq
		}
	}
	for _, when := range []string{"followed", "after a restart"} {
		c, err := b.project.Catalog(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if r := c.Repos["/repos/app"]; c.Unread != first || r.Branch != "main" || r.Source.Location != b.root+"/app.git" {
			t.Errorf("%s: unread from %d, want %d; the repo is %+v", when, c.Unread, first, r)
		}
		err = b.project.SetRepo(ctx, Caller{}, Repo{Path: "/repos/new", Source: Source{Location: "/x"}, Branch: "main", Policy: ReadOnly})
		if !errors.Is(err, Unavailable) {
			t.Errorf("%s: a repo is registered: %v, want unavailable", when, err)
		}
		if _, err := b.project.Create(ctx, Caller{}, CreateRequest{ID: "/agents/a"}); !errors.Is(err, Unavailable) {
			t.Errorf("%s: a workspace is created: %v, want unavailable", when, err)
		}
		b.reopen()
	}
}

// TestSetRepoRace: of two processes that register one path for two repositories the
// later one is refused, whatever it had read before, because the path is the first
// one's for ever.
func TestSetRepoRace(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	ctx := context.Background()
	repo := func(location string) Repo {
		return Repo{Path: "/repos/new", Source: Source{Location: location}, Branch: "main", Policy: CommitToMain}
	}
	other := b.process()
	b.onFirstRead("/repos/new", func() error { return other.SetRepo(ctx, Caller{}, repo("/theirs")) })
	if err := b.project.SetRepo(ctx, Caller{}, repo("/mine")); !errors.Is(err, Exist) {
		t.Errorf("got %v, want exist", err)
	}
	c, err := b.project.Catalog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Repos["/repos/new"].Source.Location; got != "/theirs" {
		t.Errorf("the path belongs to %s", got)
	}
}

// TestCreatedAt: the list of a project and the workspace itself name one moment of
// birth, though they read it from two streams.
func TestCreatedAt(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b.cfg.Now = func() time.Time { now = now.Add(time.Second); return now }
	b.reopen()
	w := b.create("/agents/a", map[string]MountPatch{"/x": mount("/repos/app", ReadOnly)})
	c, err := b.project.Catalog(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	listed, ok := c.Workspace("/agents/a")
	if shown := w.snap().State.BornAt; !ok || !listed.CreatedAt.Equal(shown) || shown.IsZero() {
		t.Errorf("the list says %v, the workspace %v", listed.CreatedAt, shown)
	}
}

// TestDeleteWithALostRepo: a workspace can be given up although a commit of it is
// undecided and the repository is gone that would tell, since nobody can ever ask it
// again.
func TestDeleteWithALostRepo(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	b.create("/agents/a", nil).write("/repos/app/a", "2\n")
	b.crashAt("intent appended")
	if _, err := b.open("/agents/a", "s").tryCommit("/repos/app"); !errors.Is(err, errCrash) {
		t.Fatalf("got %v, want a crash", err)
	}
	if err := os.RemoveAll(b.root + "/app.git"); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	ctx := context.Background()
	if gone, err := b.project.Delete(ctx, Caller{}, "/agents/a", false); err == nil || gone {
		t.Errorf("without discard: %v, %v, want an error", gone, err)
	}
	if gone, err := b.project.Delete(ctx, Caller{}, "/agents/a", true); err != nil || !gone {
		t.Errorf("with discard: %v, %v", gone, err)
	}
}
