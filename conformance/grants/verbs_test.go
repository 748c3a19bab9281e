package grants

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// verbCall is a call that succeeds with all verbs, and the verb that its tool needs.
type verbCall struct {
	tool, args string
	needs      workspace.Verb
}

// verbCalls is a call of each tool. Those that change something come last, so that
// none spoils another.
var verbCalls = []verbCall{
	{"workspace.open", `{"path":"` + mine + `"}`, workspace.VerbRead},
	{"workspace.list", `{}`, workspace.VerbRead},
	{"workspace.show", `{}`, workspace.VerbRead},
	{"readFile", `{"path":"/repos/app/a"}`, workspace.VerbRead},
	{"readFiles", `{"paths":["/repos/app/a"]}`, workspace.VerbRead},
	{"readFileBytes", `{"path":"/repos/app/a"}`, workspace.VerbRead},
	{"stat", `{"path":"/repos/app/a"}`, workspace.VerbRead},
	{"exists", `{"path":"/repos/app/a"}`, workspace.VerbRead},
	{"readDir", `{"path":"/repos/app"}`, workspace.VerbRead},
	{"glob", `{"pattern":"/**"}`, workspace.VerbRead},
	{"listAllFiles", `{}`, workspace.VerbRead},
	{"grep", `{"pattern":"x"}`, workspace.VerbRead},
	{"git.status", `{}`, workspace.VerbRead},
	{"git.diff", `{}`, workspace.VerbRead},
	{"git.log", `{"scope":"/repos/app"}`, workspace.VerbRead},
	{"writeFile", `{"path":"/repos/app/v","content":"v"}`, workspace.VerbWrite},
	{"writeFileBytes", `{"path":"/repos/app/w","base64":"AAEC"}`, workspace.VerbWrite},
	{"edit", `{"path":"/repos/app/b","oldString":"two","newString":"2"}`, workspace.VerbWrite},
	{"cp", `{"from":"/repos/app/a","to":"/repos/app/v2"}`, workspace.VerbWrite},
	{"mv", `{"from":"/repos/app/many/1","to":"/repos/app/many/4"}`, workspace.VerbWrite},
	{"mkdir", `{"path":"/repos/app/dir"}`, workspace.VerbWrite},
	{"symlink", `{"path":"/repos/app/link","target":"a"}`, workspace.VerbWrite},
	{"batch", `{"changes":[{"op":"writeFile","path":"/repos/app/v3","content":"v"}]}`, workspace.VerbWrite},
	{"deleteFile", `{"path":"/repos/app/many/2"}`, workspace.VerbWrite},
	{"git.commit", `{"scope":"/repos/app","message":"m"}`, workspace.VerbCommit},
	{"revert", `{"path":"/repos/outer/added"}`, workspace.VerbWrite},
	{"workspace.configure", `{"mounts":{"/more":{"repoPath":"/repos/app","policy":"branch"}}}`, workspace.VerbCreate},
	{"workspace.create", `{"path":"/agents/new/verbs"}`, workspace.VerbCreate},
	{"reset", `{"confirm":true}`, workspace.VerbWrite},
	{"workspace.delete", `{"path":"` + mine + `","discard":true}`, workspace.VerbCreate},
}

// sets are the sets of verbs that are tried.
func sets() [][]workspace.Verb {
	all := [][]workspace.Verb{nil}
	for _, v := range workspace.Verbs {
		for _, s := range all {
			all = append(all, append(slices.Clone(s), v))
		}
	}
	return all
}

// TestVerbs makes a call of every tool with every set of verbs. What lacks its verb
// is refused twice, by the session, which does not have the tool, and by the
// workspace; it changes nothing. What has it succeeds.
func TestVerbs(t *testing.T) {
	t.Parallel()
	for _, tool := range tools.All() {
		if !slices.ContainsFunc(verbCalls, func(c verbCall) bool { return c.tool == tool.Name && c.needs == tool.Verb() }) {
			t.Errorf("%s is not tried, or needs another verb than %s", tool.Name, tool.Verb())
		}
	}
	w := newWorld(t, true)
	records, refused := w.records(), 0
	for _, verbs := range sets() {
		g := narrow
		g.Verbs = verbs
		s := w.session(&g, "verbs")
		for _, c := range verbCalls {
			if allowed(verbs, c.needs) {
				continue
			}
			refused++
			r := s.Call(t.Context(), in(c.tool, c.args))
			if r.Code != workspace.Invalid || !strings.HasPrefix(r.Text[0], "there is no tool "+c.tool) {
				t.Errorf("%v: %s by a session: %s %v", verbs, c.tool, r.Code, r.Text)
			}
			if err := w.run(c.tool, c.args, &g); workspace.KindOf(err) != workspace.Permission {
				t.Errorf("%v: %s: %v", verbs, c.tool, err)
			}
		}
	}
	if n := w.records(); n != records {
		t.Errorf("%d records after refusals, were %d", n, records)
	}
	for _, verbs := range [][]workspace.Verb{{workspace.VerbAdmin}, {workspace.VerbRead, workspace.VerbWrite, workspace.VerbCommit, workspace.VerbCreate}} {
		g := narrow
		g.Verbs = verbs
		w := newWorld(t, true)
		s := w.session(&g, "verbs")
		for _, c := range verbCalls {
			if r := s.Call(t.Context(), in(c.tool, c.args)); r.IsError() {
				t.Errorf("%v: %s: %v", verbs, c.tool, r.Text)
			}
		}
	}
	t.Logf("%d sets of verbs, %d refusals", len(sets()), refused)
}

// allowed says what grants do, in other words than theirs.
func allowed(verbs []workspace.Verb, needs workspace.Verb) bool {
	if len(verbs) == 0 {
		return false
	}
	return needs == workspace.VerbRead || slices.Contains(verbs, needs) || slices.Contains(verbs, workspace.VerbAdmin)
}

// TestForeignProject has a caller of one project call every tool: in another project,
// whose workspaces and repos have other names, nothing of it is found or changed.
func TestForeignProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	records := w.records()
	other, err := w.host.Project(t.Context(), "other")
	w.must(err)
	desk := server.New(&server.Config{Project: other})
	s := desk.Open(&server.SessionConfig{Tools: server.All, Grants: &workspace.Grants{Verbs: []workspace.Verb{workspace.VerbAdmin}}, Principal: "foreign"})
	for _, c := range verbCalls {
		if c.tool == "workspace.create" {
			continue // makes one of its own
		}
		r := s.Call(t.Context(), in(c.tool, c.args))
		if c.tool == "workspace.list" {
			if r.IsError() || strings.Contains(string(r.Fields), "/agents") {
				t.Errorf("%s: %v %s", c.tool, r.Text, r.Fields)
			}
			continue
		}
		if r.Code != workspace.NotExist {
			t.Errorf("%s: %s %v", c.tool, r.Code, r.Text)
		}
	}
	r := s.Call(t.Context(), server.Request{Tool: "workspace.create", Arguments: json.RawMessage(`{"path":"` + mine + `","mounts":{"/m":{"repoPath":"/repos/app","policy":"branch"}}}`)})
	if r.Code != workspace.Invalid {
		t.Errorf("a repo of another project: %s %v", r.Code, r.Text)
	}
	if r := s.Call(t.Context(), server.Request{Tool: "workspace.create", Arguments: json.RawMessage(`{"path":"` + mine + `"}`)}); r.IsError() {
		t.Errorf("a workspace of the same name: %v", r.Text)
	}
	if r := s.Call(t.Context(), in("readFile", `{"path":"/workspace/notes"}`)); r.Code != workspace.NotExist {
		t.Errorf("it has the other one's files: %s %v", r.Code, r.Text)
	}
	if n := w.records(); n != records {
		t.Errorf("%d records, were %d", n, records)
	}
}
