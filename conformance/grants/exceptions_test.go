package grants

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// exceptions are the calls that do not answer as in the twin world, and why: each
// would lose or move work that its caller does not see. What they say names nothing
// of it.
var exceptions = []struct {
	why, tool, args string
	want            workspace.Kind
}{
	{
		"an entry of a path is one: a write would take the place of the hidden one",
		"writeFile", `{"path":"/repos/app/vendor/secret/s","content":"x"}`, workspace.Permission,
	},
	{"as above, where the hidden entry is a deletion", "writeFile", `{"path":"/repos/app/vendor/secret/own","content":"x"}`, workspace.Permission},
	{"as above", "symlink", `{"path":"/repos/outer/inner/ln","target":"x"}`, workspace.Permission},
	{"as above", "mkdir", `{"path":"/repos/app/vendor/secret/added"}`, workspace.Permission},
	{"as above", "deleteFile", `{"path":"/repos/app/vendor/secret/own"}`, workspace.Permission},
	{"as above", "deleteFile", `{"path":"/repos/outer/inner/d","recursive":true}`, workspace.Permission},
	{"as above", "edit", `{"path":"/repos/born/s","oldString":"born","newString":"x"}`, workspace.Permission},
	{"as above", "writeFileBytes", `{"path":"/repos/born/s","base64":"AAEC"}`, workspace.Permission},
	{"as above", "cp", `{"from":"/repos/app/a","to":"/repos/born/added"}`, workspace.Permission},
	{"as above", "mv", `{"from":"/repos/app/a","to":"/repos/lib2/s"}`, workspace.Permission},
	{"as above", "batch", `{"changes":[{"op":"writeFile","path":"/repos/app/a","content":"x"},{"op":"writeFile","path":"/repos/born/s","content":"x"}]}`, workspace.Permission},
	{"a mount point would take over hidden work", "workspace.configure", `{"mounts":{"/vendor/secret":{"repoPath":"/repos/app","policy":"branch"}}}`, workspace.Conflict},
	{"as above", "workspace.configure", `{"mounts":{"/repos/secret":{"repoPath":"/repos/app","policy":"branch"}}}`, workspace.Conflict},
	{"as above", "workspace.configure", `{"mounts":{"/repos/born":{"policy":"branch"}}}`, workspace.Conflict},
}

// TestExceptions makes the calls that are refused for what they would do to hidden
// work: they change nothing, name nothing, and succeed in the twin world.
func TestExceptions(t *testing.T) {
	t.Parallel()
	a := newWorld(t, true)
	before, records := a.whole().State, a.records()
	hidden, twin := a.session(&narrow, "narrow"), newWorld(t, false).session(&narrow, "narrow")
	for _, e := range exceptions {
		r := hidden.Call(t.Context(), in(e.tool, e.args))
		if r.Code != e.want {
			t.Errorf("%s %s: %s %v, want %s", e.tool, e.args, r.Code, r.Text, e.want)
		}
		said := strings.Join(r.Text, " ")
		for _, p := range []string{"/repos/secret ", "hush", "mount"} {
			if strings.Contains(said, p) {
				t.Errorf("%s %s says %q", e.tool, e.args, said)
			}
		}
		if r := twin.Call(t.Context(), in(e.tool, e.args)); r.IsError() {
			t.Errorf("%s %s in the twin world, where it is no exception: %v", e.tool, e.args, r.Text)
		}
	}
	if n := a.records(); n != records {
		t.Errorf("%d records, were %d", n, records)
	}
	if diff := cmp.Diff(upper(before), upper(a.whole().State)); diff != "" {
		t.Errorf("the upper has changed:\n%s", diff)
	}
}

// in is a call in the workspace that is granted, if it is one in a workspace.
func in(tool, args string) server.Request {
	switch {
	case strings.Contains(args, `"path":"/agents/`):
	case args == "{}":
		args = `{"workspace":"` + mine + `"}`
	default:
		args = `{"workspace":"` + mine + `",` + args[1:]
	}
	return server.Request{Tool: tool, Arguments: json.RawMessage(args)}
}

func upper(s *workspace.State) map[workspace.Path]workspace.Entry {
	all := map[workspace.Path]workspace.Entry{}
	for p, e := range s.Upper.Within(workspace.Root) {
		all[p] = e
	}
	return all
}

// TestUnseenWorkIsNotLost deletes the workspace: what the caller does not see
// counts, and only who wants to lose it does.
func TestUnseenWorkIsNotLost(t *testing.T) {
	t.Parallel()
	a := newWorld(t, true)
	s := a.session(&narrow, "narrow")
	if r := s.Call(t.Context(), in("reset", `{"confirm":true}`)); r.IsError() {
		t.Fatal(r.Text)
	}
	r := s.Call(t.Context(), server.Request{Tool: "workspace.delete", Arguments: json.RawMessage(`{"path":"` + mine + `"}`)})
	if r.Code != workspace.Conflict || !strings.Contains(r.Text[0], "uncommitted files would be lost") {
		t.Errorf("delete: %s %v", r.Code, r.Text)
	}
	r = s.Call(t.Context(), server.Request{Tool: "workspace.delete", Arguments: json.RawMessage(`{"path":"` + mine + `","discard":true}`)})
	if r.IsError() {
		t.Errorf("delete with discard: %v", r.Text)
	}
}

// TestOverAHiddenMount mounts a granted repo where a hidden one is mounted and has no
// work: it is as if nothing was there, and nothing of the hidden mount remains.
func TestOverAHiddenMount(t *testing.T) {
	t.Parallel()
	a := newWorld(t, true)
	a.do("workspace.configure", `{"mounts":{"/idle":{"repoPath":"/repos/secret","policy":"read-only","branch":"main"}}}`)
	s := a.session(&narrow, "narrow")
	for args, want := range map[string]workspace.Kind{
		`{"mounts":{"/idle":{"policy":"read-only"}}}`:                          workspace.Invalid,
		`{"mounts":{"/idle":{"repoPath":"/repos/app"}}}`:                       workspace.Invalid, // with the hidden policy it would be complete
		`{"mounts":{"/idle":null}}`:                                            "",
		`{"mounts":{"/idle":{"repoPath":null,"policy":null}}}`:                 "",
		`{"mounts":{"/idle":{"repoPath":"/repos/secret","policy":"branch"}}}`:  workspace.Invalid,
		`{"mounts":{"/other":{"repoPath":"/repos/secret","policy":"branch"}}}`: workspace.Invalid,
	} {
		r := s.Call(t.Context(), in("workspace.configure", args))
		if r.Code != want || strings.Contains(strings.Join(r.Text, " "), "/idle: /repos") {
			t.Errorf("%s: %s %v, want %s", args, r.Code, r.Text, want)
		}
		if m := a.whole().Table.At("/idle"); m == nil || m.Repo != "/repos/secret" {
			t.Fatalf("%s: the hidden mount is %v", args, m)
		}
	}
	r := s.Call(t.Context(), in("workspace.configure", `{"mounts":{"/idle":{"repoPath":"/repos/app","policy":"branch"}}}`))
	if r.IsError() {
		t.Fatal(r.Text)
	}
	want := workspace.Deviation{Repo: "/repos/app", Policy: workspace.WorkBranch}
	if got := a.whole().State.Deviations["/idle"]; got != want {
		t.Errorf("the deviation is %+v, want %+v", got, want)
	}
}

// TestLimitsTellNothing fills a workspace to its limit, to which what the caller does
// not see counts: what is said names the limit, and not what is left of it.
func TestLimitsTellNothing(t *testing.T) {
	t.Parallel()
	a := newWorld(t, true)
	for _, l := range []workspace.Limits{{UpperEntries: 60}, {UpperBytes: 100}} {
		host, err := workspace.NewHost(t.Context(), &workspace.Config{
			Store: a.store, Blobs: a.store, Trees: a.mounts, Committer: a.mounts, Ignorer: a.mounts, DataID: "data", Limits: l,
		})
		a.must(err)
		p, err := host.Project(t.Context(), "default")
		a.must(err)
		s := server.New(&server.Config{Project: p}).Open(&server.SessionConfig{Tools: server.All, Grants: &narrow})
		r := s.Call(t.Context(), in("writeFile", `{"path":"/workspace/more","content":"more"}`))
		if r.Code != workspace.Limit || !strings.Contains(r.Text[0], "than 60 ") && !strings.Contains(r.Text[0], "than 100 ") {
			t.Errorf("%+v: %s %v", l, r.Code, r.Text)
		}
	}
}
