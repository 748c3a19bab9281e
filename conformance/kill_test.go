package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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
	if l.round%5 == 0 {
		must(l.t, b.git.Check(l.t.Context()))
	}
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
