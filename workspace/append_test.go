package workspace_test

import (
	"context"
	"errors"
	"testing"

	"carrel.dev/persistence/memory"
	. "carrel.dev/workspace"
)

// moody is a store whose next append goes as a test wants it to.
type moody struct {
	*memory.Store
	next func(append func() ([]Record, error)) ([]Record, error) // nil: as it should
}

func (m *moody) Append(ctx context.Context, batches ...Batch) ([]Record, error) {
	really := func() ([]Record, error) { return m.Store.Append(ctx, batches...) }
	if mood := m.next; mood != nil {
		m.next = nil
		return mood(really)
	}
	return really()
}

var errDisk = errors.New("the disk is gone")

// A write whose append goes wrong is reported as what it came to: it is visible,
// here and to others, if it is stored, and not otherwise.
func TestAppendThatGoesWrong(t *testing.T) {
	for _, tt := range []struct {
		name string
		mood func(append func() ([]Record, error)) ([]Record, error)
		want error // of the write
	}{
		{"nothing is stored", func(func() ([]Record, error)) ([]Record, error) { return nil, errDisk }, errDisk},
		{"it is stored, and said to have failed", func(append func() ([]Record, error)) ([]Record, error) {
			_, err := append()
			return nil, errors.Join(err, errDisk)
		}, nil},
		{"a content was collected meanwhile", func(func() ([]Record, error)) ([]Record, error) {
			id, err := BlobID([]byte("2\n"))
			return nil, errors.Join(err, &MissingBodiesError{[]OID{id}})
		}, nil},
		{"another process was faster", func(func() ([]Record, error)) ([]Record, error) {
			return nil, &ConflictError{Want: 1, Got: 2}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
			store := &moody{Store: memory.New(nil)}
			b.cfg.Store, b.cfg.Blobs = store, store
			b.reopen()
			b.repo("lib", map[string]string{"a": "1\n"})
			w := b.create("/agents/a", nil)
			store.next = tt.mood
			_, err := w.Write(context.Background(), "/repos/lib/a", []byte("2\n"), WriteOptions{})
			if !errors.Is(err, tt.want) {
				t.Errorf("the write: got %v, want %v", err, tt.want)
			}
			want, records := "2\n", 2
			if tt.want != nil {
				want, records = "1\n", 1
			}
			other, err := b.process().Workspace(context.Background(), "/agents/a", Caller{Session: "elsewhere"})
			if err != nil {
				t.Fatal(err)
			}
			for who, s := range map[string]*space{"here": w, "elsewhere": {t, other}} {
				if got := s.read("/repos/lib/a"); got != want {
					t.Errorf("%s: got %q, want %q", who, got, want)
				}
			}
			if got := w.snap().State.Seq; got != Seq(records) {
				t.Errorf("%d records, want %d", got, records)
			}
			w.write("/repos/lib/a", "3\n")
		})
	}
}

// crowded is a store that tells of one record at a time.
type crowded struct{ *memory.Store }

func (c crowded) Since(ctx context.Context, after Position) ([]Record, Position, error) {
	records, _, err := c.Store.Since(ctx, after)
	if len(records) == 0 {
		return nil, after, err
	}
	return records[:1], after + 1, err
}

// A process that slept takes in everything that others did, however many answers
// of the feed that is.
func TestFeedInPages(t *testing.T) {
	b := newBench(t, nil)
	store := crowded{memory.New(nil)}
	b.cfg.Store, b.cfg.Blobs = store, store
	b.reopen()
	w := b.create("/agents/a", nil)
	other, err := b.process().Workspace(context.Background(), "/agents/a", Caller{Session: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1", "2", "3"} {
		(&space{t, other}).write("/workspace/x", text)
	}
	if got := w.read("/workspace/x"); got != "3" {
		t.Errorf("got %q, want what the other process wrote last", got)
	}
}

// A workspace that a newer version wrote to is read, and nothing is recorded.
func TestUnreadWorkspace(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	w.write("/repos/app/a", "2\n")
	_, err := b.cfg.Store.Append(context.Background(), Batch{
		Stream: StreamID{Project: "p", Name: "/agents/a"}, Last: Any,
		Events: []Event{{ID: "newer", Type: WorkspaceChanged, Version: 99, Payload: []byte(`{}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read("/repos/app/a"); got != "2\n" {
		t.Errorf("read %q", got)
	}
	before := w.snap().State.Seq
	if _, err := w.Write(context.Background(), "/repos/app/a", []byte("3\n"), WriteOptions{}); !errors.Is(err, Unavailable) {
		t.Errorf("write: got %v, want unavailable", err)
	}
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Unavailable) {
		t.Errorf("commit: got %v, want unavailable", err)
	}
	if after := w.snap().State.Seq; after != before {
		t.Errorf("%d records were appended", after-before)
	}
}
