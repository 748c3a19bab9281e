package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"carrel.dev/workspace"
)

// TestFaultPoints fails an append at each of its steps. It has an effect only if
// the transaction was committed, which a repeat finds; the store goes on.
func TestFaultPoints(t *testing.T) {
	var fails string
	stopped := errors.New("stopped")
	s := openAt(t, filepath.Join(t.TempDir(), "carrel.db"), &Config{Fault: func(point string) error {
		if point == fails {
			return stopped
		}
		return nil
	}})
	for i, point := range FaultPoints {
		fails = point
		if _, err := s.Append(t.Context(), batch("/agents/a", workspace.Any, point)); !errors.Is(err, stopped) {
			t.Errorf("%s: got error %v, want the fault's", point, err)
		}
		_, err := s.Find(t.Context(), stream("/agents/a"), point)
		if found := err == nil; found != (point == Committed) {
			t.Errorf("%s: the event is there: %v, %v", point, found, err)
		}
		fails = ""
		recs, err := s.Append(t.Context(), batch("/agents/a", workspace.Any, point))
		if err != nil || recs[0].Seq != workspace.Seq(i+1) {
			t.Errorf("%s, repeated: got %v, %v, want seq %d", point, recs, err, i+1)
		}
	}
}
