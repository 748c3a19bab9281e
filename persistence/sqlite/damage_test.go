package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// TestDamagedRecord changes a column of a stored row at a time. Whoever reads
// the record is told which one it is; its neighbours stay readable.
func TestDamagedRecord(t *testing.T) {
	changes := []struct{ column, value, seq string }{
		{"id", "'x'", "1"}, {"type", "'x'", "1"}, {"version", "7", "1"}, {"at", "NULL", "1"}, {"actor", "'x'", "1"},
		{"session", "'x'", "1"}, {"client", "'x'", "1"}, {"key", "'x'", "1"}, {"request", "'x'", "1"}, {"result", "x'00'", "1"},
		{"payload", "CAST(replace(payload, 'd', 'e') AS BLOB)", "1"}, {"checksum", "checksum + 1", "1"}, {"checksum", "-1", "2"},
		{"payload_body", "zeroblob(20)", "2"}, {"bodies", "NULL", "2"},
	}
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	follower := openAt(t, path, nil) // one that has not appended the records itself
	batches, body := sample(t)
	for _, change := range changes {
		t.Run(change.column, func(t *testing.T) {
			name := "/agents/" + change.column + change.seq
			before, err := s.End(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b := batches[0]
			b.Stream, b.Bodies = stream(name), []workspace.Body{body}
			if _, err := s.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			execRaw(t, path, "UPDATE events SET "+change.column+" = "+change.value+
				" WHERE seq = "+change.seq+" AND stream = (SELECT id FROM streams WHERE name = ?)", name)
			check := func(what string, err error) {
				t.Helper()
				if workspace.KindOf(err) != workspace.Corrupt || !strings.Contains(err.Error(), name+": record "+change.seq+" ") {
					t.Errorf("%s: got error %v, want one of kind corrupt that names the record", what, err)
				}
			}
			check("records", lastError(t.Context(), s, name))
			for err == nil { // what is before the damage comes first
				var recs []workspace.Record
				if recs, before, err = follower.Since(t.Context(), before); err == nil && len(recs) == 0 {
					break
				}
			}
			check("since", err)
			if change.column != "id" {
				_, err = s.Find(t.Context(), stream(name), "e"+change.seq)
				check("find", err)
				_, err = s.Append(t.Context(), b)
				check("repeated append", err)
			}
			neighbour := map[string]string{"1": "e2", "2": "e1"}[change.seq]
			if _, err := s.Find(t.Context(), stream(name), neighbour); err != nil {
				t.Errorf("find its neighbour: %v", err)
			}
		})
	}
}

// lastError is what ends an iteration, nil for its end.
func lastError(ctx context.Context, s *Store, name string) error {
	for _, err := range s.Records(ctx, stream(name), 0) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMissingRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	for i, id := range []string{"1", "2", "3"} {
		if _, err := s.Append(t.Context(), batch("/agents/a", workspace.Seq(i), id)); err != nil {
			t.Fatal(err)
		}
	}
	execRaw(t, path, "DELETE FROM events WHERE seq = 2")
	err := lastError(t.Context(), s, "/agents/a")
	if workspace.KindOf(err) != workspace.Corrupt || !strings.Contains(err.Error(), "/agents/a: record 2 ") {
		t.Errorf("got error %v, want one of kind corrupt that names the record", err)
	}
}

func TestDamagedCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	if err := s.SaveCheckpoint(t.Context(), stream("/agents/a"), 1, 1, []byte("state")); err != nil {
		t.Fatal(err)
	}
	execRaw(t, path, "UPDATE checkpoints SET state = x'00'")
	if _, _, err := s.LoadCheckpoint(t.Context(), stream("/agents/a"), 1); workspace.KindOf(err) != workspace.NotExist {
		t.Errorf("got error %v, want one of kind not_exist", err)
	}
}

// TestDamagedFile overwrites the pages of a database, one at a time. Whatever
// is read then is right or Corrupt.
func TestDamagedFile(t *testing.T) {
	const pageSize = 4096
	whole, err := os.ReadFile("testdata/schema1.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "carrel.db")
	corrupt := 0
	for at := 0; at < len(whole); at += pageSize {
		damaged := append([]byte(nil), whole...)
		for i := at + 100; i < at+pageSize; i++ { // past the header of the first page
			damaged[i] ^= 0x55
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, nil)
		if err == nil {
			err = errors.Join(lastError(t.Context(), s, "/agents/a"), lastError(t.Context(), s, "/"))
			if closeErr := s.Close(); closeErr != nil {
				t.Errorf("page %d: close: %v", at/pageSize, closeErr)
			}
		}
		switch workspace.KindOf(err) {
		case "":
		case workspace.Corrupt:
			corrupt++
		default:
			t.Errorf("page %d: got error %v, want none or one of kind corrupt", at/pageSize, err)
		}
	}
	if corrupt < 3 {
		t.Errorf("got %d pages whose damage was noticed, want at least the schema, the events and their index", corrupt)
	}
}
