package spill_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/memory"
	"carrel.dev/persistence/spill"
	"carrel.dev/persistence/sqlite"
	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

// stores are those that a data directory has, with a low threshold.
type stores struct {
	root  string
	store *sqlite.Store
	blobs *spill.Blobs
}

func open(t *testing.T, threshold int64) stores {
	t.Helper()
	root := t.TempDir()
	large, err := dir.Open(filepath.Join(root, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(root, "carrel.db"), &sqlite.Config{Large: large.Has, Discard: large.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return stores{root, store, spill.New(store, large, &spill.Config{Threshold: threshold})}
}

// TestStore has the contents that the suite names on both sides.
func TestStore(t *testing.T) {
	workspacetest.TestStore(t, func(t *testing.T) workspacetest.StoreTarget {
		s := open(t, 3)
		return workspacetest.StoreTarget{Store: s.store, Blobs: s.blobs}
	})
}

func TestBlobs(t *testing.T) {
	workspacetest.TestBlobs(t, func(t *testing.T) workspacetest.BlobsTarget {
		s := open(t, 4096)
		return workspacetest.BlobsTarget{Blobs: s.blobs, Damage: s.damage}
	})
}

// damage changes a content where it is.
func (s stores) damage(t *testing.T, id workspace.OID, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(s.root, "blobs", id.String()[:2], id.String()[2:])
	stored, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		s.damageRow(t, id, change)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	header, content, _ := bytes.Cut(stored, []byte{0})
	header = append(bytes.Clone(header), 0)
	if content = change(content); content == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, append(header, content...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s stores) damageRow(t *testing.T, id workspace.OID, change func([]byte) []byte) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(s.root, "carrel.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var content []byte
	if err := db.QueryRow("SELECT content FROM bodies WHERE id = ?", id[:]).Scan(&content); err != nil {
		t.Fatal(err)
	}
	if content = change(content); content == nil {
		_, err = db.Exec("DELETE FROM bodies WHERE id = ?", id[:])
	} else {
		_, err = db.Exec("UPDATE bodies SET content = ? WHERE id = ?", content, id[:])
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestThreshold(t *testing.T) {
	for _, test := range []struct{ set, want int64 }{{0, 256 << 10}, {10, 10}} {
		small, large := memory.New(nil), memory.New(nil)
		b := spill.New(small, large, &spill.Config{Threshold: test.set})
		for _, size := range []int64{0, test.want, test.want + 1} {
			id, err := b.Put(t.Context(), strings.NewReader(strings.Repeat("x", int(size))), size)
			if err != nil {
				t.Fatal(err)
			}
			inSmall, _ := small.Has(t.Context(), id)
			inLarge, _ := large.Has(t.Context(), id)
			if want := size <= test.want; inSmall != want || inLarge == want || b.Inline(size) != want {
				t.Errorf("threshold %d, size %d: in small %v, in large %v, inline %v", test.want, size, inSmall, inLarge, b.Inline(size))
			}
		}
	}
}

// TestBoth looks at a content that both stores have.
func TestBoth(t *testing.T) {
	small, large := &workspacetest.FaultyBlobs{Blobs: memory.New(nil)}, &workspacetest.FaultyBlobs{Blobs: memory.New(nil)}
	b := spill.New(small, large, nil)
	var id workspace.OID
	for _, store := range []workspace.Blobs{small, large} {
		var err error
		if id, err = store.Put(t.Context(), strings.NewReader("content"), 7); err != nil {
			t.Fatal(err)
		}
	}
	check := func(state string, want workspace.Kind) {
		t.Helper()
		r, err := b.Open(t.Context(), id)
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if workspace.KindOf(err) != want {
			t.Errorf("%s: got error %v, want kind %q", state, err, want)
		}
	}
	check("both sound", "")
	small.Lose(id)
	check("small lost", "")
	large.Lose(id)
	check("both lost", workspace.Corrupt)
	small.Mend(id)
	check("large lost", "")
}
