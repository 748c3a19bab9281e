package workspace_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // to damage what it has written

	"carrel.dev/persistence/sqlite"
	. "carrel.dev/workspace"
)

// TestDamagedRecordStopsItsWorkspaceAlone: one workspace with a damaged record
// does not take the others with it, in a process that follows the store.
func TestDamagedRecordStopsItsWorkspaceAlone(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "db")
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	b.cfg.Store, b.cfg.Blobs = store, store
	b.reopen()
	err = b.project.SetRepo(ctx, Caller{}, Repo{Path: "/repos/app", Source: Source{Location: b.root + "/app.git"}, Branch: "main", Policy: CommitToMain})
	if err != nil {
		t.Fatal(err)
	}
	well, ill := b.create("/agents/well", nil), b.create("/agents/ill", nil)
	follower, err := NewHost(ctx, b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	project, err := follower.Project(ctx, "p")
	if err != nil {
		t.Fatal(err)
	}
	watch := map[*space]*Workspace{}
	for _, w := range []*space{well, ill} {
		if watch[w], err = project.Workspace(ctx, w.ID(), Caller{}); err != nil {
			t.Fatal(err)
		}
	}
	ill.write("/workspace/x", "1")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE events SET type = 'workspace/other' WHERE position = (SELECT max(position) FROM events)"); err != nil {
		t.Fatal(err)
	}
	well.write("/workspace/y", "2")
	snap, err := watch[well].Snapshot(ctx)
	if err != nil {
		t.Fatalf("the workspace beside the damaged one: %v", err)
	}
	if _, err := snap.Lookup(ctx, "/workspace/y"); err != nil {
		t.Error(err)
	}
	if _, err := watch[ill].Snapshot(ctx); !errors.Is(err, Corrupt) {
		t.Errorf("the damaged workspace: %v, want corrupt", err)
	}
}
