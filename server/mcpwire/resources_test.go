package mcpwire_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// contents are those of a resource that is read.
type contents struct {
	Contents []struct {
		URI, MIMEType, Text string
		Blob                []byte
	}
}

// read reads a resource, which must be there, and returns it as text.
func (r *raw) read(uri string) (text, mime string) {
	r.t.Helper()
	m := r.ask("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	var c contents
	if m.Error != nil || json.Unmarshal(m.Result, &c) != nil || len(c.Contents) != 1 || c.Contents[0].URI != uri {
		r.t.Fatalf("reading %s answers %.500s", uri, m.line)
	}
	return c.Contents[0].Text + string(c.Contents[0].Blob), c.Contents[0].MIMEType
}

// unread reads a resource, which must fail with a code.
func (r *raw) unread(uri string, code int, want ...string) {
	r.t.Helper()
	m := r.ask("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	if m.Error == nil || m.Error.Code != code {
		r.t.Errorf("reading %s answers %.500s, want the code %d", uri, m.line, code)
		return
	}
	for _, w := range want {
		if !strings.Contains(m.Error.Message, w) {
			r.t.Errorf("reading %s fails with %q, want %q in it", uri, m.Error.Message, w)
		}
	}
}

// A file is read by its address whatever its name is, and so is what a name
// looks like in another encoding.
func TestReadResources(t *testing.T) {
	files := map[string]string{
		"main.go": "package main\n", "a%20b": "percent", "a b": "space", "what?": "question", "a#b": "hash", "\xff.txt": "not UTF-8",
		"ü/é.txt": "accents", "bytes": "\x00\xff\x01", "empty": "", "large.txt": strings.Repeat("0123456789abcde\n", 1<<16), "larger.txt": strings.Repeat("x", 1<<20+1),
	}
	r := connect(t, &mcpwire.Config{Project: newProject(t, files), Workspace: "/agents/a"})
	r.initialize("claude")
	r.ok("workspace.create", `{}`)
	for name, want := range files {
		uri := tools.URI{Path: workspace.Path("/repos/app/" + name), Workspace: "/agents/a"}.String()
		if name == "larger.txt" {
			r.unread(uri, -32602, "1048577 bytes", "`readFile`")
			continue
		}
		mime := "text/plain"
		if name == "bytes" {
			mime = "application/octet-stream"
		}
		if text, got := r.read(uri); text != want || got != mime {
			t.Errorf("%s is a %s: %.100q", uri, got, text)
		}
	}
	r.ok("edit", `{"path":"/repos/app/main.go","oldString":"main","newString":"other"}`)
	r.ok("writeFile", `{"path":"notes","content":"mine"}`)
	for uri, want := range map[string]string{
		"carrel:///repos/app/main.go":         "package other\n",
		"carrel:///repos/app/main.go?at=base": "package main\n",
		"carrel:///repos/app/ü/é.txt":         "accents",
		"carrel:///workspace/notes":           "mine",
		"carrel:///":                          "repos/\nworkspace/",
		"carrel:///workspace":                 "notes",
		"carrel:///workspace/?at=base":        "",
	} {
		if text, _ := r.read(uri); text != want {
			t.Errorf("%s is %q, want %q", uri, text, want)
		}
	}
	if text, mime := r.read("carrel:///.carrel/status?ws=/agents/a"); mime != "text/plain" || !strings.Contains(text, "  M /repos/app/main.go\n") {
		t.Errorf("the status is a %s: %q", mime, text)
	}
	if text, mime := r.read("carrel:///.carrel/diff"); mime != "text/x-diff" || !strings.Contains(text, "-package main\n+package other\n") {
		t.Errorf("the diff is a %s: %q", mime, text)
	}
	r.unread("carrel:///repos/app/none", -32002, "/repos/app/none")
	r.unread("carrel:///repos/app/main.go/x", -32002)
	r.unread("carrel:///workspace/notes?at=base", -32002)
	r.unread("carrel:///.carrel/timeline", -32002)
	r.unread("carrel:///repos/app/main.go?at=3", -32602, `at "3"`)
	r.unread("carrel:///.carrel/diff?at=base", -32602)
}

// 2026-07-28 has no code of its own for what is not there.
func TestResourcesOfTheStatelessEra(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"main.go": "package main\n"})})
	id := w.initialize("/mcp", "example")
	w.post("/mcp", id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workspace.create","arguments":{"path":"/agents/a"}}}`)
	read := func(door, uri string) answer {
		return w.do("POST", door, modernBody("resources/read", fmt.Sprintf(`"uri":%q`, uri), ""), modernHeaders("resources/read", uri)...)
	}
	if a := read("/mcp", "carrel:///repos/app/main.go?ws=/agents/a"); a.status != 200 || !strings.Contains(a.body, `package main`) {
		t.Errorf("a file: %+v", a)
	}
	if a := read("/agents/a/mcp", "carrel:///repos/app/main.go"); a.status != 200 || !strings.Contains(a.body, `package main`) {
		t.Errorf("a file at a bound endpoint: %+v", a)
	}
	for uri, want := range map[string]string{
		"carrel:///repos/app/none?ws=/agents/a":    "/repos/app/none",
		"carrel:///repos/app/main.go?ws=/agents/b": "does not exist",
		"carrel:///repos/app/main.go":              "no workspace is bound",
	} {
		if a := read("/mcp", uri); a.status != 400 || a.code() != -32602 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %+v", uri, a)
		}
	}
}

// To a session that is bound no other workspace was ever born, and one that is
// bound to nothing is told so.
func TestBindingOfResources(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "package main\n"})
	free := connect(t, &mcpwire.Config{Project: p})
	free.initialize("example")
	free.unread("carrel:///repos/app/main.go", -32602, "no workspace is bound", "`workspace.create`")
	free.ok("workspace.create", `{"path":"/agents/a"}`)
	free.read("carrel:///repos/app/main.go")
	free.ok("workspace.create", `{"path":"/agents/b"}`)
	free.unread("carrel:///repos/app/main.go", -32602, "several workspaces")
	free.read("carrel:///repos/app/main.go?ws=/agents/b")

	bound := connect(t, &mcpwire.Config{Project: p, Workspace: "/agents/a"})
	bound.initialize("example")
	bound.read("carrel:///repos/app/main.go?ws=/agents/a")
	foreign := bound.ask("resources/read", `{"uri":"carrel:///repos/app/main.go?ws=/agents/b"}`)
	unborn := bound.ask("resources/read", `{"uri":"carrel:///repos/app/main.go?ws=/agents/z"}`)
	if foreign.Error == nil || foreign.Error.Code != -32002 || strings.ReplaceAll(foreign.Error.Message, "/agents/b", "/agents/z") != unborn.Error.Message {
		t.Errorf("another workspace: %s, and one that is not there: %s", foreign.line, unborn.line)
	}
	for _, method := range []string{"resources/subscribe", "resources/read"} {
		if m := bound.ask(method, `{"uri":"carrel:///.carrel/status?ws=/agents/b"}`); m.Error == nil || m.Error.Code != -32002 {
			t.Errorf("%s of another workspace answers %s", method, m.line)
		}
	}
}

func (r *raw) offers(cursor string) (uris []string, next string) {
	r.t.Helper()
	m := r.ask("resources/list", fmt.Sprintf(`{"cursor":%q}`, cursor))
	var list struct {
		Resources  []struct{ URI, Name string }
		NextCursor string
	}
	if m.Error != nil || json.Unmarshal(m.Result, &list) != nil || list.Resources == nil {
		r.t.Fatalf("the list is %s", m.line)
	}
	for _, o := range list.Resources {
		uris = append(uris, o.URI)
	}
	return uris, list.NextCursor
}

func TestListResources(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "package main\n"})
	r := connect(t, &mcpwire.Config{Project: p, Tools: "all"})
	r.initialize("example")
	if uris, _ := r.offers(""); len(uris) != 0 {
		t.Errorf("without a workspace there are %v", uris)
	}
	mounts := map[string]any{}
	for i := range 120 {
		mounts[fmt.Sprintf("/vendor/m%03d", i)] = map[string]any{"repoPath": "/repos/app", "policy": "read-only"}
	}
	in, err := json.Marshal(map[string]any{"path": "/agents/a", "mounts": mounts})
	if err != nil {
		t.Fatal(err)
	}
	r.ok("workspace.create", string(in))
	if m := r.next(); m.Method != "notifications/resources/list_changed" {
		t.Errorf("after the session was bound comes %s", m.line)
	}
	first, cursor := r.offers("")
	rest, last := r.offers(cursor)
	all := slices.Concat(first, rest)
	if len(first) != 100 || len(all) != 123 || last != "" || all[0] != "carrel:///.carrel/status?ws=/agents/a" || all[122] != "carrel:///vendor/m119?ws=/agents/a" {
		t.Errorf("%d and %d resources, from %s to %s", len(first), len(rest), all[0], all[len(all)-1])
	}
	for _, uri := range all {
		r.read(uri)
	}
	m := r.ask("resources/templates/list", `{}`)
	if !strings.Contains(m.line, `"uriTemplate":"carrel:///{+path}{?ws,at}"`) {
		t.Errorf("the templates are %s", m.line)
	}
}

// completed asks for a completion.
func (r *raw) completed(ref, name, value, with string) (values []string, more bool) {
	r.t.Helper()
	m := r.ask("completion/complete", fmt.Sprintf(`{"ref":%s,"argument":{"name":%q,"value":%q},"context":{"arguments":%s}}`, ref, name, value, with))
	var c struct {
		Completion struct {
			Values  []string
			HasMore bool
		}
	}
	if m.Error != nil || json.Unmarshal(m.Result, &c) != nil || c.Completion.Values == nil {
		r.t.Fatalf("completing %s of %q answers %s", name, value, m.line)
	}
	return c.Completion.Values, c.Completion.HasMore
}

func TestCompletion(t *testing.T) {
	files := map[string]string{"src/main.go": "x", "src/make.go": "x", "src/a%20b": "x", "src/a b": "x", "src/q?": "x", "src/dir/x": "x"}
	for i := range 120 {
		files[fmt.Sprintf("many/%03d", i)] = "x"
	}
	p := newProject(t, files)
	r := connect(t, &mcpwire.Config{Project: p})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	r.ok("workspace.create", `{"path":"/agents/b"}`)
	r.ok("writeFile", `{"path":"/repos/app/src/mapped.go","content":"x","workspace":"/agents/b"}`)
	const template, prompt = `{"type":"ref/resource","uri":"carrel:///{+path}{?ws,at}"}`, `{"type":"ref/prompt","name":"review-changes"}`
	const b = `{"ws":"/agents/b"}`
	for _, tt := range []struct {
		ref, name, value, with string
		want                   []string
	}{
		{template, "path", "", b, []string{"repos/", "workspace/"}},
		{template, "path", "repos/app/src/ma", b, []string{"repos/app/src/main.go", "repos/app/src/make.go", "repos/app/src/mapped.go"}},
		{template, "path", "/repos/app/src/ma", `{"ws":"/agents/a"}`, []string{"/repos/app/src/main.go", "/repos/app/src/make.go"}},
		{template, "path", "repos/app/src/a", b, []string{"repos/app/src/a%20b", "repos/app/src/a%2520b"}},
		{template, "path", "repos/app/src/a%25", b, []string{"repos/app/src/a%2520b"}},
		{template, "path", "repos/app/src/q", b, []string{"repos/app/src/q%3F"}},
		{template, "path", "repos/none/x", b, []string{}},
		{template, "path", "repos/app/src/main.go/x", b, []string{}},
		{template, "path", "repos/", `{}`, []string{}}, // of which of the two workspaces?
		{template, "path", "repos/", `{"ws":"/agents/none"}`, []string{}},
		{template, "ws", "/agents/", `{}`, []string{"/agents/a", "/agents/b"}},
		{template, "at", "", `{}`, []string{"base"}},
		{template, "at", "x", `{}`, []string{}},
		{prompt, "workspace", "/agents/b", `{}`, []string{"/agents/b"}},
		{prompt, "scope", "/re", `{"workspace":"/agents/b"}`, []string{"/repos/app"}},
		{prompt, "path", "/repos/app/src/a", `{"workspace":"/agents/b"}`, []string{"/repos/app/src/a b", "/repos/app/src/a%20b"}},
	} {
		if got, more := r.completed(tt.ref, tt.name, tt.value, tt.with); !slices.Equal(got, tt.want) || more {
			t.Errorf("%s of %q with %s may be %q, want %q", tt.name, tt.value, tt.with, got, tt.want)
		}
	}
	if got, more := r.completed(template, "path", "repos/app/many/", b); len(got) != 100 || !more {
		t.Errorf("of 120 files there are %d, %v", len(got), more)
	}
	bound := connect(t, &mcpwire.Config{Project: p, Workspace: "/agents/a"})
	bound.initialize("example")
	if got, _ := bound.completed(template, "ws", "", `{}`); !slices.Equal(got, []string{"/agents/a"}) {
		t.Errorf("a bound session may choose %q", got)
	}
	if got, _ := bound.completed(template, "path", "repos/", b); len(got) != 0 {
		t.Errorf("a bound session finds %q in another workspace", got)
	}
}

func TestPrompts(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "package main\n", "fence.md": "a\n"})
	for _, tt := range []struct {
		client, spelled string
		bound           workspace.ID
	}{{"example", "`git.commit`", ""}, {"claude", "`git_commit`", "/agents/c"}} {
		r := connect(t, &mcpwire.Config{Project: p, Workspace: tt.bound})
		r.initialize(tt.client)
		ws := string(tt.bound)
		if ws == "" {
			ws = "/agents/p"
			if m := r.ask("prompts/get", `{"name":"review-changes"}`); m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.line, "no workspace is bound") {
				t.Errorf("without a workspace: %s", m.line)
			}
		}
		r.ok("workspace.create", fmt.Sprintf(`{"path":%q}`, ws))
		r.ok("edit", `{"path":"/repos/app/main.go","oldString":"main","newString":"other"}`)
		r.ok("writeFile", `{"path":"/repos/app/fence.md","content":"`+"````\\n"+`"}`)
		list := r.ask("prompts/list", `{}`)
		var prompts struct {
			Prompts []struct {
				Name      string
				Arguments []struct{ Name string }
			}
		}
		if err := json.Unmarshal(list.Result, &prompts); err != nil || len(prompts.Prompts) != 3 {
			t.Fatalf("the prompts are %s", list.line)
		}
		if named := strings.Contains(list.line, `"name":"workspace"`); named != (tt.bound == "") {
			t.Errorf("the prompts of a session bound to %q are %s", tt.bound, list.line)
		}
		for _, prompt := range prompts.Prompts {
			m := r.ask("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":{"scope":"/repos/app"}}`, prompt.Name))
			var got struct {
				Messages []struct {
					Role    string
					Content struct{ Type, Text string }
				}
			}
			if m.Error != nil || json.Unmarshal(m.Result, &got) != nil || len(got.Messages) != 1 {
				t.Fatalf("%s gives %s", prompt.Name, m.line)
			}
			text := got.Messages[0].Content.Text
			for _, want := range []string{"M /repos/app/main.go", "+package other", "\n`````\n"} {
				if got.Messages[0].Role != "user" || !strings.Contains(text, want) {
					t.Errorf("%s lacks %q: %s", prompt.Name, want, text)
				}
			}
			if prompt.Name == "commit-message" && !strings.Contains(text, tt.spelled) {
				t.Errorf("it does not name %s: %s", tt.spelled, text)
			}
		}
	}
}

// Prompts have no more than a result has.
func TestPromptsAreBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("dir/a-file-with-a-long-name-%04d.txt", i)] = "x\n"
	}
	r := connect(t, &mcpwire.Config{Project: newProject(t, files), Workspace: "/agents/a"})
	r.initialize("example")
	r.ok("workspace.create", `{}`)
	r.ok("deleteFile", `{"path":"/repos/app/dir","recursive":true}`)
	for _, name := range []string{"review-changes", "commit-message", "resolve-conflict"} {
		m := r.ask("prompts/get", fmt.Sprintf(`{"name":%q}`, name))
		if m.Error != nil || len(m.line) > 60<<10 || len(m.line) < 20<<10 {
			t.Errorf("%s has %d bytes: %.300s", name, len(m.line), m.line)
		}
	}
}

// What conflicts is shown with what others have made of it.
func TestConflictPrompt(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "one\n"})
	r := connect(t, &mcpwire.Config{Project: p})
	r.initialize("example")
	for _, ws := range []string{"/agents/a", "/agents/b"} {
		r.ok("workspace.create", fmt.Sprintf(`{"path":%q}`, ws))
		r.ok("writeFile", fmt.Sprintf(`{"path":"/repos/app/main.go","content":"of %s\n","workspace":%q}`, ws, ws))
	}
	r.ok("git.commit", `{"message":"theirs","workspace":"/agents/a"}`)
	m := r.ask("prompts/get", `{"name":"resolve-conflict","arguments":{"workspace":"/agents/b","path":"/repos/app/main.go"}}`)
	for _, want := range []string{"[conflict:", "+of /agents/b", `Their version (`, "`revert`"} {
		if !strings.Contains(m.line, want) {
			t.Errorf("the prompt lacks %q: %s", want, m.line)
		}
	}
	if !strings.Contains(m.line, `\nof /agents/a\n`) {
		t.Errorf("the prompt lacks their version: %s", m.line)
	}
}
