package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/workspace"
)

func TestLarge(t *testing.T) {
	large, lost, failing := workspace.OID{1}, workspace.OID{2}, workspace.OID{3}
	broken := errors.New("the other store is away")
	s := openAt(t, filepath.Join(t.TempDir(), "carrel.db"), &Config{Large: func(_ context.Context, id workspace.OID) (bool, error) {
		if id == failing {
			return false, broken
		}
		return id == large, nil
	}})
	try := func(bodies ...workspace.OID) error {
		b := batch("/agents/a", workspace.Any, "e")
		b.Events[0].Bodies = bodies
		_, err := s.Append(t.Context(), b)
		return err
	}
	if err := try(large, failing); !errors.Is(err, broken) {
		t.Errorf("got error %v, want that of the other store", err)
	}
	var missing *workspace.MissingBodiesError
	if err := try(large, lost); !errors.As(err, &missing) || len(missing.IDs) != 1 || missing.IDs[0] != lost {
		t.Errorf("got error %v, want one that names %s", err, lost)
	}
	small, err := s.Put(t.Context(), strings.NewReader("small"), 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := try(small, large); err != nil {
		t.Error(err)
	}
}

// TestUsed looks at the date of the last use, which garbage collection goes by.
func TestUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	now := time.Unix(1_000, 0)
	s := openAt(t, path, &Config{Now: func() time.Time { return now }})
	_, body := sample(t)
	put := func() error {
		_, err := s.Put(t.Context(), strings.NewReader(string(body.Content)), int64(len(body.Content)))
		return err
	}
	carry := func() error {
		_, err := s.Append(t.Context(), workspace.Batch{Stream: stream("/"), Last: workspace.Any, Bodies: []workspace.Body{body}})
		return err
	}
	for i, use := range []func() error{put, put, carry, put} {
		now = now.Add(time.Hour)
		if err := use(); err != nil {
			t.Fatal(err)
		}
		var rows int
		var used int64
		if err := raw(t, path).QueryRow("SELECT count(*), max(used) FROM bodies").Scan(&rows, &used); err != nil {
			t.Fatal(err)
		}
		if rows != 1 || used != now.Unix() {
			t.Errorf("use %d: got %d rows used at %d, want one at %d", i, rows, used, now.Unix())
		}
	}
}

func TestTooLarge(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "carrel.db"), nil)
	if _, err := s.Put(t.Context(), strings.NewReader(""), maxBody+1); workspace.KindOf(err) != workspace.Limit {
		t.Errorf("got error %v, want one of kind limit", err)
	}
}
