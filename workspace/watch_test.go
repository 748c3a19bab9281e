package workspace_test

import (
	"encoding/json"
	"slices"
	"testing"

	. "carrel.dev/workspace"
)

func TestTouches(t *testing.T) {
	of := func(payload string) Record {
		return Record{Event: Event{Type: WorkspaceChanged, Version: 1, Payload: json.RawMessage(payload)}}
	}
	entry := func(path, repo string) Record {
		return of(`{"op":"writeFile","changes":[{"path":"` + path + `","after":{"kind":"dir","owner":{"mount":"` + repo + `","repo":"` + repo + `"}}}]}`)
	}
	some := &Grants{Verbs: Verbs, Repos: []RepoGrant{{Pattern: "/repos/a", Policy: CommitToMain}}}
	gone := of(`{"op":"deleteFile","changes":[{"path":"/repos/a/x"}]}`)
	dropped := of(`{"op":"revert","drop":["/repos/a"]}`)
	large := of("")
	large.Payload, large.PayloadBody = nil, OID{1}
	committed := of(`{}`)
	committed.Type = WorkspaceCommitted
	for _, tt := range []struct {
		name      string
		record    Record
		path      Path
		all, some bool
	}{
		{"at it", entry("/repos/a/x", "/repos/a"), "/repos/a/x", true, true},
		{"above it", entry("/repos/a", "/repos/a"), "/repos/a/x", true, true},
		{"below it", entry("/repos/a/x/y", "/repos/a"), "/repos/a", true, true},
		{"beside it", entry("/repos/a/xy", "/repos/a"), "/repos/a/x", false, false},
		{"of a repo that is not granted", entry("/repos/a/x", "/repos/b"), "/repos/a/x", true, false},
		{"in scratch", of(`{"op":"mkdir","changes":[{"path":"/workspace/d","after":{"kind":"dir"}}]}`), "/workspace/d", true, true},
		{"gone, of who knows what", gone, "/repos/a/x", true, false},
		{"dropped", dropped, "/repos/a/x", true, false},
		{"dropped elsewhere", dropped, "/repos/b", false, false},
		{"unknown", large, "/repos/a/x", true, false},
		{"malformed", of(`[]`), "/repos/a/x", false, false},
		{"another event", committed, "/repos/a/x", false, false},
	} {
		if all, limited := tt.record.Touches(tt.path, nil), tt.record.Touches(tt.path, some); all != tt.all || limited != tt.some {
			t.Errorf("%s: touches %v, and with limited grants %v; want %v and %v", tt.name, all, limited, tt.all, tt.some)
		}
	}
}

// A watcher sees the records of all processes, is told of those of its own at once,
// and of none after it has stopped.
func TestWatch(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "a\n"}})
	ws := b.create("/agents/a", nil)
	ws.snap()
	var seen []string
	appended := 0
	stop := b.host.Watch(func(r Record) { seen = append(seen, r.Stream.Name+" "+r.Type) }, func() { appended++ })
	ws.write("/workspace/f", "x")
	if appended != 1 {
		t.Errorf("told of %d of its own", appended)
	}
	other, err := b.process().Workspace(t.Context(), "/agents/a", Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Write(t.Context(), "/repos/app/a", []byte("y"), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	ws.snap()
	want := []string{"/agents/a " + WorkspaceChanged, "/agents/a " + WorkspaceChanged}
	if !slices.Equal(seen, want) || appended != 1 {
		t.Errorf("saw %q and was told of %d, want %q and 1", seen, appended, want)
	}
	stop()
	ws.write("/workspace/f", "z")
	ws.snap()
	if len(seen) != 2 || appended != 1 {
		t.Errorf("after it stopped: %q, %d", seen, appended)
	}
}
