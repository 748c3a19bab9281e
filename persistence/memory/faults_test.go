package memory

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"carrel.dev/workspace"
	"carrel.dev/workspace/workspacetest"
)

// TestFaultyStore runs the suites through the decorators without a fault, which
// they must pass, and then looks at each fault.
func TestFaultyStore(t *testing.T) {
	workspacetest.TestStore(t, func(t *testing.T) workspacetest.StoreTarget {
		s := New(nil)
		return workspacetest.StoreTarget{
			Store: &workspacetest.FaultyStore{FullStore: s},
			Blobs: &workspacetest.FaultyBlobs{Blobs: s},
		}
	})
	for _, test := range []struct {
		fault  workspacetest.Fault
		failed bool
		stored bool
	}{
		{workspacetest.NoFault, false, true},
		{workspacetest.FailBefore, true, false},
		{workspacetest.FailAfter, true, true},
		{workspacetest.DiskFull, true, false},
	} {
		inner := New(nil)
		s := &workspacetest.FaultyStore{FullStore: inner}
		s.Inject(test.fault)
		b := workspace.Batch{Stream: workspace.StreamID{Project: "p", Name: "/"}, Events: []workspace.Event{{ID: "e"}}}
		_, err := s.Append(t.Context(), b)
		if (workspace.KindOf(err) == workspace.Unavailable) != test.failed {
			t.Errorf("fault %d: got error %v", test.fault, err)
		}
		if errors.Is(err, syscall.ENOSPC) != (test.fault == workspacetest.DiskFull) {
			t.Errorf("fault %d: got error %v", test.fault, err)
		}
		if _, err := inner.Find(t.Context(), b.Stream, "e"); (err == nil) != test.stored {
			t.Errorf("fault %d: find: got error %v, want stored: %v", test.fault, err, test.stored)
		}
		if _, err := s.Append(t.Context(), b); err != nil || s.Calls() != 2 {
			t.Errorf("fault %d: the next append: got error %v after %d calls", test.fault, err, s.Calls())
		}
	}
}

func TestFaultyBlobs(t *testing.T) {
	content := []byte("a content to harm")
	b := &workspacetest.FaultyBlobs{Blobs: New(nil)}
	put := func() (workspace.OID, error) {
		return b.Put(t.Context(), bytes.NewReader(content), int64(len(content)))
	}
	id, err := put()
	if err != nil {
		t.Fatal(err)
	}
	check := func(state string, want workspace.Kind, wantRead int) {
		t.Helper()
		var got bytes.Buffer
		r, err := b.Open(t.Context(), id)
		if err == nil {
			_, err = got.ReadFrom(r)
		}
		has, _ := b.Has(t.Context(), id)
		if workspace.KindOf(err) != want || got.Len() != wantRead || has != (want == "") {
			t.Errorf("%s: got %d bytes, error %v, has %v", state, got.Len(), err, has)
		}
	}
	check("sound", "", len(content))
	b.Lose(id)
	check("lost", workspace.Corrupt, 0)
	b.Shorten(id)
	check("short", workspace.Corrupt, len(content)/2)
	b.Inject(workspacetest.DiskFull, workspacetest.FailAfter)
	if _, err := put(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("put on a full disk: got error %v", err)
	}
	check("still short", workspace.Corrupt, len(content)/2)
	if _, err := put(); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("put that fails afterwards: got error %v", err)
	}
	check("put again", "", len(content))
	if b.Inline(1) {
		t.Error("inline: got true over a store that has nothing inline")
	}
}
