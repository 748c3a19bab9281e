package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/persistence/memory"
	"carrel.dev/workspace"
)

// FuzzStored appends any event to a database and to the reference, which take and
// refuse the same, and reads it back as it was.
func FuzzStored(f *testing.F) {
	f.Add("p", "/agents/a", "e1", "workspace/created", 1, int64(1), "ann", "k", []byte(`{"created":true}`), []byte(`{}`))
	f.Add("p\x00", "\xff'", "\u2028", "", -1, int64(-1<<63), "", "", []byte{0, 0xff}, []byte(nil))
	f.Add("", "/", "", "x", 1<<40, int64(0), "'; --", "\"", []byte{}, []byte("\x00"))
	db := openAt(f, filepath.Join(f.TempDir(), "carrel.db"), nil)
	f.Fuzz(func(t *testing.T, project, name, id, typ string, version int, at int64, actor, key string, result, payload []byte) {
		reference := memory.New(nil)
		e := workspace.Event{ID: id, Type: typ, Version: version, Actor: actor, Session: name, Client: typ, Key: key, Request: actor, Result: result, Payload: payload}
		if at != 0 {
			e.At = time.Unix(0, at)
		}
		b := workspace.Batch{Stream: workspace.StreamID{Project: project, Name: name}, Last: workspace.Any, Events: []workspace.Event{e}}
		want, wantErr := reference.Append(t.Context(), b)
		got, err := db.Append(t.Context(), b)
		if workspace.KindOf(err) == workspace.Conflict {
			return // an earlier input had this id
		}
		if workspace.KindOf(err) != workspace.KindOf(wantErr) {
			t.Fatalf("got %v, the reference says %v", err, wantErr)
		}
		if err != nil {
			return
		}
		stored, err := db.Find(t.Context(), b.Stream, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []workspace.Record{got[0], stored} {
			if !events.Same(r.Event, want[0].Event) || r.Stream != b.Stream {
				t.Errorf("got %+v, want %+v", r, want[0])
			}
		}
	})
}

// FuzzDamagedRow puts any value into a column of a stored record. The record is
// read as it was, or is Corrupt.
func FuzzDamagedRow(f *testing.F) {
	columns := []string{"id", "type", "version", "at", "actor", "session", "client", "key", "request", "result", "payload", "payload_body", "bodies", "checksum", "seq"}
	f.Add(uint8(0), uint8(0), []byte("x"))
	f.Add(uint8(2), uint8(1), []byte("1"))
	f.Add(uint8(3), uint8(2), []byte("9223372036854775807"))
	f.Add(uint8(12), uint8(0), []byte("twenty bytes or more of ids"))
	f.Add(uint8(13), uint8(3), []byte{})
	path := filepath.Join(f.TempDir(), "carrel.db")
	s := openAt(f, path, nil)
	body := []byte("a payload that is a body")
	id, err := workspace.BlobID(body)
	if err != nil {
		f.Fatal(err)
	}
	want := workspace.Event{
		ID: "e1", Type: "workspace/created", Version: 1, At: time.Unix(1, 2).UTC(), Actor: "ann", Session: "s", Client: "c",
		Key: "k", Request: "r", Result: []byte(`{"created":true}`), Payload: []byte(`{"digest":"d"}`), PayloadBody: id, Bodies: []workspace.OID{id},
	}
	if _, err := s.Append(f.Context(), workspace.Batch{
		Stream: stream("/agents/a"), Events: []workspace.Event{want}, Bodies: []workspace.Body{{ID: id, Content: body}},
	}); err != nil {
		f.Fatal(err)
	}
	db := raw(f, path)
	if _, err := db.Exec("CREATE TABLE saved AS SELECT * FROM events"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, column, kind uint8, value []byte) {
		name := columns[int(column)%len(columns)]
		as := []string{"CAST(? AS BLOB)", "CAST(? AS TEXT)", "CAST(? AS INTEGER)", "nullif(?, '')"}[kind%4]
		if _, err := db.Exec("UPDATE events SET "+name+" = "+as, value); err != nil {
			return // the schema forbids it
		}
		defer func() {
			if _, err := db.Exec("UPDATE events SET " + name + " = (SELECT " + name + " FROM saved)"); err != nil {
				t.Fatal(err)
			}
		}()
		for r, err := range s.Records(t.Context(), stream("/agents/a"), 0) {
			if err != nil && workspace.KindOf(err) != workspace.Corrupt {
				t.Errorf("%s = %s of %q: %v", name, as, value, err)
			}
			if err == nil && (!events.Same(r.Event, want) || r.Seq != 1) {
				t.Errorf("%s = %s of %q is read as %+v", name, as, value, r)
			}
		}
		if r, err := s.Find(t.Context(), stream("/agents/a"), "e1"); err == nil && !events.Same(r.Event, want) {
			t.Errorf("%s = %s of %q is found as %+v", name, as, value, r)
		}
	})
}
