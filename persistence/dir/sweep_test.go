package dir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// TestContentsPassesOver lists contents only.
func TestContentsPassesOver(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	id := put(t, b, "content")
	for _, name := range []string{"ab/notes", "ab/CDEF", "zz/x", "ab/" + id.String()[2:] + "00"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(b.root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []workspace.OID
	for c, err := range b.Contents(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.ID)
	}
	if d := cmp.Diff([]workspace.OID{id}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDiscard removes what is old, and leaves no other trace.
func TestDiscard(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	old, young := put(t, b, "old"), put(t, b, "young")
	age(t, b.path(old), 2*time.Hour)
	absent, err := workspace.BlobID([]byte("absent"))
	if err != nil {
		t.Fatal(err)
	}
	gone, err := b.Discard(t.Context(), time.Now().Add(-time.Hour), []workspace.OID{young, absent, old})
	if err != nil || len(gone) != 1 || gone[0].ID != old || gone[0].Size != 3 {
		t.Errorf("got %v, %v, want the old one", gone, err)
	}
	for id, want := range map[workspace.OID]bool{old: false, young: true} {
		if has, err := b.Has(t.Context(), id); has != want || err != nil {
			t.Errorf("has %s: got %v, %v, want %v", id.Short(), has, err, want)
		}
	}
	checkNothingLeft(t, b)
}

// TestDiscardRenewed puts a content between the look at its age and the
// removal: it comes back.
func TestDiscardRenewed(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "blobs"))
	id := put(t, b, "renewed")
	before := time.Now().Add(-time.Hour)
	aside := filepath.Join(b.tmp(), "gone-"+id.String())
	age(t, b.path(id), 2*time.Hour)
	if err := os.Rename(b.path(id), aside); err != nil {
		t.Fatal(err)
	}
	age(t, aside, 0)
	c, removed, err := b.decide(id, aside, before, workspace.Stored{ID: id})
	if removed || err != nil {
		t.Errorf("got %v removed, %v", c, err)
	}
	if has, err := b.Has(t.Context(), id); !has || err != nil {
		t.Errorf("renewed while it was discarded: has %v, %v", has, err)
	}
	checkNothingLeft(t, b)
}

// age makes a file look as if it was written a while ago.
func age(t *testing.T, name string, d time.Duration) {
	t.Helper()
	at := time.Now().Add(-d)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}
