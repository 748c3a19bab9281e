package crash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/conformance"
)

// sharedWorkspace is the one that every process writes to.
const sharedWorkspace = "/agents/shared"

// counters are files that every process raises, each time from the version that
// it has read.
var counters = []string{"/workspace/counter0", "/workspace/counter1", "/repos/lib/counter2"}

// member is one of many processes, and what was acknowledged to it.
type member struct {
	n       int
	pipe    *conformance.Pipe
	own     string            // its own workspace
	files   map[string]string // contents by path, of its own in the shared workspace
	raised  map[string]int    // by counter
	commits map[string]string // ids by message
}

// fewestTurns is how often every process has its turn at least, however slow the
// machine is: each kind of work once.
const fewestTurns = 4

// TestProcesses has ten processes work on one data directory at once, in one
// workspace and in one of their own, commit to the same repositories, make and
// end workspaces, and collect garbage. In the end every one sees the same, and
// that is what was acknowledged.
//
// Cases: SH-10 E12
func TestProcesses(t *testing.T) {
	t.Parallel()
	length := 6 * time.Second
	if *full {
		length = 10 * time.Minute
	}
	p := newPlace(t)
	for _, name := range killedRepos {
		p.repo(name, name == "lib", map[string]string{"README": "read me\n"})
	}
	members := gather(t, p)
	until := time.Now().Add(length)
	stopGC := collectGarbage(p)
	together(len(members), func(i int) {
		for n := 0; (n < fewestTurns || time.Now().Before(until)) && !t.Failed(); n++ {
			if err := members[i].work(t.Context(), n); err != nil {
				t.Error(err)
			}
		}
	})
	stopGC()
	if !t.Failed() {
		judge(t, p, members)
	}
	for _, m := range members {
		if err := m.pipe.Close(); err != nil {
			t.Error(err)
		}
	}
	p.sound()
}

// gather starts the processes at the same moment.
func gather(t *testing.T, p *place) []*member {
	t.Helper()
	members := make([]*member, crowdSize)
	together(crowdSize, func(i int) {
		m := &member{n: i, own: fmt.Sprintf("/agents/own%d", i), files: map[string]string{}, raised: map[string]int{}, commits: map[string]string{}}
		var err error
		if m.pipe, err = conformance.Dial(t.Context(), p.command("mcp", "--project", "default", "--tools", "all"), "crash"); err == nil {
			err = errors.Join(try(t.Context(), m.pipe, create(m.own), nil), try(t.Context(), m.pipe, create(sharedWorkspace), nil))
		}
		if err != nil {
			t.Error(err)
		}
		members[i] = m
	})
	if t.Failed() {
		t.FailNow()
	}
	for _, c := range counters {
		ask(t, members[0].pipe, write(sharedWorkspace, c, "0"), nil)
	}
	return members
}

// collectGarbage collects garbage again and again until it is stopped.
func collectGarbage(p *place) (stop func()) {
	var stopped atomic.Bool
	var group sync.WaitGroup
	n := 0
	group.Go(func() {
		for ; n == 0 || !stopped.Load(); n++ {
			if out, err := p.run("gc"); err != nil {
				p.t.Errorf("%v: %s", err, out)
				return
			}
			time.Sleep(breath)
		}
	})
	return func() {
		stopped.Store(true)
		group.Wait()
		p.t.Logf("garbage was collected %d times", n)
	}
}

// work is one turn of a process.
func (m *member) work(ctx context.Context, n int) error {
	content := fmt.Sprintf("%d.%d", m.n, n)
	if n%8 == 0 {
		content = strings.Repeat(content+"\n", 50_000) // a file of its own
	}
	path := fmt.Sprintf("/repos/lib/p%d/f%d", m.n, n%4)
	err := errors.Join(
		m.write(ctx, sharedWorkspace, path, content),
		m.write(ctx, m.own, fmt.Sprintf("/repos/app/p%d", m.n), content),
		m.raise(ctx, counters[n%len(counters)]),
	)
	if err != nil {
		return err
	}
	switch n % 4 {
	case 1:
		err = m.commit(ctx, args{"workspace": m.own, "scope": "/repos/app"}, n)
	case 2:
		err = m.commit(ctx, args{"workspace": sharedWorkspace, "scope": "/repos/lib", "paths": []string{path}}, n)
	case 3:
		err = m.visit(ctx, fmt.Sprintf("/agents/short%d.%d", m.n, n))
	}
	return err
}

func (m *member) write(ctx context.Context, ws, path, content string) error {
	if ws == sharedWorkspace {
		m.files[path] = content
	}
	return try(ctx, m.pipe, write(ws, path, content), nil)
}

// raise adds one to a counter, unless another process comes between.
func (m *member) raise(ctx context.Context, counter string) error {
	value, version, err := m.read(ctx, counter)
	if err != nil {
		return err
	}
	var old int
	if _, err := fmt.Sscan(value, &old); err != nil {
		return fmt.Errorf("counter %q: %w", value, err)
	}
	c := write(sharedWorkspace, counter, fmt.Sprint(old+1))
	c.Args["ifVersion"] = version
	switch err := try(ctx, m.pipe, c, nil); code(err) {
	case "":
		m.raised[counter]++
	case "conflict":
	default:
		return err
	}
	return nil
}

// read reads a short file of the shared workspace.
func (m *member) read(ctx context.Context, path string) (content, version string, err error) {
	var facts struct {
		Files map[string]*struct {
			Version string
			Block   int
		}
	}
	c := call{Tool: "readFiles", Args: args{"workspace": sharedWorkspace, "paths": []string{path}}}
	r, err := answer(ctx, m.pipe, c, &facts)
	if err != nil {
		return "", "", err
	}
	if facts.Files[path] == nil {
		return "", "", fmt.Errorf("%s is gone", path)
	}
	return r.Blocks[facts.Files[path].Block].Text, facts.Files[path].Version, nil
}

func (m *member) commit(ctx context.Context, a args, n int) error {
	message := fmt.Sprintf("member %d.%d", m.n, n)
	a["message"] = message
	var facts struct{ Commit string }
	err := press(ctx, m.pipe, call{Tool: "git.commit", Args: a}, &facts)
	m.commits[message] = facts.Commit
	return err
}

// visit makes a workspace, writes to it and ends it.
func (m *member) visit(ctx context.Context, ws string) error {
	for _, c := range []call{
		create(ws), write(ws, "/repos/nested/x", ws), {Tool: "workspace.delete", Args: args{"path": ws, "discard": true}},
	} {
		if err := try(ctx, m.pipe, c, nil); err != nil {
			return err
		}
	}
	return nil
}

// judge holds what each process sees against what was acknowledged to all.
func judge(t *testing.T, p *place, members []*member) {
	t.Helper()
	want := map[string]string{} // versions in the shared workspace
	commits := map[string]string{}
	for _, m := range members {
		for path, content := range m.files {
			want[path] = blob(content)
		}
		maps.Copy(commits, m.commits)
	}
	for _, c := range counters {
		sum := 0
		for _, m := range members {
			sum += m.raised[c]
		}
		want[c] = blob(fmt.Sprint(sum))
		t.Logf("%s is %d", c, sum)
	}
	for _, m := range members {
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if got, err := version(t.Context(), m.pipe, sharedWorkspace, path); got != want[path] || err != nil {
				t.Errorf("process %d has %s as %q, %v, want %q", m.n, path, got, err, want[path])
			}
		}
		if got, want := m.dirt(t), members[0].dirt(t); got != want {
			t.Errorf("process %d sees uncommitted\n%s\nand the first one\n%s", m.n, got, want)
		}
	}
	if err := checkCommits(p, killedRepos, commits); err != nil {
		t.Error(err)
	}
	t.Logf("%d commits", len(commits))
	for _, m := range members {
		if len(m.commits) == 0 {
			t.Errorf("process %d never got through", m.n)
		}
	}
}

// dirt is what is uncommitted in the shared workspace, as a process sees it.
func (m *member) dirt(t *testing.T) string {
	t.Helper()
	var status any
	ask(t, m.pipe, call{Tool: "git.status", Args: args{"workspace": sharedWorkspace}}, &status)
	return fmt.Sprint(status)
}
