package workspace_test

import (
	"context"
	"testing"

	. "carrel.dev/workspace"
)

// TestSettleAfterDeletion: a commit that was left under way by a workspace which
// was deleted since keeps nobody from settling others.
func TestSettleAfterDeletion(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	b.create("/agents/a", nil)
	b.create("/agents/b", nil)
	for _, id := range []string{"/agents/a", "/agents/b"} {
		b.append(id, Event{Type: WorkspaceCommitting, Payload: []byte(`{"key":"k","mount":"/repos/app","repoPath":"/repos/app","branch":"main",
			"commit":"abababababababababababababababababababab","by":"dead"}`)})
	}
	b.append("/agents/a", Event{Type: WorkspaceDeleted, Payload: []byte(`{}`)})
	b.reopen()
	if err := b.host.SettleCommits(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.open("/agents/b", "s").snap().State.Intents); n != 0 {
		t.Errorf("%d commits of the other workspace are left open", n)
	}
}
