package workspace_test

import (
	"context"
	"errors"
	"testing"

	. "carrel.dev/workspace"
)

// While a commit of a mount is on its way the mount stays what it is, and so does
// the workspace.
func TestChangesDuringACommit(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}, "lib": {"a": "1\n"}})
	b.create("/agents/a", nil).write("/repos/app/a", "2\n")
	readOnly := MountPatch{FieldPolicy: policy(ReadOnly)}
	b.during("intent appended", func() error {
		w := b.open("/agents/a", "other")
		if _, err := w.Configure(ctx, map[string]MountPatch{"/repos/app": readOnly}); !errors.Is(err, Conflict) {
			t.Errorf("configure its mount: got %v, want a conflict", err)
		}
		if _, err := w.Configure(ctx, map[string]MountPatch{"/repos/lib": readOnly}); err != nil {
			t.Errorf("configure another mount: %v", err)
		}
		if _, err := b.project.Delete(ctx, Caller{}, "/agents/a", true); !errors.Is(err, Conflict) {
			t.Errorf("delete the workspace: got %v, want a conflict", err)
		}
		return nil
	})
	w := b.open("/agents/a", "s")
	w.commit("/repos/app")
	if got := b.git("app", "show", "main:a"); got != "2" {
		t.Errorf("committed %q", got)
	}
	if m := w.snap().Table.At("/repos/app"); m == nil || m.Policy != CommitToMain {
		t.Errorf("the mount is %+v", m)
	}
}
