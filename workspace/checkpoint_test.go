package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// plain is a store that keeps no checkpoints.
type plain struct {
	StoreWithFeed
}

// A process that starts from a checkpoint has the state of one that reads all
// records: with the work branch, the commit that is on its way, and the answers
// to keyed requests.
func TestStartFromACheckpoint(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}, "lib": {"a": "1\n"}})
	w := b.create("/agents/a", map[string]MountPatch{"/repos/app": {FieldPolicy: policy(WorkBranch)}})
	w.write("/repos/app/a", "2\n")
	w.commit("/repos/app")
	w.write("/repos/lib/a", "2\n")
	b.crashAt("intent appended")
	if _, err := b.open("/agents/a", "s").tryCommit("/repos/lib"); err == nil {
		t.Fatal("no crash")
	}
	b.cfg.Fault = nil
	b.cfg.Processes = census{self: "second", alive: map[string]bool{"alone": true}} // the commit stays open
	b.reopen()
	b.keyed("/agents/a", "k", "r").write("/workspace/keyed", "1")
	w = b.open("/agents/a", "s")
	for i := range 520 {
		w.write(fmt.Sprintf("/workspace/f%d", i), "x")
	}
	at, _, err := b.cfg.Store.(Checkpointer).LoadCheckpoint(ctx, StreamID{Project: "p", Name: "/agents/a"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	b.reopen()
	fast := b.open("/agents/a", "s").snap().State
	if fast.Seq < at+10 {
		t.Fatalf("a checkpoint at %d of %d leaves nothing to read", at, fast.Seq)
	}
	b.cfg.Store = plain{b.cfg.Store}
	b.reopen()
	slow := b.open("/agents/a", "s").snap().State
	if diff := cmp.Diff(encoded(t, slow), encoded(t, fast)); diff != "" {
		t.Errorf("from a checkpoint the state is another one (-all records +checkpoint):\n%s", diff)
	}
	if len(fast.Work) != 1 || len(fast.Intents) != 1 {
		t.Errorf("%d work branches and %d commits on their way, want one of each", len(fast.Work), len(fast.Intents))
	}
	if _, ok := fast.Answer("k"); !ok {
		t.Error("the answer under a key is gone")
	}
}

// encoded is a state as checkpoints keep it.
func encoded(t *testing.T, s *State) map[string]any {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
