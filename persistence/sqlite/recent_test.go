package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

// TestRecent has two processes append, in turns of random length, some appends
// failing, and holds what each of them is told after any position against what a
// third one reads.
func TestRecent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "carrel.db")
	stores := []*Store{openAt(t, path, nil), openAt(t, path, nil)}
	reads := openAt(t, path, nil)
	large := strings.Repeat("x", 60<<10) // some fill what is kept
	for i := range 300 {
		s := stores[rnd.IntN(2)]
		for range 1 + rnd.IntN(5) {
			payload := "{}"
			if rnd.IntN(4) == 0 {
				payload = `"` + large + `"`
			}
			e := workspace.Event{ID: fmt.Sprint(rnd.Int64()), Type: "test", Version: 1, Payload: []byte(payload)}
			b := workspace.Batch{Stream: stream(fmt.Sprint("/agents/", rnd.IntN(3))), Last: workspace.Any, Events: []workspace.Event{e}}
			if rnd.IntN(5) == 0 {
				b.Last = 1 << 20 // it does not end there
			}
			if _, err := s.Append(t.Context(), b); (err == nil) != (b.Last == workspace.Any) {
				t.Fatal(err)
			}
		}
		if i%7 > 0 {
			continue
		}
		end, err := reads.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after := end - workspace.Position(rnd.IntN(min(int(end), 60)+1))
		want := all(t, reads, after)
		for n, s := range stores {
			if diff := cmp.Diff(want, all(t, s, after)); diff != "" {
				t.Fatalf("step %d: process %d after %d of %d (-want +got)\n%s", i, n, after, end, diff)
			}
		}
	}
}

// all reads a feed from a position to its end.
func all(t *testing.T, s *Store, after workspace.Position) (recs []string) {
	t.Helper()
	for {
		more, end, err := s.Since(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if len(more) == 0 {
			return recs
		}
		for _, r := range more {
			recs = append(recs, fmt.Sprintf("%s %d %s %d %x", r.Stream.Name, r.Seq, r.ID, len(r.Payload), checksum(r)))
		}
		after = end
	}
}
