package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
func (b *bench) connect(workspace string) *pipe {
	b.t.Helper()
	_, err := b.server.run(b.t.Context(), "workspace", "create", workspace)
	must(b.t, err)
	s, err := b.server.Session(b.t.Context(), SessionOptions{Workspace: workspace})
	must(b.t, err)
	return s.(*pipe)
}

// unbound starts a process that is bound to nothing.
func (b *bench) unbound() *pipe {
	b.t.Helper()
	s, err := b.server.Session(b.t.Context(), SessionOptions{})
	must(b.t, err)
	return s.(*pipe)
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
	for n, p := range []*pipe{first, second} {
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
	for n, p := range []*pipe{second, first} { // each looks at what the other wrote
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
func raise(t *testing.T, p *pipe) int {
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

// TestKilledProcessLosesNothing kills the program at random moments under load.
// What it had acknowledged is there afterwards, and what it had not is there
// whole or not at all.
//
// Cases: XT-2 ID-15
func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := 30
	if *full {
		rounds = 300
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	b := newBench(t, false)
	must(t, b.connect("/agents/a").Close())
	l := &load{t: t, files: map[string]*fate{}}
	for round := range rounds {
		p := b.unbound()
		l.verify(b, p)
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
		l.round = round
		l.answered.Store(0)
		wait := l.start(p)
		l.await(random.IntN(40))
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		must(t, p.kill())
		wait()
	}
	p := b.unbound()
	l.verify(b, p)
	t.Logf("acknowledged: %d writes, %d commits, %d workspaces", l.writes, len(l.commits), len(l.workspaces))
	if l.writes == 0 || len(l.commits) == 0 || len(l.workspaces) == 0 {
		t.Error("the load is none")
	}
	ask(t, p, "writeFile", `{"workspace":"/agents/a","path":"/repos/app/last","content":"last"}`)
	ask(t, p, "git.commit", `{"workspace":"/agents/a","message":"last"}`)
	must(t, p.Close())
}

// load is what the writers of the kill test did, and what came of it.
type load struct {
	t        *testing.T
	round    int
	answered atomic.Int64 // calls of this round

	mu         sync.Mutex // guards what follows
	files      map[string]*fate
	commits    []string
	workspaces []string
	writes     int
}

// fate is what a file may hold: what was acknowledged last, or what was asked for
// after that.
type fate struct{ acknowledged, asked string }

// start lets writers loose on a process until it dies; the function that it
// returns waits for them.
func (l *load) start(p *pipe) (wait func()) {
	var group sync.WaitGroup
	for n := range 3 {
		group.Go(func() {
			for i := 0; l.write(p, fmt.Sprintf("/repos/app/f%d", n), fmt.Sprintf("%d.%d", l.round, i)); i++ {
			}
		})
	}
	group.Go(func() {
		for l.commit(p) {
		}
	})
	group.Go(func() {
		for i := 0; l.create(p, fmt.Sprintf("/agents/r%d/n%d", l.round, i)); i++ {
		}
	})
	return group.Wait
}

// await waits until some calls of this round were answered, for a while.
func (l *load) await(calls int) {
	for limit := time.Now().Add(5 * time.Second); l.answered.Load() < int64(calls) && time.Now().Before(limit); {
		time.Sleep(100 * time.Microsecond)
	}
}

// call returns what the process answered, or false once it is dead. An error that
// is not of the kind excused fails the test.
func (l *load) call(p *pipe, tool, args, excused string) (r Result, alive bool) {
	r, err := p.Call(context.Background(), Call{Tool: tool, Args: json.RawMessage(args)})
	if err != nil {
		return r, false
	}
	l.answered.Add(1)
	if r.IsError && r.Code() != excused {
		l.t.Errorf("%s %s: %s: %s", tool, args, r.Code(), r.Text(0))
		return r, false
	}
	return r, true
}

func (l *load) write(p *pipe, path, content string) (alive bool) {
	l.mu.Lock()
	f := l.files[path]
	if f == nil {
		f = &fate{}
		l.files[path] = f
	}
	f.asked = content
	l.mu.Unlock()
	if _, alive = l.call(p, "writeFile", fmt.Sprintf(`{"workspace":"/agents/a","path":%q,"content":%q}`, path, content), ""); !alive {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.acknowledged = content
	l.writes++
	return true
}

func (l *load) commit(p *pipe) (alive bool) {
	// It is invalid while there is nothing to commit.
	r, alive := l.call(p, "git.commit", `{"workspace":"/agents/a","message":"m","scope":"/repos/app"}`, "invalid")
	if !alive || r.IsError {
		return alive
	}
	var facts struct{ Commit string }
	if err := json.Unmarshal(r.Facts(), &facts); err != nil {
		l.t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, facts.Commit)
	return true
}

func (l *load) create(p *pipe, path string) (alive bool) {
	if _, alive = l.call(p, "workspace.create", fmt.Sprintf(`{"path":%q}`, path), ""); !alive {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workspaces = append(l.workspaces, path)
	return true
}

// verify holds a fresh process against what was acknowledged, and takes what it
// finds as the new ground.
func (l *load) verify(b *bench, p *pipe) {
	l.t.Helper()
	// A mutation first: it decides the commits of the dead process.
	ask(l.t, p, "writeFile", `{"workspace":"/agents/a","path":"/repos/app/probe","content":"p"}`)
	for path, f := range l.files {
		got, _ := textIn(l.t, p, "/agents/a", path)
		if got != f.acknowledged && got != f.asked {
			l.t.Errorf("%s holds %q; acknowledged %q, asked %q", path, got, f.acknowledged, f.asked)
		}
		f.acknowledged, f.asked = got, got
	}
	l.verifyBirths(p)
	log, err := b.git.Git(l.t.Context(), "app", "rev-list", "main")
	must(l.t, err)
	for _, c := range l.commits {
		if !strings.Contains(string(log), c) {
			l.t.Errorf("the acknowledged commit %s is not on main", c)
		}
	}
	if s := fmt.Sprint(ask(l.t, p, "git.status", `{"workspace":"/agents/a"}`)); strings.Contains(s, "conflict") {
		l.t.Errorf("a conflict with nobody: %s", s)
	}
	must(l.t, b.git.Check(l.t.Context()))
}

// verifyBirths holds the list of workspaces, which the project's stream gives,
// against what was acknowledged and against the workspaces' own streams.
func (l *load) verifyBirths(p *pipe) {
	l.t.Helper()
	listed := map[string]bool{}
	for cursor := ""; ; {
		page := ask(l.t, p, "workspace.list", fmt.Sprintf(`{"prefix":"/agents/r","cursor":%q}`, cursor))
		for _, w := range page["workspaces"].([]any) {
			listed[w.(map[string]any)["path"].(string)] = true
		}
		if cursor, _ = page["nextCursor"].(string); cursor == "" {
			break
		}
	}
	for _, w := range l.workspaces {
		if !listed[w] {
			l.t.Errorf("the acknowledged workspace %s is not listed", w)
		}
	}
	newest := fmt.Sprintf("/agents/r%d/", l.round)
	for w := range listed {
		if strings.HasPrefix(w, newest) {
			ask(l.t, p, "workspace.show", fmt.Sprintf(`{"workspace":%q}`, w))
		}
	}
}

// TestGitBesideCarrel lets a person work in the checkout with git while Carrel
// commits in the same repository: neither is ever blocked.
func TestGitBesideCarrel(t *testing.T) {
	t.Parallel()
	rounds := 25
	if *full {
		rounds = 200
	}
	b := newBench(t, true)
	p := b.connect("/agents/a")
	git := func(args ...string) {
		if _, err := b.git.Git(t.Context(), "app", args...); err != nil {
			t.Error(err)
		}
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range rounds {
			if err := os.WriteFile(filepath.Join(b.git.Path("app"), "person"), []byte(strconv.Itoa(i)), 0o644); err != nil {
				t.Error(err)
			}
			git("add", "person")
			git("commit", "--quiet", "-m", "person")
			switch i % 5 {
			case 0:
				git("pack-refs", "--all", "--prune")
			case 1:
				git("checkout", "--quiet", "-b", "topic"+strconv.Itoa(i))
				git("checkout", "--quiet", "main")
			case 2:
				git("gc", "--quiet")
			case 3:
				git("repack", "-a", "-d", "--quiet")
			}
		}
	})
	branch := ""
	wait.Go(func() {
		for i := range rounds {
			if r, err := p.Call(t.Context(), Call{Tool: "writeFile", Args: json.RawMessage(fmt.Sprintf(`{"path":"/repos/app/agent","content":"%d"}`, i))}); err != nil || r.IsError {
				t.Errorf("writeFile: %v %s", err, r.Text(0))
				return
			}
			r, err := p.Call(t.Context(), Call{Tool: "git.commit", Args: json.RawMessage(`{"message":"agent"}`)})
			if err != nil || r.IsError {
				t.Errorf("git.commit: %v %s", err, r.Text(0))
				return
			}
			var facts struct{ Branch string }
			if err := json.Unmarshal(r.Facts(), &facts); err != nil {
				t.Error(err)
			}
			branch = facts.Branch
		}
	})
	wait.Wait()
	if t.Failed() {
		return
	}
	if got, want := b.commits("main"), rounds+1; got != want {
		t.Errorf("main has %d commits, want %d", got, want)
	}
	if got := b.commits(branch); got < rounds+1 {
		t.Errorf("%s has %d commits, want at least %d", branch, got, rounds+1)
	}
	git("diff", "--quiet", "HEAD")
	must(t, p.Close())
}

// TestPushesBesideCarrel lets a person push to the branch that Carrel commits to:
// each gets through, on top of the other.
func TestPushesBesideCarrel(t *testing.T) {
	t.Parallel()
	const rounds = 12
	b := newBench(t, false)
	p := b.connect("/agents/a")
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range rounds {
			edit := Edit{Path: "person", Mode: "100644", Content: []byte(strconv.Itoa(i))}
			for try := 0; ; try++ {
				err := b.git.Commit(t.Context(), "app", "main", "person", []Edit{edit})
				if err == nil {
					break
				}
				// Somebody else's commit came between: what a person then does is to
				// pull and push again. Anything else is in their way.
				moved := strings.Contains(err.Error(), "but expected") || strings.Contains(err.Error(), "Not updating")
				if !moved || try == 100 {
					t.Error(err)
					return
				}
			}
		}
	})
	wait.Go(func() {
		for i := range rounds {
			for _, c := range []Call{
				{Tool: "writeFile", Args: json.RawMessage(fmt.Sprintf(`{"path":"/repos/app/agent","content":"%d"}`, i))},
				{Tool: "git.commit", Args: json.RawMessage(`{"message":"agent"}`)},
			} {
				if r, err := p.Call(t.Context(), c); err != nil || r.IsError {
					t.Errorf("%s: %v %s", c.Tool, err, r.Text(0))
				}
			}
		}
	})
	wait.Wait()
	if got, want := b.commits("main"), 2*rounds+1; got != want {
		t.Errorf("main has %d commits, want %d", got, want)
	}
	must(t, p.Close())
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

// TestTextIsSentOnce reads a file as large as one answer takes, and compares what
// came over the wire with the text in JSON.
//
// Cases: E7
func TestTextIsSentOnce(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of \"text\" with <brackets> & ünïcode\n", 900)
	b := newBench(t, false, Edit{Path: "a", Mode: "100644", Content: []byte(content)})
	p := b.connect("/agents/a")
	for tool, args := range map[string]string{"readFile": `{"path":"/repos/app/a"}`, "readFiles": `{"paths":["/repos/app/a"]}`} {
		raw, err := p.ask(t.Context(), "tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(args)})
		must(t, err)
		r, err := decodeResult(raw)
		must(t, err)
		if r.IsError {
			t.Fatalf("%s: %s", tool, r.Text(0))
		}
		if r.Structured != nil {
			t.Errorf("%s has structured content", tool)
		}
		if most := len(escaped(r.Text(0))) * 11 / 10; tool == "readFile" && len(raw) > most {
			t.Errorf("%s: %d bytes on the wire, want at most %d", tool, len(raw), most)
		}
	}
	must(t, p.Close())
}

// TestHostileInput sends a process what no client should. It answers or passes
// over each, keeps to JSON lines on its output and goes on serving.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	p := b.connect("/agents/a")
	deep := strings.Repeat("[", 100_000)
	for name, line := range map[string]string{
		"empty":               "",
		"blanks":              " \t\r",
		"no JSON":             "hello\x07\x1b[2J",
		"bytes":               "\x00\xff\xfe\x80",
		"half":                `{"jsonrpc":"2.0","id":1,"method":"tools/call"`,
		"a number":            "42",
		"null":                "null",
		"a string":            `"x"`,
		"an empty array":      "[]",
		"a batch":             `[{"jsonrpc":"2.0","id":"b","method":"ping"}]`,
		"no version":          `{"id":"v","method":"ping"}`,
		"other version":       `{"jsonrpc":"1.0","id":"v","method":"ping"}`,
		"no method":           `{"jsonrpc":"2.0","id":"m"}`,
		"unknown method":      `{"jsonrpc":"2.0","id":"u","method":"no/such"}`,
		"unknown tool":        `{"jsonrpc":"2.0","id":"t","method":"tools/call","params":{"name":"rm -rf","arguments":{}}}`,
		"params an array":     `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":[1,2]}`,
		"params a string":     `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":"readFile"}`,
		"arguments a string":  `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"readFile","arguments":"x"}}`,
		"arguments null":      `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"readFile","arguments":null}}`,
		"id null":             `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		"id an object":        `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"id a fraction":       `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		"a huge id":           `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		"initialize again":    `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`,
		"cancel of nothing":   `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`,
		"cancel of oddities":  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[{}]}}`,
		"a reply to nothing":  `{"jsonrpc":"2.0","id":"r","result":{}}`,
		"an error to nothing": `{"jsonrpc":"2.0","id":"r","error":{"code":1,"message":"x"}}`,
		"surrogates":          `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"writeFile","arguments":{"path":"\ud800","content":"\udfff"}}}`,
		"NUL in a key":        `{"jsonrpc":"2.0","id":"k","method":"tools/call","params":{"name":"writeFile","arguments":{"path":"k","content":"k"},"_meta":{"carrel.dev/key":"\u0000"}}}`,
		"meta a number":       `{"jsonrpc":"2.0","id":"k","method":"tools/call","params":{"name":"readFile","arguments":{"path":"k"},"_meta":7}}`,
		"deep":                `{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"readFile","arguments":{"path":` + deep + `}}}`,
		"deep and closed":     `{"jsonrpc":"2.0","id":"d","method":"tools/call","params":` + deep + strings.Repeat("]", len(deep)) + `}`,
		"long":                strings.Repeat("x", 4<<20),
		"duplicate fields":    `{"jsonrpc":"2.0","id":"d","method":"ping","method":"tools/list","id":"e"}`,
	} {
		must(t, p.sendLine([]byte(line)))
		ask(t, p, "writeFile", fmt.Sprintf(`{"path":"after","content":%q}`, name))
		if got, _ := text(t, p, "after"); got != name {
			t.Errorf("after %s: got %q", name, got)
		}
	}
	p.write.Lock()
	_, err := p.in.Write([]byte(`{"jsonrpc":"2.0","id":9,"met`))
	p.write.Unlock()
	must(t, err)
	must(t, p.Close())

	p = b.connect("/agents/a")
	if got, _ := text(t, p, "after"); got == "" {
		t.Error("what was acknowledged is gone")
	}
	must(t, p.Close())
}

// TestPagesOfALargeTree pages through a repo of many files by every list. The
// pages add up to what was there when the first was taken, in order, although the
// workspace changes between them.
//
// Cases: B9
func TestPagesOfALargeTree(t *testing.T) {
	t.Parallel()
	dirs, each := 40, 50
	if *full {
		dirs, each = 500, 100
	}
	var edits []Edit
	var paths []string
	for d := range dirs {
		for f := range each {
			path := fmt.Sprintf("d%03d/f%03d.txt", d, f)
			paths = append(paths, path)
			edits = append(edits, Edit{Path: path, Mode: "100644", Content: []byte("needle\n")})
		}
	}
	b := newBench(t, false, edits...)
	p := b.connect("/agents/a")
	for tool, c := range map[string]struct{ args, field, key string }{
		"glob":    {`"pattern":"/repos/app/**"`, "paths", ""},
		"readDir": {`"path":"/repos/app","depth":3`, "entries", "name"},
		"grep":    {`"pattern":"needle","path":"/repos/app"`, "matches", "path"},
	} {
		var got []string
		cursor := ""
		for page := 0; ; page++ {
			facts := ask(t, p, tool, fmt.Sprintf(`{%s,"cursor":%q}`, c.args, cursor))
			for _, e := range facts[c.field].([]any) {
				if o, ok := e.(map[string]any); ok {
					e = o[c.key]
				}
				if name := strings.TrimPrefix(e.(string), "/repos/app/"); !strings.HasSuffix(name, "/") {
					got = append(got, name)
				}
			}
			ask(t, p, "writeFile", fmt.Sprintf(`{"path":"/repos/app/d000/born-%s-%d","content":"x"}`, tool, page))
			if cursor, _ = facts["nextCursor"].(string); cursor == "" {
				break
			}
			if page == 0 && len(got) >= len(edits) {
				t.Errorf("%s: one page holds all", tool)
			}
		}
		if diff := cmp.Diff(paths, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool, clipped(diff))
		}
		ask(t, p, "reset", `{"confirm":true}`)
	}
	must(t, p.Close())
}
