package sqlite

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"carrel.dev/workspace"
)

// keptNumber is the key of what the tests keep.
func keptNumber(n int) (key [32]byte) {
	key[0], key[1] = byte(n>>8), byte(n)
	return key
}

func checkKept(t *testing.T, s *Store, n int, want string) {
	t.Helper()
	got, err := s.Kept(t.Context(), keptNumber(n))
	if want == "" && workspace.KindOf(err) != workspace.NotExist || want != "" && (string(got) != want || err != nil) {
		t.Errorf("key %d: got %.20q, %v; want %.20q", n, got, err, want)
	}
}

func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	now := time.Unix(1_000_000, 0)
	cfg := &Config{Now: func() time.Time { return now }}
	s := openAt(t, path, cfg)
	keep := func(n int, value string, d time.Duration) {
		t.Helper()
		if err := s.Keep(t.Context(), keptNumber(n), []byte(value), now.Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	keep(1, "short", time.Minute)
	keep(2, "first", time.Hour)
	keep(2, "second", time.Hour)
	checkKept(t, s, 1, "short")
	checkKept(t, s, 2, "second")
	checkKept(t, s, 3, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, cfg)
	checkKept(t, s, 2, "second")
	now = now.Add(time.Minute)
	checkKept(t, s, 1, "")
	keep(4, "new", time.Hour)
	var rows int
	if err := raw(t, path).QueryRow("SELECT count(*) FROM kept").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows are there, %v; want 2, since one has expired", rows, err)
	}
	execRaw(t, path, "UPDATE kept SET value = CAST('secomd' AS BLOB) WHERE value = CAST('second' AS BLOB)")
	if _, err := s.Kept(t.Context(), keptNumber(2)); workspace.KindOf(err) != workspace.Corrupt {
		t.Errorf("a value that was changed: %v", err)
	}
}

// TestKeptIsBounded keeps much more than there is room for, some of it twice and some
// of it for a moment: the newest stay, and the room is never exceeded.
func TestKeptIsBounded(t *testing.T) {
	const room, size, n = 100_000, 1000, 500
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, &Config{Kept: room})
	value := bytes.Repeat([]byte("x"), size)
	db := raw(t, path)
	for i := range n {
		until := time.Now().Add(time.Hour)
		if i%7 == 0 {
			until = time.Now().Add(-time.Hour)
		}
		for range 1 + i%2 {
			if err := s.Keep(t.Context(), keptNumber(i), value, until); err != nil {
				t.Fatal(err)
			}
		}
		var taken int
		if err := db.QueryRow("SELECT coalesce(sum(length(value)), 0) FROM kept").Scan(&taken); err != nil || taken > room+size {
			t.Fatalf("after %d values %d bytes are kept, %v", i+1, taken, err)
		}
	}
	for i := n - 30; i < n; i++ {
		want := string(value)
		if i%7 == 0 {
			want = ""
		}
		checkKept(t, s, i, want)
	}
	checkKept(t, s, 1, "")
	if err := s.Keep(t.Context(), keptNumber(1), make([]byte, room), time.Now().Add(time.Hour)); workspace.KindOf(err) != workspace.Limit {
		t.Errorf("a value larger than the room: %v", err)
	}
	checkKept(t, s, n-2, string(value))
}
