package grants

import (
	"encoding/json"
	"strings"
	"testing"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// TestForeignCursors hands the cursors of a session that may see everything to one
// that may not: they go on nowhere, like cursors that nobody was given.
func TestForeignCursors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	s := w.session(&narrow, "narrow")
	for _, list := range []struct{ tool, args string }{
		{"glob", `{"pattern":"/**","limit":2}`}, {"readDir", `{"path":"/","depth":5,"limit":2}`}, {"grep", `{"pattern":".","limit":2}`},
		{"grep", `{"pattern":".","mode":"files","limit":2}`},
	} {
		m := nextCursor.FindSubmatch(w.do(list.tool, list.args).Fields)
		if m == nil {
			t.Fatalf("%s does not go on", list.tool)
		}
		args := strings.TrimSuffix(list.args, "}") + `,"cursor":"` + string(m[1]) + `"}`
		r := s.Call(t.Context(), in(list.tool, args))
		if r.Code != workspace.Conflict || r.Fields != nil {
			t.Errorf("%s: %s %v %s", list.tool, r.Code, r.Text, r.Fields)
		}
		w.do(list.tool, args) // its own session goes on
	}
}

// TestForeignKeys uses the idempotency keys of another principal: they are as if
// never used, and whoever used them first still has the answers.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	a, b := w.session(nil, "t-wide"), w.session(&narrow, "t-narrow")
	call := func(s *server.Session, key, tool, args string) server.Reply {
		r := in(tool, args)
		r.Key = key
		return s.Call(t.Context(), r)
	}
	write := `{"path":"/workspace/keyed","content":"x\n"}`
	first := call(a, "k1", "writeFile", write)
	if first.IsError() || !strings.Contains(string(first.Fields), `"created":true`) {
		t.Fatalf("the first: %v %s", first.Text, first.Fields)
	}
	if r := call(b, "k1", "writeFile", write); !strings.Contains(string(r.Fields), `"created":false`) {
		t.Errorf("another principal is given the answer to the first: %s", r.Fields)
	}
	if r := call(b, "k1", "writeFile", `{"path":"/workspace/else","content":"x\n"}`); r.Code != workspace.Conflict {
		t.Errorf("its own key, for another request: %s %v", r.Code, r.Text)
	}
	if r := call(a, "k1", "writeFile", write); string(r.Fields) != string(first.Fields) {
		t.Errorf("a repeat of the first: %s", r.Fields)
	}
	commit := `{"scope":"/vendor/secret","message":"m"}`
	if r := call(a, "k2", "git.commit", commit); r.IsError() {
		t.Fatal(r.Text)
	}
	if r := call(b, "k2", "git.commit", commit); r.Code != workspace.Invalid || strings.Contains(string(r.Fields), "/vendor") {
		t.Errorf("another principal is given a hidden commit: %s %v %s", r.Code, r.Text, r.Fields)
	}
	create := json.RawMessage(`{"path":"/agents/new/keyed"}`)
	for _, s := range []*server.Session{a, b} {
		if r := s.Call(t.Context(), server.Request{Tool: "workspace.create", Arguments: create, Key: "k3"}); r.IsError() {
			t.Errorf("create: %v", r.Text)
		}
	}
}
