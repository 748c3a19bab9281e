package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// TestExamineDamage has every kind of damage in one stream: what can be read is
// yielded, and each damage once, in its place.
func TestExamineDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	for i := range 2 * pageRecords / 100 {
		var b workspace.Batch
		for j := range 100 {
			b.Events = append(b.Events, workspace.Event{ID: fmt.Sprint(i, "-", j), Type: "test/x", Version: 1})
		}
		b.Stream, b.Last = stream("/agents/a"), workspace.Seq(100*i)
		if _, err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	const end = 2 * pageRecords
	execRaw(t, path, "UPDATE events SET actor = 'x' WHERE seq IN (1, 8, 9, 2001, ?)", end)
	execRaw(t, path, "DELETE FROM events WHERE seq IN (3, 5, 6, 7, 2000)")
	var got []string
	whole := 0
	for rec, err := range s.Examine(t.Context(), stream("/agents/a")) {
		if err == nil {
			whole++
			continue
		}
		if workspace.KindOf(err) != workspace.Corrupt {
			t.Errorf("record %d: got %v", rec.Seq, err)
		}
		got = append(got, fmt.Sprint(rec.Seq, strings.Contains(err.Error(), "is missing")))
	}
	want := []string{"1 false", "3 true", "5 true", "8 false", "9 false", "2000 true", "2001 false", fmt.Sprint(end, " false")}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("damage (-want +got):\n%s", d)
	}
	if whole != end-10 {
		t.Errorf("got %d whole records, want %d", whole, end-10)
	}
}

// TestStructure damages an index: the records are whole, and the database is not.
func TestStructure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	if _, err := s.Append(t.Context(), batch("/agents/a", 0, "e1")); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want ...string) {
		t.Helper()
		got, err := s.Structure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, text) }) {
				t.Errorf("%s: got %q, want %q in it", what, got, text)
			}
		}
		if len(want) == 0 && len(got) > 0 {
			t.Errorf("%s: got %q, want nothing", what, got)
		}
	}
	check("sound")
	// An index that knows nothing of a row: for whoever adds the row, it is one of
	// other rows.
	redefine := func(was, is string) {
		execRaw(t, path, `PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = replace(sql, '`+was+`', '`+is+`') WHERE name = 'events_of_commits'`)
	}
	redefine("workspace/commit", "workspace/nothing")
	execRaw(t, path, `INSERT INTO events (stream, seq, id, type, version, actor, session, client, key, request, checksum)
		VALUES (1, 2, 'e2', 'workspace/committing', 1, '', '', '', '', '', 0)`)
	redefine("workspace/nothing", "workspace/commit")
	check("an index without a row", "missing from index")
	if err := s.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after Reindex")
	execRaw(t, path, "UPDATE events SET stream = 77 WHERE seq = 2")
	check("a record of no stream", "a row of events refers to one of streams")
}

// TestExamineCheckpointDamage tells a damaged checkpoint from none.
func TestExamineCheckpointDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	if err := s.SaveCheckpoint(t.Context(), stream("/agents/a"), 1, 1, []byte("state")); err != nil {
		t.Fatal(err)
	}
	execRaw(t, path, "UPDATE checkpoints SET state = x'00'")
	if _, err := s.ExamineCheckpoint(t.Context(), stream("/agents/a")); workspace.KindOf(err) != workspace.Corrupt {
		t.Errorf("got error %v, want one of kind corrupt", err)
	}
}

// TestSweepOldSample sweeps a database that version 1 of the schema wrote.
func TestSweepOldSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	sample, err := os.ReadFile("testdata/schema1.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, sample, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path, nil)
	var listed []workspace.OID
	for c, err := range s.Contents(t.Context(), s.now()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, c.ID)
	}
	gone, err := s.Sweep(t.Context(), s.now(), 0, func([]workspace.Record) ([]workspace.OID, error) { return listed, nil })
	if err != nil || len(gone) == 0 || len(gone) != len(listed) {
		t.Errorf("got %d of %d contents removed, %v", len(gone), len(listed), err)
	}
}
