package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// bench is a data directory with one repository, and processes of the real
// program on it.
type bench struct {
	t      *testing.T
	server *stdioServer
	git    *Repos
}

func newBench(t *testing.T, checkout bool, edits ...Edit) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, git: &Repos{Dir: filepath.Join(dir, "repos")}, server: &stdioServer{stdio: carrel(t), data: filepath.Join(dir, "data")}}
	t.Cleanup(func() {
		if err := b.git.Check(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if len(edits) == 0 {
		edits = []Edit{{Path: "a", Mode: "100644", Content: []byte("a\n")}}
	}
	must(t, os.MkdirAll(b.git.Dir, 0o755))
	must(t, b.git.Create(t.Context(), "app", checkout, edits))
	must(t, b.server.AddRepo(t.Context(), "app", b.git.Path("app")))
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// connect starts a process that is bound to a workspace, and makes the workspace
// if need be.
func (b *bench) connect(workspace string) *Pipe {
	b.t.Helper()
	_, err := b.server.run(b.t.Context(), "workspace", "create", workspace)
	must(b.t, err)
	s, err := b.server.Session(b.t.Context(), SessionOptions{Workspace: workspace})
	must(b.t, err)
	return s.(*Pipe)
}

// unbound starts a process that is bound to nothing.
func (b *bench) unbound() *Pipe {
	b.t.Helper()
	s, err := b.server.Session(b.t.Context(), SessionOptions{})
	must(b.t, err)
	return s.(*Pipe)
}

func (b *bench) commits(branch string) int {
	b.t.Helper()
	out, err := b.git.Git(b.t.Context(), "app", "rev-list", "--count", branch)
	must(b.t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	must(b.t, err)
	return n
}

// ask calls a tool that must succeed and returns its facts.
func ask(t *testing.T, s Session, tool, args string) map[string]any {
	t.Helper()
	r, err := s.Call(t.Context(), Call{Tool: tool, Args: json.RawMessage(args)})
	must(t, err)
	if r.IsError {
		t.Fatalf("%s %.200s: %s", tool, args, r.Text(0))
	}
	facts := map[string]any{}
	must(t, json.Unmarshal(r.Facts(), &facts))
	return facts
}

// text is what readFile gives on a bound session, "" for a file that is not there.
func text(t *testing.T, s Session, path string) (content, version string) {
	t.Helper()
	return textIn(t, s, "", path)
}

// textIn is text in a workspace.
func textIn(t *testing.T, s Session, workspace, path string) (content, version string) {
	t.Helper()
	r, err := s.Call(t.Context(), Call{Tool: "readFile", Args: json.RawMessage(fmt.Sprintf(`{"workspace":%q,"path":%q}`, workspace, path))})
	must(t, err)
	if r.IsError {
		if r.Code() != "not_exist" {
			t.Fatalf("readFile %s: %s", path, r.Text(0))
		}
		return "", ""
	}
	var facts struct{ Version string }
	must(t, json.Unmarshal(r.Facts(), &facts))
	return r.Blocks[0].Text, facts.Version
}

// TestTwoProcessesOneWorkspace lets two processes on one data directory write the
// same workspace at once: files of their own, and one counter that each raises
// only from the version that it read. Every write lands or says conflict.
//
// Cases: SH-10
func TestTwoProcessesOneWorkspace(t *testing.T) {
	t.Parallel()
	rounds := 60
	if *full {
		rounds = 500
	}
	b := newBench(t, false)
	first := b.connect("/agents/a")
	second := b.connect("/agents/a")
	ask(t, first, "writeFile", `{"path":"/repos/app/counter","content":"0"}`)
	raised := make([]int, 2)
	var wait sync.WaitGroup
	for n, p := range []*Pipe{first, second} {
		wait.Go(func() {
			for i := range rounds {
				ask(t, p, "writeFile", fmt.Sprintf(`{"path":"own/%d-%d","content":"%d"}`, n, i, i))
				raised[n] += raise(t, p)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	for n, p := range []*Pipe{second, first} { // each looks at what the other wrote
		for i := range rounds {
			if got, _ := text(t, p, fmt.Sprintf("own/%d-%d", n, i)); got != strconv.Itoa(i) {
				t.Errorf("own/%d-%d: got %q", n, i, got)
			}
		}
		if got, _ := text(t, p, "/repos/app/counter"); got != strconv.Itoa(raised[0]+raised[1]) {
			t.Errorf("counter %s, want %d + %d", got, raised[0], raised[1])
		}
	}
	if raised[0] == 0 || raised[1] == 0 {
		t.Errorf("raised %v: one process never got through", raised)
	}
	records, err := b.server.Records(t.Context(), "/agents/a")
	must(t, err)
	var rows []struct{ Seq int }
	must(t, json.Unmarshal(records, &rows))
	if want := 2 + 2*rounds + raised[0] + raised[1]; len(rows) != want || rows[len(rows)-1].Seq != want {
		t.Errorf("%d records, want %d", len(rows), want)
	}
	must(t, first.Close())
	must(t, second.Close())
}

// raise adds one to the counter and returns how often that landed.
func raise(t *testing.T, p *Pipe) int {
	t.Helper()
	value, version := text(t, p, "/repos/app/counter")
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Errorf("counter %q", value)
		return 0
	}
	r, err := p.Call(t.Context(), Call{Tool: "writeFile", Args: json.RawMessage(fmt.Sprintf(`{"path":"/repos/app/counter","content":"%d","ifVersion":%q}`, n+1, version))})
	if err != nil {
		t.Error(err)
		return 0
	}
	if r.IsError && r.Code() != "conflict" {
		t.Errorf("writeFile: %s: %s", r.Code(), r.Text(0))
	}
	if r.IsError {
		return 0
	}
	return 1
}

// TestManyWriters writes from many goroutines of several processes into one
// database, each into a workspace of its own: none is told that it is locked.
//
// Cases: E12
func TestManyWriters(t *testing.T) {
	t.Parallel()
	const processes, writers = 3, 10
	each := 8
	if *full {
		each = 2000
	}
	b := newBench(t, false)
	var wait sync.WaitGroup
	for n := range processes {
		p := b.unbound()
		var mine sync.WaitGroup
		for m := range writers {
			mine.Go(func() {
				ws := fmt.Sprintf("/agents/p%d/w%d", n, m)
				calls := []Call{{Tool: "workspace.create", Args: json.RawMessage(fmt.Sprintf(`{"path":%q}`, ws))}}
				for i := range each {
					calls = append(calls, Call{Tool: "writeFile", Args: json.RawMessage(fmt.Sprintf(`{"workspace":%q,"path":"f%d","content":%q}`, ws, i, ws))})
				}
				for _, c := range calls {
					if r, err := p.Call(t.Context(), c); err != nil || r.IsError {
						t.Errorf("%s %s: %v %s", c.Tool, c.Args, err, r.Text(0))
						return
					}
				}
				if got := len(ask(t, p, "glob", fmt.Sprintf(`{"workspace":%q,"pattern":"**"}`, ws))["paths"].([]any)); got != min(each, 300) {
					t.Errorf("%s: %d files, want %d", ws, got, each)
				}
			})
		}
		wait.Go(func() {
			mine.Wait()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}
