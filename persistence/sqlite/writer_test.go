package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

func stream(name string) workspace.StreamID { return workspace.StreamID{Project: "p", Name: name} }

func batch(name string, last workspace.Seq, id string) workspace.Batch {
	return workspace.Batch{Stream: stream(name), Last: last, Events: []workspace.Event{{ID: id, Type: "test/event", Version: 1}}}
}

// lockDatabase holds the write lock of a database as another process would, and
// returns what releases it.
func lockDatabase(t *testing.T, path string) (release func()) {
	t.Helper()
	db := raw(t, path)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		conn.Close()
		db.Close()
	}
}

// TestGroup has appends wait for a database that is locked. Those that are given
// up meanwhile leave nothing; then the others go into few transactions, in which
// one that conflicts fails alone.
func TestGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	release := lockDatabase(t, path)

	ctx, giveUp := context.WithCancel(t.Context())
	var wg, given sync.WaitGroup
	for i := range 5 {
		given.Go(func() {
			if _, err := s.Append(ctx, batch("/agents/given-up", workspace.Any, fmt.Sprint(i))); workspace.KindOf(err) != workspace.Canceled {
				t.Errorf("given up append %d: got error %v, want one of kind canceled", i, err)
			}
		})
	}
	for i := range 20 {
		wg.Go(func() {
			name := fmt.Sprint("/agents/", i)
			_, err := s.Append(t.Context(), batch(name, workspace.Seq(i%2), "e"))
			if conflict := errors.Is(err, workspace.Conflict); conflict != (i%2 == 1) || !conflict && err != nil {
				t.Errorf("append %d: got error %v", i, err)
			}
		})
	}
	giveUp()
	given.Wait()
	release()
	wg.Wait()
	for i := range 20 {
		_, err := s.Find(t.Context(), stream(fmt.Sprint("/agents/", i)), "e")
		if stored := err == nil; stored != (i%2 == 0) {
			t.Errorf("stream %d: stored %v, %v", i, stored, err)
		}
	}
	for rec, err := range s.Records(t.Context(), stream("/agents/given-up"), 0) {
		t.Errorf("an append that was given up left %v, %v", rec.ID, err)
	}
}

// TestBusy keeps the database locked for longer than SQLite waits by itself.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	release := lockDatabase(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	_, err := s.Append(ctx, batch("/agents/a", 0, "1"))
	if workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("append until its time was over: got error %v, want one of kind canceled", err)
	}
	done := make(chan error)
	go func() {
		_, err := s.Append(t.Context(), batch("/agents/a", 0, "2"))
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("append to a locked database returned: %v", err)
	case <-time.After(10 * patience):
	}
	release()
	if err := <-done; err != nil {
		t.Errorf("append after the lock was released: %v", err)
	}
}

// TestPrecedence looks at how processes take turns: one that waited for long
// keeps the lock file, and nobody begins while another process has it.
func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	appendInBackground := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.Append(ctx, batch("/agents/a", workspace.Any, "e"))
			done <- err
		}()
		return done
	}

	release := lockDatabase(t, path)
	done := appendInBackground(t.Context())
	other, err := disk.OpenLock(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for held := true; held; { // until the append has lost its patience
		held, err = disk.TryLock(other)
		if err == nil && held {
			err = disk.Unlock(other)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(patience)
	}
	release()
	if err := <-done; err != nil {
		t.Errorf("append of the one that waited: %v", err)
	}

	if held, err := disk.TryLock(other); !held || err != nil {
		t.Fatalf("lock file after the append: got %v, %v, want it to be free", held, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done = appendInBackground(ctx)
	select {
	case err := <-done:
		t.Errorf("append while another process has precedence returned: %v", err)
	case <-time.After(5 * patience):
	}
	cancel()
	if err := <-done; workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("append that was given up: got error %v, want one of kind canceled", err)
	}
}

func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	release := lockDatabase(t, path)
	waiting := make(chan error)
	for range 2 {
		go func() {
			_, err := s.Append(context.Background(), batch("/agents/a", workspace.Any, "waiting"))
			waiting <- err
		}()
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	for range 2 {
		if err := <-waiting; workspace.KindOf(err) != workspace.Unavailable {
			t.Errorf("append that waited when the store was closed: got error %v, want one of kind unavailable", err)
		}
	}
	release()
	if _, err := s.Append(t.Context(), batch("/agents/a", workspace.Any, "late")); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("append after close: got error %v, want one of kind unavailable", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	// The last connection of all leaves no log behind; one that stayed open does.
	if s, err = Open(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), batch("/agents/a", 0, "1")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after close: the log is still there, %v", err)
	}
}

// TestFull limits the size of the database, which SQLite reports as a full disk.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	s := openAt(t, path, nil)
	if _, err := s.Append(t.Context(), batch("/agents/a", 0, "1")); err != nil {
		t.Fatal(err)
	}
	limit := func(spare int) {
		t.Helper()
		var pages int
		if err := s.writer.conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
			t.Fatal(err)
		}
		if _, err := s.writer.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+spare)); err != nil {
			t.Fatal(err)
		}
	}
	large := batch("/agents/a", 1, "2")
	content := []byte(strings.Repeat("too large ", 20_000))
	id, err := workspace.BlobID(content)
	if err != nil {
		t.Fatal(err)
	}
	large.Bodies = []workspace.Body{{ID: id, Content: content}}
	large.Events[0].Bodies = []workspace.OID{id}

	limit(10)
	release := lockDatabase(t, path) // so that the two go into one transaction
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := s.Append(t.Context(), large)
		if workspace.KindOf(err) != workspace.Unavailable || !strings.Contains(workspace.HintOf(err), "full") {
			t.Errorf("append to a full disk: got error %v with hint %q", err, workspace.HintOf(err))
		}
	})
	wg.Go(func() {
		if _, err := s.Append(t.Context(), batch("/agents/b", 0, "small")); err != nil {
			t.Errorf("append of what still fits: %v", err)
		}
	})
	release()
	wg.Wait()
	if _, err := s.Put(t.Context(), strings.NewReader(string(content)), int64(len(content))); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("put on a full disk: got error %v, want one of kind unavailable", err)
	}
	if has, err := s.Has(t.Context(), id); has || err != nil {
		t.Errorf("the body of the failed append: got %v, %v", has, err)
	}
	if _, err := s.Find(t.Context(), large.Stream, "2"); workspace.KindOf(err) != workspace.NotExist {
		t.Errorf("the event of the failed append: got error %v", err)
	}

	limit(1000)
	if recs, err := s.Append(t.Context(), large); err != nil || recs[0].Seq != 2 {
		t.Errorf("append after space was freed: got %v, %v", recs, err)
	}
}

// TestTransactionFails has a job that spoils the commit of its whole group. The
// others are done nevertheless.
func TestTransactionFails(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "carrel.db"), nil)
	w := s.writer // its goroutine rests: nothing is sent to it
	content := func(i int) []byte { return fmt.Append(nil, i) }
	var group []*job
	for i := range 4 {
		run := func() error {
			id, err := workspace.BlobID(content(i))
			return errors.Join(err, w.putBody(id, content(i), 1))
		}
		if i == 2 { // a reference that leads nowhere, which is noticed at the commit only
			run = func() error {
				_, err := w.conn.ExecContext(t.Context(), "PRAGMA defer_foreign_keys = ON; INSERT INTO checkpoints VALUES (99, 1, 1, 1, x'')")
				return err
			}
		}
		group = append(group, &job{alive: func() error { return nil }, run: run, result: make(chan error, 1)})
	}
	if err := w.begin(group[0]); err != nil {
		t.Fatal(err)
	}
	w.settle(group)
	for i, j := range group {
		if err := <-j.result; (err == nil) != (i != 2) {
			t.Errorf("job %d: got error %v", i, err)
		}
		id, err := workspace.BlobID(content(i))
		if err != nil {
			t.Fatal(err)
		}
		if has, err := s.Has(t.Context(), id); has != (i != 2) || err != nil {
			t.Errorf("what job %d stored: got %v, %v", i, has, err)
		}
	}
}

// TestConnections looks at what each connection was told.
func TestConnections(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "carrel.db"), nil)
	for _, test := range []struct {
		name, pragma, want string
		on                 interface {
			QueryRowContext(context.Context, string, ...any) *sql.Row
		}
	}{
		{"writer", "journal_mode", "wal", s.writer.conn},
		{"writer", "synchronous", "2", s.writer.conn},
		{"writer", "foreign_keys", "1", s.writer.conn},
		{"reader", "journal_mode", "wal", s.reader.db},
	} {
		var got string
		if err := test.on.QueryRowContext(t.Context(), "PRAGMA "+test.pragma).Scan(&got); err != nil || got != test.want {
			t.Errorf("%s: %s: got %q, %v, want %q", test.name, test.pragma, got, err, test.want)
		}
	}
	if _, err := s.reader.db.Exec("DELETE FROM events"); err == nil {
		t.Error("a connection of the reader can write")
	}
}

// TestTwoAppendInTurn: where a stream ends is not what it was when this connection
// last wrote to it, if another one has since.
func TestTwoAppendInTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "carrel.db")
	both := [2]*Store{openAt(t, path, nil), openAt(t, path, nil)}
	id := workspace.StreamID{Project: "p", Name: "/agents/a"}
	for i := range 10 {
		recs, err := both[i/2%2].Append(t.Context(), workspace.Batch{
			Stream: id, Last: workspace.Any, Events: []workspace.Event{{ID: fmt.Sprint(i), Type: "test", Version: 1}},
		})
		if err != nil || len(recs) != 1 || recs[0].Seq != workspace.Seq(i+1) {
			t.Fatalf("append %d: %v, %v", i, recs, err)
		}
	}
}
