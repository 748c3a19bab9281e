package spill_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/spill"
	"carrel.dev/workspace"
)

func newDir(t *testing.T) (*dir.Blobs, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "blobs")
	b, err := dir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return b, root
}

func putText(t *testing.T, b workspace.Blobs, text string) workspace.OID {
	t.Helper()
	id, err := b.Put(t.Context(), strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// checkHas compares which of some contents a store has.
func checkHas(t *testing.T, what string, b workspace.Blobs, want map[workspace.OID]bool) {
	t.Helper()
	for id, want := range want {
		if has, err := b.Has(t.Context(), id); has != want || err != nil {
			t.Errorf("%s has %s: got %v, %v, want %v", what, id.Short(), has, err, want)
		}
	}
}

func TestMove(t *testing.T) {
	from, root := newDir(t)
	to, _ := newDir(t)
	small, large, both, damaged := putText(t, from, "small"), putText(t, from, "a large content"), putText(t, from, "one that both have"), putText(t, from, "one that decays")
	putText(t, to, "one that both have")
	name := filepath.Join(root, damaged.String()[:2], damaged.String()[2:])
	if err := os.WriteFile(name, []byte("blob 15\x00one that decayz"), 0o600); err != nil {
		t.Fatal(err)
	}
	var done, total int64
	m := &spill.Move{From: from, To: to, Least: 10, Progress: func(_ string, d, of int64) { done, total = d, of }}
	for range 2 { // the second has nothing to do
		moved, err := m.Run(t.Context())
		if err != nil || len(moved.Damaged) != 1 || moved.Damaged[0] != damaged {
			t.Errorf("got %+v, %v, want the damaged one to stay", moved, err)
		}
	}
	if done != total || total != 15 {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	checkHas(t, "from", from, map[workspace.OID]bool{small: true, large: false, both: false, damaged: true})
	checkHas(t, "to", to, map[workspace.OID]bool{small: false, large: true, both: true, damaged: false})
}

// forgetful loses what is put into it.
type forgetful struct{ *dir.Blobs }

func (f forgetful) Has(context.Context, workspace.OID) (bool, error) { return false, nil }

// TestMoveFails has contents not arrive: they stay where they are.
func TestMoveFails(t *testing.T) {
	from, _ := newDir(t)
	to, _ := newDir(t)
	id := putText(t, from, "content")
	if _, err := (&spill.Move{From: from, To: forgetful{to}}).Run(t.Context()); workspace.KindOf(err) != workspace.Unavailable || workspace.HintOf(err) == "" {
		t.Errorf("got %v, want one of kind unavailable with a hint", err)
	}
	checkHas(t, "from", from, map[workspace.OID]bool{id: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&spill.Move{From: from, To: to}).Run(ctx); workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("canceled: got %v", err)
	}
	checkHas(t, "from", from, map[workspace.OID]bool{id: true})
}

// moving moves a content to another store whenever it is asked for one.
type moving struct {
	*dir.Blobs
	to workspace.Blobs
}

func (m moving) move(id workspace.OID) error {
	r, err := m.Blobs.Open(context.Background(), id)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err == nil {
		_, err = m.to.Put(context.Background(), strings.NewReader(string(text)), int64(len(text)))
	}
	_, gone := m.Discard(context.Background(), time.Time{}, []workspace.OID{id})
	return errors.Join(err, gone)
}

func (m moving) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	if err := m.move(id); err != nil {
		return nil, err
	}
	return m.Blobs.Open(ctx, id)
}

func (m moving) Has(ctx context.Context, id workspace.OID) (bool, error) {
	if err := m.move(id); err != nil {
		return false, err
	}
	return m.Blobs.Has(ctx, id)
}

// TestMovedMeanwhile looks for contents that are moved from the store that is
// asked last to the one that was asked first.
func TestMovedMeanwhile(t *testing.T) {
	small, _ := newDir(t)
	large, _ := newDir(t)
	b := spill.New(small, moving{large, small}, nil)
	one, two := putText(t, large, "one"), putText(t, large, "two")
	if has, err := b.Has(t.Context(), one); !has || err != nil {
		t.Errorf("has: got %v, %v", has, err)
	}
	r, err := b.Open(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}

func TestDiscardBoth(t *testing.T) {
	small, _ := newDir(t)
	large, _ := newDir(t)
	b := spill.New(small, large, nil)
	one, two := putText(t, small, "one"), putText(t, large, "two")
	if gone, err := b.Discard(t.Context(), time.Now().Add(-time.Hour), []workspace.OID{one, two}); len(gone) != 0 || err != nil {
		t.Errorf("what is young: got %v, %v", gone, err)
	}
	if gone, err := b.Discard(t.Context(), time.Time{}, []workspace.OID{one, two}); len(gone) != 2 || err != nil {
		t.Errorf("got %v, %v, want both", gone, err)
	}
	checkHas(t, "the store", b, map[workspace.OID]bool{one: false, two: false})
}
