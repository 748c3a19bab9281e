package clients

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// session is one that is played: by the contract, whoever the client is.
type session struct {
	*testing.T
	w       *world
	c       client
	names   naming
	id      string // of the workspace
	named   bool   // each call names the workspace, since the connection does not remember
	offered map[string]tool
	schemas map[string]*jsonschema.Resolved // of results
	called  map[string]bool
}

// args are those of a call.
type args map[string]any

func newSession(t *testing.T, w *world, c client, names naming, named bool) *session {
	t.Helper()
	s := &session{
		T: t, w: w, c: c, names: names, id: "/agents/demo", named: named,
		offered: map[string]tool{}, schemas: map[string]*jsonschema.Resolved{}, called: map[string]bool{},
	}
	list, err := c.tools(t.Context())
	if err != nil {
		t.Fatalf("list the tools: %v", err)
	}
	for _, x := range list {
		s.offer(x)
	}
	if len(s.offered) < 20 {
		t.Errorf("only %d tools are offered", len(s.offered))
	}
	return s
}

// offer takes in a tool that is listed. Its title is its name with a dot.
func (s *session) offer(x tool) {
	if x.Name != s.names.spell(x.Title) || x.Description == "" || len(x.Annotations) < 4 {
		s.Errorf("a tool is listed as %+v", x)
	}
	var input jsonschema.Schema
	if err := json.Unmarshal(x.InputSchema, &input); err != nil || input.Type != "object" {
		s.Errorf("%s takes %s: %v", x.Name, x.InputSchema, err)
	}
	s.offered[x.Title] = x
	if x.OutputSchema == nil {
		return
	}
	var output jsonschema.Schema
	err := json.Unmarshal(x.OutputSchema, &output)
	if err == nil {
		s.schemas[x.Title], err = output.Resolve(nil)
	}
	if err != nil {
		s.Errorf("%s gives %s: %v", x.Name, x.OutputSchema, err)
	}
}

// try calls a tool by the name that is listed.
func (s *session) try(tool string, in args) called {
	s.Helper()
	return s.as(s.names.spell(tool), in)
}

// as calls a tool by any name.
func (s *session) as(name string, in args) called {
	s.Helper()
	if s.named && in["path"] != s.id && name != s.names.spell("workspace.list") {
		in["workspace"] = s.id
	}
	reports := name == "batch" || name == s.names.spell("git.commit") // these count what they do
	c, err := s.c.call(s.Context(), name, in, reports)
	if err != nil {
		s.Fatalf("%s %v: %v", name, in, err)
	}
	if !slices.IsSorted(c.Progress) || reports && len(c.Progress) == 0 {
		s.Errorf("%s: the progress is %v", name, c.Progress)
	}
	return c
}

// ok calls a tool, which must succeed with fields by its schema, if it has one,
// and returns them; else those beside the text.
func (s *session) ok(tool string, in args) (fields map[string]any, text string) {
	s.Helper()
	c := s.try(tool, in)
	if c.IsError || len(c.Content) == 0 {
		s.Fatalf("%s %v: %+v", tool, in, c)
	}
	s.called[tool] = true
	raw := c.StructuredContent
	schema := s.schemas[tool]
	if schema == nil {
		if raw != nil {
			s.Errorf("%s gives %s without a schema", tool, raw)
		}
		raw = c.Meta["carrel.dev/result"]
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		s.Fatalf("%s gives %s: %v", tool, raw, err)
	}
	if schema != nil {
		if err := schema.Validate(fields); err != nil {
			s.Errorf("%s gives %s: %v", tool, raw, err)
		}
	}
	// A list belongs to no workspace where the connection is bound to none.
	if fields["workspace"] != s.id && tool != "workspace.list" {
		s.Errorf("%s acts on %v", tool, fields["workspace"])
	}
	return fields, c.Content[0].Text
}

// refused calls a tool, which must say no with a code, and something to read.
func (s *session) refused(tool string, in args, code string) string {
	s.Helper()
	c := s.try(tool, in)
	if !c.IsError || c.StructuredContent != nil || string(c.Meta["code"]) != `"`+code+`"` || c.text() == "" {
		s.Errorf("%s %v: %+v, want an error %s", tool, in, c, code)
	}
	return c.text()
}

// play is the session.
func (s *session) play() {
	s.ok("workspace.create", args{"path": s.id})
	s.reads()
	s.edits()
	s.searches()
	s.commits()
	s.resources()
	s.rest()
	for name := range s.offered {
		if !s.called[name] {
			s.Errorf("%s was not called", name)
		}
	}
}

func (s *session) reads() {
	fields, text := s.ok("readFile", args{"path": "/repos/app/main.go"})
	if text != files["main.go"] {
		s.Errorf("main.go is read as %q", text)
	}
	if want := strings.TrimSpace(s.w.git(s.w.repo, "rev-parse", "main:main.go")); fields["version"] != want {
		s.Errorf("main.go has the version %v, git says %s", fields["version"], want)
	}
	if text := s.refused("readFile", args{"path": "/repos/app/none.go"}, "not_exist"); !strings.Contains(text, "/repos/app/none.go") {
		s.Errorf("the error is %q", text)
	}
	if _, err := s.c.call(s.Context(), "git.stauts", args{}, false); err == nil || !strings.Contains(err.Error(), "did you mean "+s.names.spell("git.status")) {
		s.Errorf("an unknown tool: %v", err)
	}
}

func (s *session) edits() {
	s.ok("writeFile", args{"path": "/repos/app/new.txt", "content": "new é \U0001f600\n"})
	fields, text := s.ok("edit", args{"path": "/repos/app/crlf.txt", "oldString": "two", "newString": "zwei\ndrei"})
	if fields["occurrenceCount"] != 1.0 || !strings.Contains(text, "+zwei") {
		s.Errorf("the edit gives %v and %q", fields, text)
	}
	s.refused("edit", args{"path": "/repos/app/crlf.txt", "oldString": "two", "newString": "x"}, "conflict")
	s.refused("edit", args{"path": "/repos/app/crlf.txt", "old_string": "one"}, "invalid")
}

func (s *session) searches() {
	fields, _ := s.ok("glob", args{"pattern": "/repos/**/*.txt"})
	if want := []any{"/repos/app/crlf.txt", "/repos/app/dir/a.txt", "/repos/app/new.txt"}; !slices.Equal(fields["paths"].([]any), want) {
		s.Errorf("glob finds %v", fields["paths"])
	}
	fields, text := s.ok("grep", args{"pattern": "^zwei"})
	if matches := fields["matches"].([]any); len(matches) != 1 || !strings.Contains(text, "/repos/app/crlf.txt:2: zwei") {
		s.Errorf("grep finds %v and says %q", matches, text)
	}
	s.ok("grep", args{"pattern": "a", "mode": "count"})
	s.ok("grep", args{"pattern": "a", "mode": "files"})
	s.ok("readDir", args{"path": "/repos/app"})
}

func (s *session) commits() {
	status, _ := s.ok("git.status", args{})
	for _, name := range []string{"git.status", "git_status"} {
		var fields map[string]any
		if c := s.as(name, args{}); c.IsError || json.Unmarshal(c.StructuredContent, &fields) != nil || len(fields) != len(status) {
			s.Errorf("%s gives %+v", name, c)
		}
	}
	if text := s.try("git.diff", args{}).text(); !strings.Contains(text, "-two\r\n+zwei\r\n+drei\r\n") {
		s.Errorf("the diff is %q", text)
	}
	s.ok("git.diff", args{})
	commit, _ := s.ok("git.commit", args{"message": "a commit\n\nof a session", "author": map[string]any{"name": "Bob", "email": "bob@example.org"}})
	head := strings.Fields(s.w.git(s.w.repo, "log", "-1", "--format=%H %an <%ae> %s", "main"))
	if commit["commit"] != head[0] || strings.Join(head[1:], " ") != "Bob <bob@example.org> a commit" {
		s.Errorf("the commit is %v, git says %v", commit, head)
	}
	if got := s.w.git(s.w.repo, "show", "main:crlf.txt") + s.w.git(s.w.repo, "show", "main:new.txt"); got != "one\r\nzwei\r\ndrei\r\nnew é \U0001f600\n" {
		s.Errorf("git has %q", got)
	}
	log, _ := s.ok("git.log", args{})
	var ids []string
	for _, c := range log["commits"].([]any) {
		ids = append(ids, c.(map[string]any)["oid"].(string))
	}
	if want := strings.Fields(s.w.git(s.w.repo, "log", "--format=%H", "main")); !slices.Equal(ids, want) {
		s.Errorf("the log has %v, git says %v", ids, want)
	}
	if out := s.w.git(s.w.repo, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
		s.Errorf("git fsck: %s", out)
	}
}

// template is that of the addresses of files.
const template = "carrel:///{+path}{?ws,at}"

// resources reads by address, and is told of what another process changes and of a
// commit by somebody else.
func (s *session) resources() {
	list, err := s.c.resources(s.Context())
	if err != nil {
		s.Fatalf("list the resources: %v", err)
	}
	// A connection that remembers is bound to the workspace that it created.
	if len(list) == 0 && (!s.named || s.c.revision() < "2026-07-28") {
		s.Error("no resource is listed")
	}
	if got, err := s.c.templates(s.Context()); err != nil || !slices.Equal(got, []string{template}) {
		s.Errorf("the templates are %q, %v", got, err)
	}
	if got, err := s.c.prompts(s.Context()); err != nil || !slices.Contains(got, "review-changes") || len(got) != 3 {
		s.Errorf("the prompts are %q, %v", got, err)
	}
	file, status := "carrel:///repos/app/main.go?ws="+s.id, "carrel:///.carrel/status?ws="+s.id
	for _, uri := range append(list, file, status) {
		if _, err := s.c.read(s.Context(), uri); err != nil {
			s.Errorf("read %s: %v", uri, err)
		}
	}
	if _, err := s.c.read(s.Context(), "carrel:///repos/app/none.go?ws="+s.id); err == nil || !strings.Contains(err.Error(), "/repos/app/none.go") {
		s.Errorf("read what is not there: %v", err)
	}
	for _, uri := range []string{file, status} {
		if err := s.c.subscribe(s.Context(), uri); err != nil {
			s.Fatalf("subscribe to %s: %v", uri, err)
		}
	}
	s.w.call("--workspace", s.id, "writeFile", `{"path":"/repos/app/main.go","content":"by another process"}`)
	for _, uri := range []string{file, status} {
		if err := s.c.updated(s.Context(), uri); err != nil {
			s.Error(err)
		}
	}
	if text, err := s.c.read(s.Context(), file); err != nil || text != "by another process" {
		s.Errorf("then it is %q, %v", text, err)
	}
	if text, err := s.c.prompt(s.Context(), "review-changes", map[string]string{"workspace": s.id}); err != nil || !strings.Contains(text, "+by another process") {
		s.Errorf("the prompt is %q, %v", text, err)
	}
	s.ok("revert", args{"path": "/repos/app/main.go"})
	if err := s.c.updated(s.Context(), file); err != nil {
		s.Error(err)
	}
	clone := s.T.TempDir()
	s.w.git(clone, "clone", "-q", s.w.repo, ".")
	s.w.git(clone, "rm", "-q", "main.go")
	s.w.git(clone, "commit", "-q", "-m", "outside")
	s.w.git(clone, "push", "-q", "origin", "HEAD:main")
	if err := s.c.updated(s.Context(), file); err != nil {
		s.Error(err)
	}
	s.w.git(clone, "revert", "--no-edit", "HEAD")
	s.w.git(clone, "push", "-q", "origin", "HEAD:main")
	if err := s.c.updated(s.Context(), file); err != nil {
		s.Error(err)
	}
	if got, err := s.c.complete(s.Context(), "repos/app/ma", s.id); err != nil || !slices.Equal(got, []string{"repos/app/main.go"}) {
		s.Errorf("the path is completed by %q, %v", got, err)
	}
}

// rest calls what was not called yet, each so that it succeeds.
func (s *session) rest() {
	for _, step := range []struct {
		tool string
		in   args
	}{
		{"workspace.open", args{"path": s.id}},
		{"workspace.list", args{}},
		{"mv", args{"from": "/repos/app/new.txt", "to": "/repos/app/moved.txt"}},
		{"cp", args{"from": "/repos/app/moved.txt", "to": "copy.txt"}},
		{"mkdir", args{"path": "made"}},
		{"deleteFile", args{"path": "/repos/app/dir", "recursive": true}},
		{"revert", args{"path": "/repos/app/dir"}},
		{"readFiles", args{"paths": []string{"/repos/app/main.go", "none"}}},
		{"readFileBytes", args{"path": "/repos/app/main.go"}},
		{"writeFileBytes", args{"path": "bytes", "base64": "AP8="}},
		{"symlink", args{"path": "link", "target": "bytes"}},
		{"batch", args{"changes": []args{{"op": "mkdir", "path": "x"}, {"op": "writeFile", "path": "x/f", "content": "x"}}}},
		{"stat", args{"path": "/repos/app/main.go"}},
		{"exists", args{"path": "none"}},
		{"listAllFiles", args{}},
		{"git.status", args{"all": true}},
		{"reset", args{"confirm": true}},
		{"workspace.show", args{}},
		{"workspace.configure", args{"mounts": args{"/repos/app": args{"policy": "read-only"}}}},
		{"workspace.delete", args{"path": s.id, "discard": true}},
	} {
		if _, ok := s.offered[step.tool]; ok {
			s.ok(step.tool, step.in)
		}
	}
}
