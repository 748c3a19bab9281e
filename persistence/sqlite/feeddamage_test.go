package sqlite

import (
	"path/filepath"
	"testing"

	"carrel.dev/workspace"
)

// TestFeedUpToDamage damages the second of three records: the feed tells of the
// first one, and then that the second is damaged.
func TestFeedUpToDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	var events []workspace.Event
	for _, id := range []string{"one", "two", "three"} {
		events = append(events, workspace.Event{ID: id, Type: "test", Version: 1, Payload: []byte("{}")})
	}
	if _, err := s.Append(t.Context(), workspace.Batch{Stream: stream("/agents/a"), Events: events}); err != nil {
		t.Fatal(err)
	}
	execRaw(t, path, "UPDATE events SET actor = 'x' WHERE id = 'two'")
	follower := openAt(t, path, nil) // one that has not appended the records itself
	recs, end, err := follower.Since(t.Context(), 0)
	if err != nil || len(recs) != 1 || recs[0].ID != "one" {
		t.Fatalf("got %v, %v, want the record before the damage", recs, err)
	}
	recs, again, err := follower.Since(t.Context(), end)
	if workspace.KindOf(err) != workspace.Corrupt || len(recs) != 0 || again != end {
		t.Errorf("got %v up to %d, %v, want damage after %d", recs, again, err, end)
	}
}
