package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

// agent is a client of a carrel mcp that runs in this process.
type agent struct {
	*world
	in           io.WriteCloser
	out          *bufio.Scanner
	ended        chan error
	stderr       bytes.Buffer // to be read when the server has ended
	id           int
	instructions string
}

// mcp starts carrel mcp and shakes hands with it.
func (w *world) mcp(args ...string) *agent {
	w.Helper()
	fromServer, toClient := io.Pipe()
	fromClient, toServer := io.Pipe()
	a := &agent{world: w, in: toServer, out: bufio.NewScanner(fromServer), ended: make(chan error, 1)}
	a.out.Buffer(nil, 1<<20)
	go func() {
		err := run(w.Context(), append([]string{"mcp"}, args...), fromClient, toClient, &a.stderr)
		toClient.CloseWithError(io.EOF)
		fromClient.Close()
		a.ended <- err
	}()
	w.Cleanup(func() { toServer.Close() })
	var hello struct{ Instructions string }
	a.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}`, &hello)
	a.instructions = hello.Instructions
	fmt.Fprintln(a.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

func (a *agent) request(method, params string, result any) {
	a.Helper()
	a.id++
	fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", a.id, method, params)
	for a.out.Scan() {
		var m struct {
			ID            int
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(a.out.Bytes(), &m); err != nil {
			a.Fatal(err)
		}
		if m.ID != a.id {
			continue
		}
		if m.Error != nil {
			a.Fatalf("%s: %s", method, m.Error)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			a.Fatal(err)
		}
		return
	}
	err := <-a.ended
	report(&a.stderr, err)
	a.Fatalf("%s: the server ended: %s", method, a.stderr.String())
}

// call calls a tool and returns its text.
func (a *agent) call(tool, arguments string) string {
	a.Helper()
	var r struct {
		Content []struct{ Text string }
		IsError bool
	}
	a.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments), &r)
	var text []string
	for _, block := range r.Content {
		text = append(text, block.Text)
	}
	return strings.Join(text, "\n")
}

// end closes the input and returns what the server said on stderr.
func (a *agent) end() string {
	a.Helper()
	a.in.Close()
	if err := <-a.ended; err != nil {
		a.Errorf("mcp ended with %v", err)
	}
	return a.stderr.String()
}

// projectOf is the project that a checkout of the world has to itself.
func (w *world) projectOf(dir string) string {
	w.Helper()
	found, err := mounts.Inspect(filepath.Join(w.dir, dir), "")
	if err != nil {
		w.Fatal(err)
	}
	return ownProject(found)
}

// TestInsideACheckout is U1.
func TestInsideACheckout(t *testing.T) {
	w := newWorld(t)
	before := w.tree("app")
	w.Chdir("app/pkg/x")
	a := w.mcp()
	w.has(a.instructions, "/repos/app (main, commits go to a work branch)")
	w.has(a.instructions, "/repos/app/pkg/x here")
	w.has(a.call("workspace_create", `{"path":"/agents/a"}`), "created workspace /agents/a")
	a.call("writeFile", `{"path":"x.go","content":"package y\n"}`)
	w.has(a.call("readFile", `{"path":"/workspace/x.go"}`), "package y")
	w.has(a.call("readFile", `{"path":"x.go"}`), "package y")
	w.has(a.call("writeFile", fmt.Sprintf(`{"path":%q,"content":""}`, filepath.Join(w.dir, "app/main.go"))), "/repos/app/main.go")
	a.call("writeFile", `{"path":"/repos/app/main.go","content":"package two\n"}`)
	w.has(a.call("git_commit", `{"message":"two"}`), "committed ")
	a.end()

	w.Chdir(w.dir)
	if d := cmp.Diff(before, w.tree("app")); d != "" {
		t.Errorf("the checkout changed:\n%s", d)
	}
	project := w.projectOf("app")
	if !strings.HasPrefix(project, "app-") || len(project) != len("app-")+8 {
		t.Errorf("got the project %q, want app- and 8 digits", project)
	}
	w.has(w.carrel("workspace", "list", "--project", project), "claude-code")
	w.fails(workspace.NotExist, "there is no project \"default\"", "workspace", "list")

	// A person inside the checkout meets the same project.
	w.Chdir("app/pkg")
	w.has(w.carrel("workspace", "list"), "/agents/a")
	w.has(w.carrel("log", "--workspace", "/agents/a"), "two")
}

// TestProjectOfACheckout is U4 and the choice of a project.
func TestProjectOfACheckout(t *testing.T) {
	w := newWorld(t)
	w.checkout("other/App", map[string]string{"a": "a"})
	for _, dir := range []string{"app", "other/App", "app"} {
		w.Chdir(filepath.Join(w.dir, dir))
		w.mcp().end()
	}
	w.Chdir(w.dir)
	one, two := w.projectOf("app"), w.projectOf("other/App")
	if one == two || strings.ToLower(two) != two {
		t.Errorf("got the projects %q and %q", one, two)
	}
	for _, p := range []string{one, two} {
		if got := len(decode[repos](w, "repo", "list", "--project", p).Repos); got != 1 {
			t.Errorf("%s: got %d repos, want 1", p, got)
		}
	}

	// Processes that start at the same time agree.
	w.checkout("fresh", map[string]string{"a": "a"})
	w.Chdir("fresh")
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			if err := run(w.Context(), []string{"mcp"}, strings.NewReader(""), io.Discard, io.Discard); err != nil {
				t.Errorf("at the same time: %v", err)
			}
		})
	}
	starting.Wait()
	if got := strings.Count(w.carrel("events"), "repo/created"); got != 1 {
		t.Errorf("at the same time: got %d registrations, want 1", got)
	}

	w.Chdir(w.dir)
	w.carrel("repo", "add", "lib.git")
	w.Chdir("lib.git") // the project that has it
	w.mcp("--workspace", "/agents/a", "--create").end()
	w.has(w.carrel("workspace", "list", "--project", "default"), "/agents/a")

	w.Chdir(w.dir)
	w.carrel("repo", "add", "app")
	w.Chdir("app")
	w.fails(workspace.Invalid, "2 projects have the repository "+filepath.Join(w.dir, "app")+": "+one+", default", "status", "--workspace", "/agents/a")
	w.fails(workspace.Invalid, "with --project", "mcp")
	w.mcp("--project", one).end()
	w.carrel("workspace", "list", "--project", one)
}

func TestMCPRepos(t *testing.T) {
	w := newWorld(t)
	w.checkout("other/app", map[string]string{"a": "a"})
	w.write("app/new", "x")
	w.write("app/main.go", "changed")
	a := w.mcp("--repo", "app", "--repo", "other/app", "--repo", "lib=lib.git#main", "--workspace", "/agents/a", "--create")
	for _, want := range []string{"/repos/app (", "/repos/app-2 (", "/repos/lib (commits land on main)", "other/app is served as /repos/app-2", "the workspace /agents/a"} {
		w.has(a.instructions, want)
	}
	w.has(a.call("readDir", `{"path":"/repos"}`), "app-2/")
	stderr := a.end()
	w.has(stderr, "carrel: "+filepath.Join(w.dir, "other/app")+" is served as /repos/app-2: another repository has the name app.\n")
	if got := len(decode[repos](w, "repo", "list").Repos); got != 3 {
		t.Errorf("got %d repos, want 3", got)
	}
	w.mcp("--repo", "app", "--workspace", "/agents/a").end() // it exists
}

// TestUncommitted says which files on disk no workspace shows. It ends the server
// by its context, as a signal does.
func TestUncommitted(t *testing.T) {
	w := newWorld(t)
	w.write("app/new", "x")
	w.write("app/main.go", "changed")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr bytes.Buffer
	said := writerFunc(func(b []byte) (int, error) {
		cancel()
		return stderr.Write(b)
	})
	in, client := io.Pipe()
	defer client.Close()
	if err := run(ctx, []string{"mcp", "--repo", "app"}, in, io.Discard, said); err != nil {
		t.Fatal(err)
	}
	if got, want := stderr.String(), "carrel: 2 uncommitted files of app's checkout are not visible here\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestMCPRefuses(t *testing.T) {
	w := newWorld(t)
	w.fails(workspace.Invalid, "Start carrel mcp inside a checkout, or pass --repo PATH or --project NAME.", "mcp")
	w.fails(workspace.NotExist, "there is no project \"none\"", "mcp", "--project", "none")
	w.fails(workspace.Invalid, "project name", "mcp", "--project", "No One")
	w.fails(workspace.Invalid, "git clone --bare", "mcp", "--repo", "https://example.com/app.git")
	w.fails(workspace.NotExist, "Pass --create to make it.", "mcp", "--repo", "app", "--workspace", "/agents/a")
	w.fails(workspace.Invalid, "/agents/", "mcp", "--repo", "app", "--workspace", "a")
	w.misused("--create needs --workspace", "mcp", "--repo", "app", "--create")
	w.misused("--tools is", "mcp", "--repo", "app", "--tools", "some")
	w.misused("--tool-names is", "mcp", "--repo", "app", "--tool-names", "camel")
	w.misused("unknown command", "mpc")
	w.checkout("other", map[string]string{"a": "a"})
	w.Chdir("other")
	w.git(".", "checkout", "-q", "--detach")
	w.fails(workspace.Invalid, "NAME=PATH#BRANCH", "mcp")
	w.carrel("repo", "add", ".#main")
	w.mcp().end() // its branch is known
	w.carrel("workspace", "create", "/agents/a")
	w.carrel("workspace", "delete", "/agents/a")
	w.fails(workspace.Exist, "cannot be created again", "mcp", "--workspace", "/agents/a", "--create")
	w.fails(workspace.Closed, "was deleted", "mcp", "--workspace", "/agents/a")
}

// TestLinkedWorktree is U5.
func TestLinkedWorktree(t *testing.T) {
	w := newWorld(t)
	w.git("app", "worktree", "add", "-q", "-b", "side", "../side")
	w.write("side/side.txt", "side\n")
	w.git("side", "add", "-A")
	w.git("side", "commit", "-q", "-m", "side")
	w.Chdir("side")
	a := w.mcp("--workspace", "/agents/a", "--create")
	w.has(a.instructions, "/repos/side (side, ")
	w.has(a.call("readFile", `{"path":"/repos/side/side.txt"}`), "side")
	a.end()
}

func TestSpelling(t *testing.T) {
	w := newWorld(t)
	w.carrel("repo", "add", "app")
	for _, tt := range []struct {
		names, want string
	}{{"auto", "git_status"}, {"dotted", "git.status"}, {"underscore", "git_status"}} {
		a := w.mcp("--project", "default", "--tool-names", tt.names)
		var list struct{ Tools []struct{ Name string } }
		a.request("tools/list", "{}", &list)
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !strings.Contains(strings.Join(names, " "), tt.want) {
			t.Errorf("%s: got %v, want %s in it", tt.names, names, tt.want)
		}
		a.end()
	}
}

// TestClientConfig starts the server as the configuration says that it shows.
func TestClientConfig(t *testing.T) {
	w := newWorld(t)
	w.carrel("repo", "add", "app", "team/app")
	w.carrel("repo", "create", "notes")
	c := &cli{dir: w.dir, getenv: os.Getenv, stderr: io.Discard, logLevel: "warn", logFormat: "text"}
	c.running = c.root()
	c.project = "default"
	h, err := c.open(t.Context(), homeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o, err := c.offer(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	f := mcpFlags{workspace: "/agents/a", create: true, tools: "all", names: "auto"}
	if err := json.Unmarshal([]byte(clientConfig(h, o, f)), &config); err != nil {
		t.Fatal(err)
	}
	got := config.MCPServers["carrel"]
	want := []string{"mcp", "--data", filepath.Join(w.dir, "data"), "--project", "default", "--repo", "team/app=" + filepath.Join(w.dir, "app"),
		"--workspace", "/agents/a", "--create", "--tools", "all", "--tool-names=underscore"}
	if d := cmp.Diff(want, got.Args); d != "" {
		t.Errorf("args (-want +got):\n%s", d)
	}
	if exe, err := os.Executable(); err != nil || got.Command != exe {
		t.Errorf("got the command %q, want %q", got.Command, exe)
	}
	w.Chdir(t.TempDir()) // whatever the client's directory is
	a := w.mcp(got.Args[1:]...)
	w.has(a.instructions, "/repos/team/app")
	a.end()
}

// TestTwoServers lets two servers and a command share a data directory.
func TestTwoServers(t *testing.T) {
	w := newWorld(t)
	w.Chdir("app")
	one := w.mcp("--workspace", "/agents/a", "--create")
	two := w.mcp("--workspace", "/agents/a")
	other := w.mcp("--workspace", "/agents/b", "--create")
	for i := range 5 {
		one.call("writeFile", fmt.Sprintf(`{"path":"one%d","content":"1"}`, i))
		two.call("writeFile", fmt.Sprintf(`{"path":"two%d","content":"2"}`, i))
		w.carrel("call", "--workspace", "/agents/a", "writeFile", fmt.Sprintf("path=three%d", i), "content=3")
	}
	for _, a := range []*agent{one, two} {
		text := a.call("readDir", `{"path":"/workspace"}`)
		for _, want := range []string{"one4", "two4", "three4"} {
			w.has(text, want)
		}
	}
	if text := other.call("readDir", `{"path":"/workspace"}`); strings.Contains(text, "one0") {
		t.Errorf("another workspace shows %s", text)
	}
	one.call("writeFile", `{"path":"/repos/app/new.txt","content":"new\n"}`)
	w.has(two.call("git_commit", `{"message":"new"}`), "committed ")
	w.has(one.call("git_status", `{}`), "1 mount clean")
	for _, a := range []*agent{one, two, other} {
		a.end()
	}
}
