package mcpwire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/server/mcpwire"
	"carrel.dev/workspace"
)

// newProject returns a project with the repo /repos/app, a bare repository with
// the files given.
func newProject(t *testing.T, files map[string]string) *workspace.Project {
	t.Helper()
	return newProjectOn(t, memory.New(nil), newRepo(t, files))
}

// newRepo returns the directory of a repository.
func newRepo(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "app.git")
	git(t, "", "init", "-q", "--bare", "-b", "main", dir)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, "", "clone", "-q", dir, clone)
	for p, content := range files {
		full := filepath.Join(clone, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, clone, "add", "-A")
	git(t, clone, "commit", "-qm", "first")
	git(t, clone, "push", "-q", "origin", "HEAD:main")
	return dir
}

// newProjectOn returns a project with a repo as a process of its own has it.
func newProjectOn(t *testing.T, store *memory.Store, dir string) *workspace.Project {
	t.Helper()
	ctx := context.Background()
	repos := mounts.New(&mounts.Config{ManagedRoot: filepath.Dir(dir)})
	host, err := workspace.NewHost(ctx, &workspace.Config{
		Store: store, Blobs: store, Trees: repos, Committer: repos, Ignorer: repos, DataID: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Project(ctx, "p")
	if err != nil {
		t.Fatal(err)
	}
	err = p.SetRepo(ctx, workspace.Caller{}, workspace.Repo{
		Path: "/repos/app", Source: workspace.Source{Location: dir}, Branch: "main", Policy: workspace.CommitToMain,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// git runs git with no configuration but its own.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// response is a message from the server.
type response struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	line string
}

// toolResult is the result of a call.
type toolResult struct {
	Content []struct {
		Type, Text, Data, MIMEType string
		Resource                   struct{ URI, MIMEType, Blob string }
	}
	StructuredContent json.RawMessage
	IsError           bool
	Meta              map[string]json.RawMessage `json:"_meta"`
}

// raw is a client that writes lines as they are.
type raw struct {
	t      *testing.T
	in     io.WriteCloser
	lines  chan string
	served chan error // what ServeStdio returned
	stop   context.CancelFunc
	nextID int
}

// connect serves a client until the test ends.
func connect(t *testing.T, cfg *mcpwire.Config) *raw {
	t.Helper()
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	r := &raw{t: t, in: in, lines: make(chan string, 10_000), served: make(chan error, 1), stop: stop}
	go func() {
		r.served <- mcpwire.New(cfg).ServeStdio(ctx, toServer, fromServer)
		fromServer.Close()
	}()
	go func() {
		defer close(r.lines)
		s := bufio.NewReader(out)
		for {
			line, err := s.ReadString('\n')
			if line != "" {
				r.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		in.Close()
	})
	return r
}

// send writes a line.
func (r *raw) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// next returns the next message.
func (r *raw) next() response {
	r.t.Helper()
	select {
	case line, ok := <-r.lines:
		if !ok {
			r.t.Fatal("the server has ended the connection")
		}
		m := response{line: line}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			r.t.Fatalf("%v in %q", err, line)
		}
		return m
	case <-time.After(patience):
		r.t.Fatal("no message came")
	}
	return response{}
}

// ask sends a request and returns its response; there must be no other between.
func (r *raw) ask(method, params string) response {
	r.t.Helper()
	r.nextID++
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, r.nextID, method, params))
	m := r.next()
	if string(m.ID) != fmt.Sprint(r.nextID) {
		r.t.Fatalf("asked with id %d, answered %s", r.nextID, m.line)
	}
	return m
}

// initialize begins as a client of a name, in the era of 2025-11-25.
func (r *raw) initialize(name string) (instructions string) {
	r.t.Helper()
	m := r.ask("initialize", fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}`, name))
	var result struct{ Instructions string }
	if err := json.Unmarshal(m.Result, &result); err != nil || m.Error != nil {
		r.t.Fatalf("initialize: %s", m.line)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return result.Instructions
}

// decode reads the result of a call.
func (m response) decode(t *testing.T) toolResult {
	t.Helper()
	var res toolResult
	if m.Error != nil || json.Unmarshal(m.Result, &res) != nil {
		t.Fatalf("no result of a call: %s", m.line)
	}
	return res
}

// call calls a tool and returns its result.
func (r *raw) call(tool, args string) toolResult {
	r.t.Helper()
	return r.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)).decode(r.t)
}

// ok calls a tool, which must succeed.
func (r *raw) ok(tool, args string) toolResult {
	r.t.Helper()
	res := r.call(tool, args)
	if res.IsError {
		r.t.Fatalf("%s %s: %s", tool, args, res.Content[0].Text)
	}
	return res
}

// ended waits for ServeStdio to return.
func (r *raw) ended() error {
	r.t.Helper()
	select {
	case err := <-r.served:
		return err
	case <-time.After(patience):
		r.t.Fatal("the server goes on")
	}
	return nil
}

// collect returns the next n messages by id.
func (r *raw) collect(n int) map[string]response {
	r.t.Helper()
	all := map[string]response{}
	for range n {
		m := r.next()
		all[string(m.ID)] = m
	}
	return all
}

// gate blocks what passes it until it is opened.
type gate struct {
	entered chan struct{}
	open    chan struct{}
	once    sync.Once
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 1000), open: make(chan struct{})} }

// pass waits for the gate, or the end of ctx.
func (g *gate) pass(ctx context.Context) error {
	g.entered <- struct{}{}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }
