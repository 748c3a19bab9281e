package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/persistence/memory"
	"carrel.dev/persistence/sqlite"
	. "carrel.dev/workspace"
)

var homeStream = StreamID{Project: "p", Name: ProjectStream}

// noting is a store that notes where catalogs are saved, and may fail to.
type noting struct {
	*memory.Store
	fails bool
	mu    sync.Mutex // guards saved
	saved []Seq
}

func (s *noting) SaveCheckpoint(ctx context.Context, id StreamID, at Seq, version int, state []byte) error {
	if id == homeStream {
		s.mu.Lock()
		s.saved = append(s.saved, at)
		s.mu.Unlock()
	}
	if s.fails {
		return errors.New("no room")
	}
	return s.Store.SaveCheckpoint(ctx, id, at, version, state)
}

// newCatalogBench is a bench with the repo app, on a store that notes.
func newCatalogBench(t *testing.T) (*bench, *noting) {
	b := newBench(t, nil)
	s := &noting{Store: b.cfg.Store.(*memory.Store)}
	b.cfg.Store = s
	b.reopen()
	b.repo("app", nil) // two records
	return b, s
}

// thoughts appends records of another domain to the project's stream.
func (b *bench) thoughts(n int) {
	b.t.Helper()
	var events []Event
	for i := range n {
		events = append(events, Event{ID: fmt.Sprint(time.Now().UnixNano(), i), Type: "agent/thought", Version: 1, Payload: []byte("{}")})
	}
	if _, err := b.cfg.Store.Append(context.Background(), Batch{Stream: homeStream, Last: Any, Events: events}); err != nil {
		b.t.Fatal(err)
	}
}

// catalog is what the project says of its repos and workspaces.
func (b *bench) catalog() (c *Catalog, said []string) {
	b.t.Helper()
	c, err := b.project.Catalog(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	said = []string{fmt.Sprint(c.Seq, c.Born, c.Unread)}
	for _, r := range c.Repos {
		said = append(said, fmt.Sprint(r))
	}
	for w := range c.List("", "") {
		said = append(said, fmt.Sprint(w))
	}
	slices.Sort(said[1:])
	return c, said
}

// saveCatalog keeps a checkpoint of the catalog, changed by f.
func (b *bench) saveCatalog(f func([]byte) []byte) {
	b.t.Helper()
	c, _ := b.catalog()
	state, err := c.Checkpoint()
	if err == nil {
		err = b.cfg.Store.(Checkpointer).SaveCheckpoint(context.Background(), homeStream, c.Seq, CatalogVersion, f(state))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func same(b []byte) []byte { return b }

// renamed is a change that shows whether a checkpoint was taken up.
func renamed(b []byte) []byte { return bytes.Replace(b, []byte("/agents/b"), []byte("/agents/z"), 1) }

// TestCatalogIsSaved: whoever appends saves the catalog every 500 records, also
// one that lives for a single record, and nobody else does.
func TestCatalogIsSaved(t *testing.T) {
	b, s := newCatalogBench(t)
	follower := b.process()
	for i := range 1100 {
		b.create(fmt.Sprintf("/agents/%04d", i), nil)
	}
	if diff := cmp.Diff([]Seq{500, 1000}, s.saved); diff != "" {
		t.Errorf("while 1,102 records were appended it was saved at (-want +got):\n%s", diff)
	}
	if c, err := follower.Catalog(t.Context()); err != nil || c.Seq != 1102 {
		t.Fatalf("the follower is at %d, %v", c.Seq, err)
	}
	b.reopen() // after 102 records
	b.thoughts(398)
	b.reopen() // after 500 records
	if diff := cmp.Diff([]Seq{500, 1000, 1500}, s.saved); diff != "" {
		t.Errorf("in the end it was saved at (-want +got):\n%s", diff)
	}
	_, fast := b.catalog()
	b.cfg.Store = plain{s}
	b.reopen()
	if _, slow := b.catalog(); !cmp.Equal(slow, fast) {
		t.Errorf("(-all records +checkpoint):\n%s", cmp.Diff(slow, fast))
	}
}

// TestUnreadCatalogIsNotSaved: a newer version has to read what this one passes
// over.
func TestUnreadCatalogIsNotSaved(t *testing.T) {
	b, s := newCatalogBench(t)
	var log bytes.Buffer
	b.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	b.append(ProjectStream, Event{Type: "workspace/newer", Payload: []byte("{}")})
	b.thoughts(600)
	b.reopen()
	if c, _ := b.catalog(); c.Unread != 3 || len(s.saved) != 0 || log.Len() != 0 {
		t.Errorf("unread at %d, saved at %v, and logged: %s", c.Unread, s.saved, log.String())
	}
}

// TestCatalogNotSaved: a store that has no room for the checkpoint costs time and
// nothing else.
func TestCatalogNotSaved(t *testing.T) {
	b, s := newCatalogBench(t)
	var log bytes.Buffer
	b.cfg.Log, s.fails = slog.New(slog.NewTextHandler(&log, nil)), true
	b.reopen()
	b.thoughts(600)
	b.create("/agents/a", nil)
	b.create("/agents/b", nil)
	if len(s.saved) != 1 || strings.Count(log.String(), "checkpoint not saved") != 1 {
		t.Errorf("tried at %v, and logged:\n%s", s.saved, log.String())
	}
	b.reopen()
	if c, _ := b.catalog(); c.Seq != 604 {
		t.Errorf("after a restart at %d", c.Seq)
	}
}

// TestCatalogCheckpointIsTakenUp, or not: each checkpoint has a workspace that
// the records do not have, as the only way to tell.
func TestCatalogCheckpointIsTakenUp(t *testing.T) {
	save := func(b *bench, at Seq, version int, state []byte) {
		if err := b.cfg.Store.(Checkpointer).SaveCheckpoint(context.Background(), homeStream, at, version, state); err != nil {
			b.t.Fatal(err)
		}
	}
	replace := func(was, is string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(renamed(b), []byte(was), []byte(is), 1) }
	}
	for _, tt := range []struct {
		name  string
		save  func(b *bench, c *Catalog, state []byte)
		taken bool
	}{
		{"as it was saved", func(b *bench, c *Catalog, s []byte) { save(b, c.Seq, CatalogVersion, renamed(s)) }, true},
		{"another version's", func(b *bench, c *Catalog, s []byte) { save(b, c.Seq, CatalogVersion+1, renamed(s)) }, false},
		{"cut", func(b *bench, c *Catalog, s []byte) { save(b, c.Seq, CatalogVersion, renamed(s[:len(s)-1])) }, false},
		{"empty", func(b *bench, c *Catalog, s []byte) { save(b, c.Seq, CatalogVersion, nil) }, false},
		{"under another seq", func(b *bench, c *Catalog, s []byte) { save(b, c.Seq+1, CatalogVersion, renamed(s)) }, false},
		{"beyond the end", func(b *bench, c *Catalog, s []byte) {
			save(b, 40, CatalogVersion, replace(`"seq":4`, `"seq":40`)(s))
		}, false},
		{"beyond the end, of another history", func(b *bench, c *Catalog, s []byte) {
			save(b, 40, CatalogVersion, replace(`"seq":4,"event":"`, `"seq":40,"event":"x`)(s))
		}, false},
		{"within the stream, of another history", func(b *bench, c *Catalog, s []byte) {
			save(b, c.Seq, CatalogVersion, replace(`"event":"`, `"event":"x`)(s))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, _ := newCatalogBench(t)
			b.create("/agents/a", nil)
			b.create("/agents/b", nil)
			c, want := b.catalog()
			state, err := c.Checkpoint()
			if err != nil {
				t.Fatal(err)
			}
			tt.save(b, c, state)
			b.reopen()
			c, got := b.catalog()
			if _, taken := c.Workspace("/agents/z"); taken != tt.taken {
				t.Errorf("taken up: %v", taken)
			}
			if !tt.taken && !cmp.Equal(want, got) {
				t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

const ofHome = "(SELECT id FROM streams WHERE name = '/')"

func TestFsckOfCatalogs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(d *desk)
		want   []string
	}{
		{"nothing", func(d *desk) { d.saveCatalog(same) }, []string{}},
		{"nothing, and more records", func(d *desk) { d.saveCatalog(same); d.create("/agents/c", nil) }, []string{}},
		{"a byte", func(d *desk) {
			d.saveCatalog(same)
			d.exec("UPDATE checkpoints SET state = CAST(replace(state, 'main', 'mein') AS BLOB)")
		}, []string{"fault checkpoint-damaged /"}},
		{"another catalog", func(d *desk) { d.saveCatalog(renamed) }, []string{"fault checkpoint-wrong /"}},
		{"no catalog", func(d *desk) { d.saveCatalog(func([]byte) []byte { return []byte("{") }) }, []string{"fault checkpoint-wrong /"}},
		{"one beyond the end", func(d *desk) { d.saveCatalog(same); d.exec("UPDATE checkpoints SET seq = 1000") },
			[]string{"fault checkpoint-wrong /"}},
		{"one that another version made", func(d *desk) { d.saveCatalog(renamed); d.exec("UPDATE checkpoints SET version = 99") }, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.create("/agents/a", nil)
			d.create("/agents/b", nil)
			tt.damage(d)
			d.reopen()
			before := d.dump()
			if diff := cmp.Diff(tt.want, d.found(Fsck{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, d.dump()); diff != "" {
				t.Errorf("fsck has changed something (-before +after):\n%s", diff)
			}
			var mended []string
			for _, f := range tt.want {
				mended = append(mended, f+" mended")
			}
			if got := d.found(Fsck{Rebuild: true}); !slices.Equal(mended, got) {
				t.Errorf("rebuild: got %v, want %v", got, mended)
			}
			if got := d.found(Fsck{}); len(got) != 0 {
				t.Errorf("after the rebuild: %v", got)
			}
		})
	}
}

// TestFsckRebuildsCatalogs makes the checkpoint of a long stream anew.
func TestFsckRebuildsCatalogs(t *testing.T) {
	d := newDesk(t)
	d.create("/agents/a", nil)
	d.create("/agents/b", nil)
	_, want := d.catalog()
	d.thoughts(600)
	d.saveCatalog(renamed)
	d.reopen()
	if c, _ := d.catalog(); c.Seq != 604 {
		t.Fatalf("at %d", c.Seq)
	} else if _, taken := c.Workspace("/agents/z"); !taken {
		t.Fatal("the checkpoint is not taken up")
	}
	if diff := cmp.Diff([]string{"fault checkpoint-wrong / mended"}, d.found(Fsck{Rebuild: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c, err := d.cfg.Store.(CheckpointExaminer).ExamineCheckpoint(context.Background(), homeStream)
	if err != nil || c.At != 604 || c.Version != CatalogVersion {
		t.Errorf("the checkpoint made anew: %v, of version %d at %d", err, c.Version, c.At)
	}
	d.reopen()
	if _, got := d.catalog(); !cmp.Equal(want[1:], got[1:]) {
		t.Errorf("after the rebuild (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestFsckKeepsTheCatalog: the checkpoint of a stream that cannot be replayed is
// all that is left of it, and the project opens with it.
func TestFsckKeepsTheCatalog(t *testing.T) {
	d := newDesk(t)
	d.create("/agents/a", nil)
	d.saveCatalog(same)
	_, want := d.catalog()
	d.exec("UPDATE events SET actor = 'x' WHERE seq = 2 AND stream = " + ofHome)
	before := d.dump()
	if diff := cmp.Diff([]string{"loss record-damaged /"}, d.found(Fsck{Rebuild: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, d.dump()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	d.reopen()
	if _, got := d.catalog(); !cmp.Equal(want, got) {
		t.Errorf("from the checkpoint (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// BenchmarkOpenProject opens a project with 10,000 workspaces, as every process
// does once.
func BenchmarkOpenProject(b *testing.B) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var events []Event
	for i := range 10_000 {
		events = append(events, Event{ID: fmt.Sprint(i), Type: WorkspaceCreated, Version: 1, At: time.Now(),
			Payload: fmt.Appendf(nil, `{"stream":"/agents/team/number-%05d","seq":1,"payload":{"digest":"%064d"}}`, i*7919%10_000, i)})
	}
	if _, err := store.Append(ctx, Batch{Stream: homeStream, Last: Any, Events: events}); err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]StoreWithFeed{"checkpoint": store, "replay": plain{store}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				host, err := NewHost(ctx, &Config{Store: s, Blobs: store})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := host.Project(ctx, "p"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
