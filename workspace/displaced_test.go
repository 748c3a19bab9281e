package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// Work of a mount that is no longer at its path is not read and not committed,
// and nothing takes its place until it is dropped.
func TestDisplacedWork(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	body := w.write("/workspace/x", "work of another\n")
	payload, err := json.Marshal(Changed{Op: "writeFile", Changes: []PathChange{{Path: "/repos/app/a", After: &Entry{
		Kind: File, Mode: ModeFile, OID: body.Version, Size: body.Size, Owner: Owner{Mount: "/repos/app", Repo: "/repos/gone"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.cfg.Store.Append(ctx, Batch{
		Stream: StreamID{Project: "p", Name: "/agents/a"}, Last: Any,
		Events: []Event{{ID: "displaced", Type: WorkspaceChanged, Version: 1, Payload: payload, Bodies: []OID{body.Version}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := w.snap()
	if diff := cmp.Diff([]Path{"/repos/app/a"}, s.Displaced()); diff != "" {
		t.Errorf("displaced (-want +got):\n%s", diff)
	}
	if n, err := s.Unsaved(ctx); n != 2 || err != nil {
		t.Errorf("%d paths would be lost with the workspace, %v, want 2", n, err)
	}
	if got := w.read("/repos/app/a"); got != "1\n" {
		t.Errorf("read %q", got)
	}
	if got := w.status("/repos/app"); len(got) != 0 {
		t.Errorf("status %v", got)
	}
	for name, call := range map[string]func() error{
		"write":  func() error { _, err := w.Write(ctx, "/repos/app/a", []byte("2\n"), WriteOptions{}); return err },
		"delete": func() error { _, err := w.Delete(ctx, "/repos/app/a", false); return err },
	} {
		if err := call(); !errors.Is(err, Conflict) {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
	}
	if n, err := w.Revert(ctx, "/repos/app/a"); n != 1 || err != nil {
		t.Errorf("revert: %d, %v", n, err)
	}
	w.write("/repos/app/a", "2\n")
	w.commit("/repos/app")
}
