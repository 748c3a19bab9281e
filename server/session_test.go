package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// newProject returns a project without repos: scratch is enough to tell
// workspaces apart.
func newProject(t *testing.T) *workspace.Project {
	t.Helper()
	store, repos := memory.New(nil), mounts.New(nil)
	host, err := workspace.NewHost(t.Context(), &workspace.Config{Store: store, Blobs: store, Trees: repos, Committer: repos, DataID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Project(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// caller is a session with shorthands.
type caller struct {
	t    *testing.T
	desk *server.Desk
	*server.Session
}

func newCaller(t *testing.T, d *server.Desk, c server.SessionConfig) *caller {
	s := d.Open(&c)
	t.Cleanup(s.Close)
	return &caller{t, d, s}
}

func newDesk(t *testing.T) *server.Desk { return server.New(&server.Config{Project: newProject(t)}) }

// call calls a tool with arguments as JSON text.
func (c *caller) call(tool, args string) server.Reply {
	return c.Call(context.Background(), server.Request{Tool: tool, Arguments: json.RawMessage(args), Client: "test"})
}

// ok calls a tool, which must succeed, and returns the workspace it names.
func (c *caller) ok(tool, args string) string {
	c.t.Helper()
	r := c.call(tool, args)
	if r.IsError() {
		c.t.Fatalf("%s %s: %s", tool, args, r.Text[0])
	}
	var f struct{ Workspace string }
	if err := json.Unmarshal(r.Fields, &f); err != nil {
		c.t.Fatal(err)
	}
	return f.Workspace
}

// fails calls a tool, which must fail with a code, and returns the text.
func (c *caller) fails(code workspace.Kind, tool, args string) string {
	c.t.Helper()
	r := c.call(tool, args)
	if r.Code != code {
		c.t.Fatalf("%s %s: code %q, want %q: %q", tool, args, r.Code, code, r.Text)
	}
	if len(r.Text) != 1 || r.Fields != nil || r.Data != nil {
		c.t.Errorf("%s %s: an error has one text and no more, got %+v", tool, args, r)
	}
	return r.Text[0]
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

func TestUnbound(t *testing.T) {
	c := newCaller(t, newDesk(t), server.SessionConfig{})
	text := c.fails(workspace.Unbound, "writeFile", `{"path":"a","content":"x"}`)
	wantAll(t, text, "writeFile: ", "`workspace.create`", "`workspace.open`", "argument workspace")
	for i := range 7 {
		c.call("workspace.create", fmt.Sprintf(`{"path":"/agents/n%d"}`, i))
	}
	other := newCaller(t, c.desk, server.SessionConfig{}).fails(workspace.Unbound, "git.status", `{}`)
	wantAll(t, other, "There are /agents/n0, /agents/n1, /agents/n2, /agents/n3, /agents/n4, ….")
	text = newCaller(t, c.desk, server.SessionConfig{Stateless: true}).fails(workspace.Unbound, "git.status", `{}`)
	if strings.Contains(text, "workspace.open") {
		t.Errorf("a stateless session is told to open: %q", text)
	}
}

func TestLastCreateOrOpenBinds(t *testing.T) {
	d := newDesk(t)
	c := newCaller(t, d, server.SessionConfig{})
	c.ok("workspace.create", `{"path":"/agents/a"}`)
	if got := c.ok("writeFile", `{"path":"f","content":"x"}`); got != "/agents/a" {
		t.Errorf("the write went to %s", got)
	}
	if got := c.ok("workspace.list", `{}`); got != "/agents/a" {
		t.Errorf("the list names %q as this session's", got)
	}
	again := newCaller(t, d, server.SessionConfig{})
	again.fails(workspace.Unbound, "readFile", `{"path":"f"}`)
	if got := again.ok("workspace.list", `{}`); got != "" {
		t.Errorf("the list of an unbound session names %q", got)
	}
	again.ok("workspace_open", `{"path":"/agents/a"}`)
	if got := again.ok("readFile", `{"path":"f"}`); got != "/agents/a" {
		t.Errorf("the read came from %s", got)
	}
}

func TestFailedOpenBindsNothing(t *testing.T) {
	c := newCaller(t, newDesk(t), server.SessionConfig{})
	c.fails(workspace.NotExist, "workspace.open", `{"path":"/agents/none"}`)
	c.fails(workspace.Unbound, "readFile", `{"path":"f"}`)
}

func TestExplicitArgument(t *testing.T) {
	c := newCaller(t, newDesk(t), server.SessionConfig{Start: "/agents/a"})
	c.ok("workspace.create", `{"path":"/agents/a"}`)
	c.ok("workspace.create", `{"workspace":"/agents/b"}`)
	for _, args := range []string{
		`{"workspace":"/agents/b","path":"f","content":"x"}`,
		`{"path":"f","content":"x","workspace":"/agents/b"}`,
		`"{\"path\":\"f\",\"content\":\"x\",\"workspace\":\"/agents/b\"}"`,
	} {
		if got := c.ok("writeFile", args); got != "/agents/b" {
			t.Errorf("writeFile %s went to %s", args, got)
		}
	}
	tests := []struct {
		code       workspace.Kind
		tool, args string
		says       string
	}{
		{workspace.Invalid, "readFile", `{"path":"f","workspace":5}`, "argument `workspace` must be a string"},
		{workspace.Invalid, "readFile", `{"path":"f","workspace":"/agents/a","workspace":"/agents/b"}`, "given twice"},
		{workspace.Invalid, "readFile", `{"path":"f","workspace":"agents/a"}`, "/agents/"},
		{workspace.NotExist, "readFile", `{"path":"f","workspace":"/agents/none"}`, "/agents/none"},
		{workspace.Invalid, "workspace.create", `{"path":"/agents/c","workspace":"/agents/d"}`, "`path` is"},
		{workspace.Invalid, "workspace.create", `{}`, "missing argument `path`"},
		{workspace.Invalid, "workspace.create", `{"path":["/agents/a"]}`, "argument `path` must be a string"},
		{workspace.Invalid, "workspace.open", `{"path":"/agents/a","rebind":"perhaps"}`, "rebind"},
	}
	for _, tt := range tests {
		wantAll(t, c.fails(tt.code, tt.tool, tt.args), tt.says)
	}
	if got := c.ok("workspace.open", `{"path":"/agents/a","rebind":null}`); got != "/agents/a" {
		t.Errorf("opened %s", got)
	}
}

// E13: sub-agents share one connection.
func TestSubAgents(t *testing.T) {
	c := newCaller(t, newDesk(t), server.SessionConfig{})
	c.ok("workspace.create", `{"path":"/agents/a"}`)
	c.ok("workspace.create", `{"path":"/agents/a"}`) // repeated: still the same one
	c.ok("writeFile", `{"path":"f","content":"a"}`)
	second := c.call("workspace.create", `{"path":"/agents/b"}`)
	if second.IsError() || len(second.Text) < 2 {
		t.Fatalf("the second create answers %+v", second)
	}
	wantAll(t, second.Text[len(second.Text)-1], `workspace: "/agents/b"`)

	wantAll(t, c.fails(workspace.Unbound, "readFile", `{"path":"f"}`), "/agents/a", "/agents/b", "rebind: true")
	c.ok("workspace.open", `{"path":"/agents/a"}`) // is no answer to whose call it is
	c.fails(workspace.Unbound, "readFile", `{"path":"f"}`)

	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			own := [...]string{"/agents/a", "/agents/b"}[i%2]
			r := c.call("writeFile", fmt.Sprintf(`{"workspace":%q,"path":"n%d","content":"x"}`, own, i))
			if r.IsError() || !strings.Contains(string(r.Fields), `"workspace":"`+own+`"`) {
				t.Errorf("write %d: %+v", i, r)
			}
			if i%50 == 0 {
				c.fails(workspace.Unbound, "writeFile", `{"path":"n","content":"x"}`)
			}
		})
	}
	wg.Wait()
	for i, own := range []string{"/agents/a", "/agents/b"} {
		other := (i + 1) % 2
		c.ok("readFile", fmt.Sprintf(`{"workspace":%q,"path":"n%d"}`, own, i))
		c.fails(workspace.NotExist, "readFile", fmt.Sprintf(`{"workspace":%q,"path":"n%d"}`, own, other))
	}

	c.ok("workspace.open", `{"path":"/agents/b","rebind":true}`)
	if got := c.ok("writeFile", `{"path":"f","content":"b"}`); got != "/agents/b" {
		t.Errorf("after rebind the write went to %s", got)
	}
	c.ok("workspace.create", `{"path":"/agents/c"}`)
	wantAll(t, c.fails(workspace.Unbound, "readFile", `{"path":"f"}`), "/agents/b", "/agents/c")
}

// E4: what one client selects is nothing to another.
func TestClientsDoNotMix(t *testing.T) {
	d := newDesk(t)
	var wg sync.WaitGroup
	for _, own := range []string{"/agents/a", "/agents/b"} {
		c := newCaller(t, d, server.SessionConfig{})
		c.ok("workspace.create", fmt.Sprintf(`{"path":%q}`, own))
		wg.Go(func() {
			for i := range 500 {
				r := c.call("writeFile", fmt.Sprintf(`{"path":"f%d","content":%q}`, i%7, own))
				if !strings.Contains(string(r.Fields), `"workspace":"`+own+`"`) {
					t.Errorf("write %d of %s: %+v", i, own, r)
				}
			}
			if r := c.call("readFile", `{"path":"f1"}`); r.Text[0] != own {
				t.Errorf("%s reads %q", own, r.Text[0])
			}
		})
	}
	wg.Wait()
}

func TestStateless(t *testing.T) {
	c := newCaller(t, newDesk(t), server.SessionConfig{Stateless: true})
	c.ok("workspace.create", `{"path":"/agents/a"}`)
	c.fails(workspace.Unbound, "readFile", `{"path":"f"}`)
	c.ok("writeFile", `{"workspace":"/agents/a","path":"f","content":"x"}`)
}

// A fixed binding is a limit: another workspace is told from none by nothing.
func TestFixedBinding(t *testing.T) {
	d := newDesk(t)
	free := newCaller(t, d, server.SessionConfig{Tools: server.All})
	free.ok("workspace.create", `{"path":"/agents/other"}`)
	c := newCaller(t, d, server.SessionConfig{Workspace: "/agents/own", Tools: server.All})

	c.fails(workspace.NotExist, "writeFile", `{"path":"f","content":"x"}`) // it is not created by a write
	for _, args := range []string{``, `{}`, `{"path":null}`, `{"path":"/agents/own"}`, `{"workspace":"/agents/own"}`} {
		if got := c.ok("workspace.create", args); got != "/agents/own" {
			t.Errorf("create %s made %s", args, got)
		}
	}
	if got := c.ok("writeFile", `{"path":"f","content":"x","workspace":"/agents/own"}`); got != "/agents/own" {
		t.Errorf("the write went to %s", got)
	}
	for _, tool := range d.Tools() {
		if _, ok := c.Tool(tool.Name); !ok || tool.Name == "workspace.create" {
			continue
		}
		args := `{"workspace":"/agents/%s"}`
		if tool.Name == "workspace.delete" {
			args = `{"path":"/agents/%s","discard":true}`
		}
		foreign := c.fails(workspace.NotExist, tool.Name, fmt.Sprintf(args, "other"))
		unborn := c.fails(workspace.NotExist, tool.Name, fmt.Sprintf(args, "never"))
		if foreign != strings.ReplaceAll(unborn, "/agents/never", "/agents/other") {
			t.Errorf("%s tells them apart:\n%s\n%s", tool.Name, foreign, unborn)
		}
	}
	real := free.fails(workspace.NotExist, "workspace.show", `{"workspace":"/agents/never"}`)
	if got := c.fails(workspace.NotExist, "workspace.show", `{"workspace":"/agents/never"}`); got != real {
		t.Errorf("a bound session is told %q, an unbound one %q", got, real)
	}
	for _, other := range []string{"/agents/other", "/agents/new"} {
		wantAll(t, c.fails(workspace.Permission, "workspace.create", fmt.Sprintf(`{"path":%q}`, other)), "/agents/own", "Leave path out.")
	}
	wantAll(t, c.fails(workspace.Invalid, "workspace.list", `{}`), "no tool workspace.list (not offered here)")
	if got := c.ok("workspace.delete", `{"discard":true}`); got != "/agents/own" {
		t.Errorf("deleted %s", got)
	}
	free.ok("workspace.show", `{"workspace":"/agents/other"}`)
}

// failing is a desk whose tools do what f does.
func failing(t *testing.T, log *bytes.Buffer, f func() error) *server.Desk {
	return server.New(&server.Config{
		Project: newProject(t), Log: slog.New(slog.NewTextHandler(log, nil)), NewID: func() string { return "ID42" },
		Run: func(_ context.Context, t *tools.Tool, _ tools.Call, _ json.RawMessage) (tools.Output, error) {
			return nil, workspace.InOp(t.Name, f())
		},
	})
}

func TestInternalErrorsAreWithheld(t *testing.T) {
	tests := []struct {
		name string
		fail func() error
	}{
		{"unclassified", func() error { return errors.New("open /home/ann/secret: SELECT * FROM events") }},
		{"internal", func() error { return workspace.Errorf(workspace.Internal, "/home/ann/secret SELECT") }},
		{"panic", func() error { panic("/home/ann/secret SELECT") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			c := newCaller(t, failing(t, &log, tt.fail), server.SessionConfig{Workspace: "/agents/a"})
			text := c.fails(workspace.Internal, "git_status", `{}`)
			if want := "git.status: internal error, logged under the id ID42"; text != want {
				t.Errorf("the client is told %q, want %q", text, want)
			}
			wantAll(t, log.String(), "id=ID42", "/home/ann/secret", "SELECT", "tool=git.status")
		})
	}
}

func TestErrorsAreSaidInTheClientsSpelling(t *testing.T) {
	var log bytes.Buffer
	fail := func() error {
		return workspace.Errorf(workspace.Conflict, "see `git.diff`:\n  shown `git.diff` stays\n").At("/repos/a").
			Hinted("Look with `git.diff`. Merge with `git.sync`. Ask `stat`.")
	}
	c := newCaller(t, failing(t, &log, fail), server.SessionConfig{Workspace: "/agents/a"})
	r := c.Call(t.Context(), server.Request{Tool: "git.commit", Spelling: server.Underscore})
	want := "git_commit /repos/a: see `git_diff`:\n  shown `git.diff` stays\n\nLook with `git_diff`."
	if len(r.Text) != 1 || r.Text[0] != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	var log bytes.Buffer
	fail := func() error { return workspace.Errorf(workspace.Invalid, "%s", strings.Repeat("ä", 100_000)) }
	c := newCaller(t, failing(t, &log, fail), server.SessionConfig{Workspace: "/agents/a"})
	text := c.fails(workspace.Invalid, "edit", `{}`)
	if len(text) > 48<<10 || !strings.HasSuffix(text, "ä\n[cut]") {
		t.Errorf("%d bytes that end in %q", len(text), text[len(text)-10:])
	}
}

func TestKeys(t *testing.T) {
	c := newCaller(t, newDesk(t), server.SessionConfig{})
	c.ok("workspace.create", `{"path":"/agents/a"}`)
	write := func(key, content string) server.Reply {
		return c.Call(t.Context(), server.Request{Tool: "writeFile", Key: key,
			Arguments: json.RawMessage(fmt.Sprintf(`{"path":"f","content":%q}`, content))})
	}
	first, again := write("k", "x"), write("k", "x")
	if first.IsError() || string(first.Fields) != string(again.Fields) {
		t.Errorf("repeated: %s, then %s", first.Fields, again.Fields)
	}
	if r := write("k", "y"); r.Code != workspace.Conflict {
		t.Errorf("the key of another request: %+v", r)
	}
	if r := write(strings.Repeat("k", 256), "y"); r.Code != workspace.Invalid {
		t.Errorf("a key of 256 bytes: %+v", r)
	}
}

// A session goes on where another one was, also where that was bound to nothing
// because several workspaces share it.
func TestSessionInThePlaceOfAnother(t *testing.T) {
	d := newDesk(t)
	old := newCaller(t, d, server.SessionConfig{})
	again := func() *caller {
		start, rivals := old.Bound()
		return newCaller(t, d, server.SessionConfig{Start: start, Rivals: rivals})
	}
	again().fails(workspace.Unbound, "git.status", `{}`)
	old.ok("workspace.create", `{"path":"/agents/a"}`)
	if got := again().ok("git.status", `{}`); got != "/agents/a" {
		t.Errorf("it acts on %s", got)
	}
	old.ok("workspace.create", `{"path":"/agents/b"}`)
	next := again()
	wantAll(t, next.fails(workspace.Unbound, "git.status", `{}`), "/agents/a", "/agents/b")
	next.ok("workspace.open", `{"path":"/agents/a"}`)
	next.fails(workspace.Unbound, "git.status", `{}`)
}
