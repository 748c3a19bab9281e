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

// newDurableBench is newBench on a store in a file, whose path it returns, with a
// repo app.
func newDurableBench(t *testing.T) (b *bench, path string) {
	t.Helper()
	b = newBench(t, nil)
	path = filepath.Join(t.TempDir(), "db")
	b.openStore(path)
	b.reopen()
	b.repo("app", map[string]string{"a": "1\n"})
	return b, path
}

// openStore opens the store in a file.
func (b *bench) openStore(path string) {
	b.t.Helper()
	store, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { store.Close() })
	b.cfg.Store, b.cfg.Blobs = store, store
}

// follower is the project as a process has it that reads all that others append
// from the file.
func (b *bench) follower(path string) *Project {
	b.t.Helper()
	cfg := *b.cfg
	other := &bench{t: b.t, root: b.root, cfg: &cfg}
	other.openStore(path)
	return other.process()
}

// damageLast changes the type of the last record, which its checksum covers.
func damageLast(t *testing.T, path, typ string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE events SET type = ? WHERE position = (SELECT max(position) FROM events)", typ); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedRecordStopsItsWorkspaceAlone: one workspace with a damaged record
// does not take the others with it, in a process that follows the store.
func TestDamagedRecordStopsItsWorkspaceAlone(t *testing.T) {
	b, path := newDurableBench(t)
	ctx := context.Background()
	well, ill := b.create("/agents/well", nil), b.create("/agents/ill", nil)
	project := b.follower(path)
	watch := map[*space]*Workspace{}
	for _, w := range []*space{well, ill} {
		var err error
		if watch[w], err = project.Workspace(ctx, w.ID(), Caller{}); err != nil {
			t.Fatal(err)
		}
	}
	ill.write("/workspace/x", "1")
	damageLast(t, path, "workspace/other")
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

// TestDamagedProjectStopsItselfAlone: a damaged record in one project's own stream
// is met by whoever uses that project, and by nobody else.
func TestDamagedProjectStopsItselfAlone(t *testing.T) {
	b, path := newDurableBench(t)
	ctx := context.Background()
	b.create("/agents/well", nil)
	project := b.follower(path)
	ill, err := project.Host().Project(ctx, "ill")
	if err != nil {
		t.Fatal(err)
	}
	well, err := project.Workspace(ctx, "/agents/well", Caller{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := b.host.Project(ctx, "ill")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.SetRepo(ctx, Caller{}, Repo{Path: "/repos/z", Source: Source{Location: "/z"}, Branch: "main", Policy: CommitToMain}); err != nil {
		t.Fatal(err)
	}
	damageLast(t, path, "repo/other")
	for range 2 {
		if _, err := well.Snapshot(ctx); err != nil {
			t.Errorf("a workspace of another project: %v", err)
		}
		if _, err := ill.Catalog(ctx); !errors.Is(err, Corrupt) {
			t.Errorf("the damaged project: %v, want corrupt", err)
		}
	}
	if _, err := well.Write(ctx, "/workspace/x", []byte("1"), WriteOptions{}); err != nil {
		t.Errorf("a write beside the damage: %v", err)
	}
}
