package sqlite

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// later1 and later2 are migrations of a future that the tests imagine.
const (
	later1 = "ALTER TABLE checkpoints ADD COLUMN note TEXT"
	later2 = "CREATE TABLE later (x INTEGER) STRICT; INSERT INTO later VALUES (1)"
)

func checkTooNew(t *testing.T, err error, found, known int) {
	t.Helper()
	if workspace.KindOf(err) != workspace.Unavailable || workspace.HintOf(err) == "" {
		t.Fatalf("got error %v with hint %q, want one of kind unavailable with a hint", err, workspace.HintOf(err))
	}
	for _, version := range []string{fmt.Sprint("version ", found), fmt.Sprint("up to ", known)} {
		if !strings.Contains(err.Error(), version) {
			t.Errorf("got error %q, want it to say %q", err, version)
		}
	}
}

// TestUpgrade has a newer program upgrade the database under an older one.
func TestUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	old := openAt(t, path, nil)
	if _, err := old.Append(t.Context(), batch("/agents/a", 0, "1")); err != nil {
		t.Fatal(err)
	}
	known := len(migrations())
	future := append(migrations(), later1, later2)
	newer, err := open(t.Context(), path, nil, future)
	if err != nil {
		t.Fatal(err)
	}
	defer newer.Close()

	_, err = old.Append(t.Context(), batch("/agents/a", 1, "2"))
	checkTooNew(t, err, known+2, known)
	_, err = old.Put(t.Context(), strings.NewReader("x"), 1)
	checkTooNew(t, err, known+2, known)
	if err := old.SaveCheckpoint(t.Context(), stream("/agents/a"), 1, 1, nil); err == nil {
		t.Error("save a checkpoint into a newer schema: no error")
	}
	if _, err := newer.Append(t.Context(), batch("/agents/a", 1, "2")); err != nil {
		t.Errorf("append by the newer program: %v", err)
	}
	_, err = Open(t.Context(), path, nil)
	checkTooNew(t, err, known+2, known)
	again, err := open(t.Context(), path, nil, future)
	if err != nil {
		t.Fatalf("open what is upgraded already: %v", err)
	}
	again.Close()
}

// TestUpgradeFails has the second of two steps fail: the first stays, of the
// second nothing.
func TestUpgradeFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	openAt(t, path, nil)
	broken := append(migrations(), later1, later2+"; INSERT INTO nowhere VALUES (1)")
	if s, err := open(t.Context(), path, nil, broken); err == nil {
		s.Close()
		t.Fatal("open with a migration that fails: no error")
	}
	var version, later int
	err := raw(t, path).QueryRow("SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema WHERE name = 'later')").Scan(&version, &later)
	if err != nil || version != len(migrations())+1 || later != 0 {
		t.Errorf("got version %d and %d tables of the failed step, %v", version, later, err)
	}
	s, err := open(t.Context(), path, nil, append(migrations(), later1, later2))
	if err != nil {
		t.Fatalf("open with the step mended: %v", err)
	}
	s.Close()
}

func TestForeignFile(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, bytes.Repeat([]byte("no database at all\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	execRaw(t, other, "PRAGMA user_version = 1; CREATE TABLE theirs (x)")
	for path, want := range map[string]workspace.Kind{text: workspace.Corrupt, other: workspace.Invalid} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path, nil); workspace.KindOf(err) != want || workspace.HintOf(err) == "" {
			t.Errorf("open %s: got error %v, want one of kind %s with a hint", filepath.Base(path), err, want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("open %s: the file has changed, %v", filepath.Base(path), err)
		}
	}
}

// TestOpenFresh opens a fresh database from many sides at once, at a path with
// characters that mean something in a URI.
func TestOpenFresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a dir?mode=memory#%41&x=", "carrel.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), path, nil)
			if err != nil {
				t.Errorf("open %d: %v", i, err)
				return
			}
			if _, err := s.Append(t.Context(), batch("/", workspace.Any, fmt.Sprint(i))); err != nil {
				t.Errorf("append %d: %v", i, err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode of the database: got %o, want 600", st.Mode().Perm())
	}
	s := openAt(t, path, nil)
	n := 0
	for _, err := range s.Records(t.Context(), stream("/"), 0) {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if n != 8 {
		t.Errorf("got %d records, want 8", n)
	}
}

func TestOpenNowhere(t *testing.T) {
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "no", "carrel.db"), nil)
	if workspace.KindOf(err) != workspace.Unavailable || strings.Contains(err.Error(), "/") {
		t.Errorf("got error %v, want one of kind unavailable without the path", err)
	}
}

var writeSample = flag.Bool("write-sample", false, "write the sample of the newest schema into testdata; only before it is released")

// sample is what every testdata/schemaN.db holds.
func sample(t *testing.T) ([]workspace.Batch, workspace.Body) {
	t.Helper()
	content := []byte(`{"op":"a payload that is a body"}`)
	id, err := workspace.BlobID(content)
	if err != nil {
		t.Fatal(err)
	}
	return []workspace.Batch{
		{Stream: stream("/agents/a"), Events: []workspace.Event{
			{
				ID: "e1", Type: "workspace/created", Version: 1, At: time.Date(2026, 11, 29, 1, 2, 3, 4, time.UTC), Actor: "ann",
				Session: "s", Client: "c", Key: "k", Request: "r", Result: []byte(`{"created":true}`), Payload: []byte(`{"digest":"d"}`),
			},
			{ID: "e2", Type: "workspace/changed", Version: 2, At: time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), PayloadBody: id, Bodies: []workspace.OID{id, id}},
		}},
		{Stream: stream("/"), Last: workspace.Any, Events: []workspace.Event{{ID: "e1", Type: "project/created", Version: 1}}},
		{Stream: workspace.StreamID{Project: "q", Name: "/"}, Events: []workspace.Event{{ID: "e1", Type: "project/created", Version: 1}}},
	}, workspace.Body{ID: id, Content: content}
}

// sampleTokens are what the samples since schema version 2 hold.
func sampleTokens() []workspace.Token {
	revoked := someToken("revoked")
	revoked.Revoked = time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	return []workspace.Token{someToken("kept"), revoked}
}

// sampleKept is what the samples since schema version 2 keep, under the key 1.
func sampleKept() []byte { return []byte("id: a-1\nevent: message\ndata: {}\n\n") }

// writeNewest writes the sample of the newest schema.
func writeNewest(t *testing.T) {
	t.Helper()
	batches, body := sample(t)
	path := filepath.Join(t.TempDir(), "carrel.db")
	s, err := Open(t.Context(), path, &Config{Now: func() time.Time { return time.Unix(1, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	batches[0].Bodies = []workspace.Body{body}
	_, err = s.Append(t.Context(), batches...)
	err = errors.Join(err, s.SaveCheckpoint(t.Context(), stream("/agents/a"), 2, 3, []byte("state")))
	for _, tok := range sampleTokens() {
		err = errors.Join(err, s.AddToken(t.Context(), tok))
	}
	err = errors.Join(err, s.Keep(t.Context(), [32]byte{1}, sampleKept(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)), s.Close())
	data, readErr := os.ReadFile(path)
	if err := errors.Join(err, readErr, os.WriteFile(samplePath(len(migrations())), data, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func samplePath(version int) string { return fmt.Sprintf("testdata/schema%d.db", version) }

// TestSample opens copies of databases that each schema version wrote.
func TestSample(t *testing.T) {
	if *writeSample {
		writeNewest(t)
	}
	for version := range len(migrations()) {
		version++
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			data, err := os.ReadFile(samplePath(version))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "carrel.db")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			checkSchema(t, path, version)
			s := openAt(t, path, nil)
			checkSample(t, s)
			if version >= 2 {
				got, err := s.Tokens(t.Context(), "p")
				if diff := cmp.Diff(sampleTokens(), got); diff != "" || err != nil {
					t.Errorf("tokens, %v (-want +got):\n%s", err, diff)
				}
				if kept, err := s.Kept(t.Context(), [32]byte{1}); !bytes.Equal(kept, sampleKept()) || err != nil {
					t.Errorf("kept: got %q, %v", kept, err)
				}
			}
			if err := s.AddToken(t.Context(), someToken("new")); err != nil {
				t.Errorf("add a token: %v", err)
			}
			if err := s.Keep(t.Context(), [32]byte{2}, nil, time.Now().Add(time.Hour)); err != nil {
				t.Errorf("keep: %v", err)
			}
		})
	}
}

// checkSample fails if a store does not hold what the samples hold, or cannot be
// written to.
func checkSample(t *testing.T, s *Store) {
	t.Helper()
	batches, body := sample(t)
	var want []workspace.Record
	for _, b := range batches {
		for i, e := range b.Events {
			want = append(want, workspace.Record{Stream: b.Stream, Seq: workspace.Seq(i + 1), Event: e})
		}
	}
	got, _, err := s.Since(t.Context(), 0)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("records, %v (-want +got):\n%s", err, diff)
	}
	if at, state, err := s.LoadCheckpoint(t.Context(), stream("/agents/a"), 3); at != 2 || string(state) != "state" || err != nil {
		t.Errorf("checkpoint: got %d %q, %v", at, state, err)
	}
	r, err := s.Open(t.Context(), body.ID)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(r); !bytes.Equal(content, body.Content) || err != nil {
		t.Errorf("body: got %q, %v", content, err)
	}
	if _, err := s.Append(t.Context(), batches...); err != nil {
		t.Errorf("repeat what is stored: %v", err)
	}
	if _, err := s.Append(t.Context(), batch("/agents/a", 2, "e3")); err != nil {
		t.Errorf("append: %v", err)
	}
}

// checkSchema fails if the migrations do not make the schema that a version has
// had.
func checkSchema(t *testing.T, path string, version int) {
	t.Helper()
	fresh := filepath.Join(t.TempDir(), "carrel.db")
	if err := create(fresh); err != nil {
		t.Fatal(err)
	}
	conn, err := raw(t, fresh).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := migrate(t.Context(), conn, migrations()[:version]); err != nil {
		t.Fatal(err)
	}
	schema := func(path string) (text string) {
		row := raw(t, path).QueryRow("SELECT group_concat(sql, char(10) ORDER BY name) FROM sqlite_schema")
		if err := row.Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	if diff := cmp.Diff(schema(path), schema(fresh)); diff != "" {
		t.Errorf("schema of version %d (-testdata +made now):\n%s", version, diff)
	}
}
