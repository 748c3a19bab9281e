package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

// openAt opens a database and closes it with the test.
func openAt(t testing.TB, path string, cfg *Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// raw is a connection to a database that knows nothing of Carrel.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", dsn(path, "rw", readerBusy))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func execRaw(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db := raw(t, path)
	defer db.Close()
	res, err := db.Exec(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if n, err := res.RowsAffected(); n == 0 && err == nil && query[:6] != "PRAGMA" {
		t.Fatalf("%s: changed nothing", query)
	}
}

func TestStore(t *testing.T) {
	workspacetest.TestStore(t, func(t *testing.T) workspacetest.StoreTarget {
		path := filepath.Join(t.TempDir(), "carrel.db")
		s := openAt(t, path, nil)
		return workspacetest.StoreTarget{Store: s, Blobs: s, Again: func(t *testing.T) workspace.Store {
			return openAt(t, path, nil)
		}}
	})
}

func TestBlobs(t *testing.T) {
	workspacetest.TestBlobs(t, func(t *testing.T) workspacetest.BlobsTarget {
		path := filepath.Join(t.TempDir(), "carrel.db")
		return workspacetest.BlobsTarget{Blobs: openAt(t, path, nil), Damage: damage(path)}
	})
}

// damage changes a body behind the store's back.
func damage(path string) func(*testing.T, workspace.OID, func([]byte) []byte) {
	return func(t *testing.T, id workspace.OID, change func([]byte) []byte) {
		t.Helper()
		var content []byte
		if err := raw(t, path).QueryRow("SELECT content FROM bodies WHERE id = ?", id[:]).Scan(&content); err != nil {
			t.Fatal(err)
		}
		if content = change(content); content == nil {
			execRaw(t, path, "DELETE FROM bodies WHERE id = ?", id[:])
			return
		}
		execRaw(t, path, "UPDATE bodies SET content = ? WHERE id = ?", content, id[:])
	}
}
