package workspacetest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// later is a time after which everything was put that a test puts.
func later() time.Time { return time.Now().Add(time.Hour) }

// all chooses some contents whatever came meanwhile.
func all(ids ...workspace.OID) func([]workspace.Record) ([]workspace.OID, error) {
	return func([]workspace.Record) ([]workspace.OID, error) { return ids, nil }
}

func testSweep(t *testing.T, c StoreTarget) {
	s, ok := c.Store.(workspace.Sweeper)
	if !ok {
		t.Skip("the store does not sweep")
	}
	old, kept := put(t, c.Blobs, []byte("a longer content that nobody names")), put(t, c.Blobs, []byte("a longer content that stays"))
	b := batch(stream("/agents/a"), 0, "e1")
	carried := body(t, "carried")
	b.Bodies, b.Events[0].Bodies = []workspace.Body{carried}, []workspace.OID{carried.ID}
	mustAppend(t, c.Store, b)

	// What was put since a time stays.
	gone, err := s.Sweep(t.Context(), time.Now().Add(-time.Hour), 0, all(old, kept, carried.ID))
	if len(gone) > 0 || err != nil {
		t.Errorf("sweep what is young: got %v, %v", gone, err)
	}
	// The choice is the caller's, and so is an error.
	if _, err := s.Sweep(t.Context(), later(), 0, func([]workspace.Record) ([]workspace.OID, error) { return []workspace.OID{old}, errStop }); !errors.Is(err, errStop) {
		t.Errorf("choose fails: got %v", err)
	}
	absent, _ := workspace.BlobID([]byte("never put"))
	gone, err = s.Sweep(t.Context(), later(), 0, all(old, absent))
	if err != nil || len(gone) != 1 || gone[0].ID != old || gone[0].Size != 34 {
		t.Errorf("sweep: got %v, %v", gone, err)
	}
	checkAbsent(t, c.Blobs, []byte("a longer content that nobody names"))
	checkContent(t, c.Blobs, kept, []byte("a longer content that stays"))
	checkContent(t, c.Blobs, carried.ID, carried.Content)

	// An append that names what is gone is told so, and may put it again.
	b = batch(stream("/agents/a"), 1, "e2")
	b.Events[0].Bodies = []workspace.OID{old}
	var missing *workspace.MissingBodiesError
	if _, err := c.Store.Append(t.Context(), b); !errors.As(err, &missing) || !slices.Equal(missing.IDs, []workspace.OID{old}) {
		t.Errorf("append after the sweep: got %v", err)
	}
	put(t, c.Blobs, []byte("a longer content that nobody names"))
	mustAppend(t, c.Store, b)
}

var errStop = errors.New("stop")

// testSweepSees has choose look at what was appended after a position.
func testSweepSees(t *testing.T, c StoreTarget) {
	s, ok := c.Store.(workspace.Sweeper)
	feed, can := c.Store.(workspace.Feed)
	if !ok || !can {
		t.Skip("the store does not sweep")
	}
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "e1", "e2"))
	after, err := feed.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := append(mustAppend(t, c.Store, batch(stream("/agents/a"), 2, "e3")), mustAppend(t, c.Store, batch(stream("/agents/b"), 0, "e4"))...)
	var got []workspace.Record
	_, err = s.Sweep(t.Context(), later(), after, func(newer []workspace.Record) ([]workspace.OID, error) {
		got = newer
		return nil, nil
	})
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("error %v, newer (-want +got):\n%s", err, d)
	}
	_, err = s.Sweep(canceled(t), later(), after, all())
	checkKind(t, err, workspace.Canceled)
}

func testExamine(t *testing.T, c StoreTarget) {
	s, ok := c.Store.(workspace.Examiner)
	if !ok {
		t.Skip("the store cannot be examined")
	}
	mustAppend(t, c.Store, batch(stream("/agents/b"), 0, "e1", "e2"))
	mustAppend(t, c.Store, batch(stream("/agents/a"), 0, "e1"))
	got, err := s.Streams(t.Context())
	if d := cmp.Diff([]workspace.StreamID{stream("/agents/a"), stream("/agents/b")}, got); d != "" || err != nil {
		t.Errorf("streams: error %v (-want +got):\n%s", err, d)
	}
	for _, id := range append(got, stream("/agents/none")) {
		var recs []workspace.Record
		for rec, err := range s.Examine(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			recs = append(recs, rec)
		}
		if d := cmp.Diff(read(t, c.Store, id, 0), recs); d != "" {
			t.Errorf("examine %s (-want +got):\n%s", id.Name, d)
		}
	}
	if err := s.Reindex(t.Context()); err != nil {
		t.Error(err)
	}
	if texts, err := s.Structure(t.Context()); len(texts) > 0 || err != nil {
		t.Errorf("structure: got %q, %v", texts, err)
	}
	for _, err := range s.Examine(canceled(t), got[0]) {
		checkKind(t, err, workspace.Canceled)
	}
}

func testExamineCheckpoint(t *testing.T, c StoreTarget) {
	s, ok := c.Store.(workspace.CheckpointExaminer)
	saver, can := c.Store.(workspace.Checkpointer)
	if !ok || !can {
		t.Skip("the store has no checkpoints")
	}
	a := stream("/agents/a")
	_, err := s.ExamineCheckpoint(t.Context(), a)
	checkKind(t, err, workspace.NotExist)
	if err := saver.SaveCheckpoint(t.Context(), a, 7, 3, []byte("state")); err != nil {
		t.Fatal(err)
	}
	got, err := s.ExamineCheckpoint(t.Context(), a)
	if d := cmp.Diff(workspace.Checkpoint{At: 7, Version: 3, State: []byte("state")}, got); d != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, d)
	}
	for range 2 { // once more is harmless
		if err := s.DropCheckpoint(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.ExamineCheckpoint(t.Context(), a)
	checkKind(t, err, workspace.NotExist)
	if err := saver.SaveCheckpoint(t.Context(), a, 5, 3, []byte("earlier")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ExamineCheckpoint(t.Context(), a); got.At != 5 || err != nil {
		t.Errorf("saved after the drop: got %+v, %v", got, err)
	}
}

func testContents(t *testing.T, c BlobsTarget) {
	b, ok := c.Blobs.(workspace.Inventory)
	if !ok {
		t.Skip("the store does not list contents")
	}
	start := time.Now().Truncate(time.Second)
	want := map[workspace.OID]int64{}
	for _, size := range sizes {
		want[put(t, c.Blobs, random(size))] = int64(size)
	}
	// A name may stand for a content that is damaged.
	for id, size := range want {
		if size == 300<<10 {
			c.Damage(t, id, func(b []byte) []byte { b[0] ^= 1; return b })
		}
	}
	list := func(before time.Time) (got []workspace.Stored) {
		t.Helper()
		for s, err := range b.Contents(t.Context(), before) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		return got
	}
	for _, before := range []time.Time{{}, later()} {
		got := list(before)
		if !slices.IsSortedFunc(got, func(a, b workspace.Stored) int { return bytes.Compare(a.ID[:], b.ID[:]) }) {
			t.Error("not sorted")
		}
		sized := map[workspace.OID]int64{}
		for _, s := range got {
			sized[s.ID] = s.Size
			if s.Used.Before(start) || s.Used.After(later()) {
				t.Errorf("content of %d bytes: used %v, want since %v", s.Size, s.Used, start)
			}
		}
		if d := cmp.Diff(want, sized); d != "" || len(got) != len(want) {
			t.Errorf("got %d (-want +got):\n%s", len(got), d)
		}
	}
	if got := list(start.Add(-time.Hour)); len(got) > 0 {
		t.Errorf("before all: got %v", got)
	}
	for _, err := range b.Contents(canceled(t), time.Time{}) {
		checkKind(t, err, workspace.Canceled)
	}
}
