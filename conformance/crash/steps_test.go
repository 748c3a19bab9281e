package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel.dev/conformance"
	"carrel.dev/mounts"
	"carrel.dev/persistence/sqlite"
)

// step is where a process ends itself, and whether its call has happened then.
type step struct {
	point string
	nth   int
	done  bool
}

// appends are the steps of a call's nth append. It has happened once the
// transaction is committed; last says whether the call has happened with it.
func appends(nth int, last bool) []step {
	steps := []step{{"workspace: bodies put", nth, false}}
	for _, p := range sqlite.FaultPoints {
		steps = append(steps, step{"store: " + p, nth, last && p == sqlite.Committed})
	}
	return append(steps, step{"store: " + answered, nth, last})
}

// commits are the steps of a commit that the lane reaches by the given points.
func commits(lane []string) []step {
	steps := append(appends(1, false), step{"workspace: intent appended", 1, false})
	for _, p := range lane {
		steps = append(steps, step{"lane: " + p, 1, p == mounts.BranchMoved})
	}
	steps = append(steps, step{"workspace: landed", 1, true})
	for _, s := range appends(2, true) {
		s.done = true // the branch has moved
		steps = append(steps, s)
	}
	return steps
}

// scenario is a call whose process ends at every step. Each step has a workspace
// and a directory in the repositories of its own.
type scenario struct {
	name  string
	mount string // that it is about
	repo  string // that the call commits to, "" for none
	steps []step
	setup func(ws, dir string) []call
	call  func(ws, dir string) call
	// next is a call that must succeed after the one of the scenario.
	next func(ws, dir string) []call
	// unborn and closed say that there is no workspace to look into before and
	// after the call.
	unborn, closed bool
}

var large = strings.Repeat("a line of a larger file\n", 20_000)

func create(ws string) call { return call{Tool: "workspace.create", Args: args{"path": ws}} }

func write(ws, path, content string) call {
	return call{Tool: "writeFile", Args: args{"workspace": ws, "path": path, "content": content}}
}

func remove(ws, path string) call {
	return call{Tool: "deleteFile", Args: args{"workspace": ws, "path": path}}
}

func commit(ws, mount, message string) call {
	return call{Tool: "git.commit", Args: args{"workspace": ws, "scope": mount, "message": message}}
}

// scenarios is the table of all steps.
func scenarios() []scenario {
	return []scenario{
		{
			name:  "append",
			mount: "/repos/app",
			steps: append([]step{{"content: " + halfPut, 1, false}, {"content: " + wasPut, 1, false}}, appends(1, true)...),
			setup: func(ws, dir string) []call { return []call{create(ws)} },
			call: func(ws, dir string) call {
				return call{Tool: "batch", Args: args{"workspace": ws, "changes": []args{
					{"op": "writeFile", "path": "/repos/app/" + dir + "/new", "content": "new\n"},
					{"op": "writeFile", "path": "/repos/app/" + dir + "/large", "content": large},
					{"op": "deleteFile", "path": "/repos/app/" + dir + "/gone"},
					{"op": "mv", "from": "/repos/app/" + dir + "/old", "to": "/repos/app/" + dir + "/moved"},
				}}}
			},
			next: func(ws, dir string) []call { return []call{commit(ws, "/repos/app", "next of "+dir)} },
		},
		committing("commit to main", "/repos/app", slices.DeleteFunc(slices.Clone(mounts.FaultPoints[:]), func(p string) bool {
			return p == mounts.KeepLocked || p == mounts.KeepMoved
		})),
		committing("commit to a work branch", "/repos/lib", mounts.FaultPoints[:]),
		{
			name:   "create",
			mount:  "/mine",
			unborn: true,
			steps:  appends(1, true),
			setup:  func(ws, dir string) []call { return nil },
			call: func(ws, dir string) call {
				return call{Tool: "workspace.create", Args: args{"path": ws, "mounts": args{"/mine": args{"repoPath": "/repos/app", "policy": "read-only"}}}}
			},
			next: func(ws, dir string) []call { return []call{write(ws, "/repos/app/"+dir+"/new", "new\n")} },
		},
		{
			name:   "delete",
			mount:  "/repos/app",
			closed: true,
			steps:  appends(1, true),
			setup:  func(ws, dir string) []call { return []call{create(ws), write(ws, "/repos/app/"+dir+"/new", "new\n")} },
			call: func(ws, dir string) call {
				return call{Tool: "workspace.delete", Args: args{"path": ws, "discard": true}}
			},
			next: func(ws, dir string) []call { return []call{create(ws + "-next")} },
		},
	}
}

// committing is a commit of writes and deletions in a mount.
func committing(name, mount string, lane []string) scenario {
	return scenario{
		name:  name,
		mount: mount,
		repo:  strings.TrimPrefix(mount, "/repos/"),
		steps: commits(lane),
		setup: func(ws, dir string) []call {
			at := mount + "/" + dir
			return []call{
				create(ws), write(ws, at+"/new", "new\n"), write(ws, at+"/large", large), remove(ws, at+"/gone"), write(ws, at+"/old", "newer\n"),
			}
		},
		call: func(ws, dir string) call { return commit(ws, mount, "commit of "+dir) },
		next: func(ws, dir string) []call {
			return []call{write(ws, mount+"/"+dir+"/next", "next\n"), commit(ws, mount, "next of "+dir)}
		},
	}
}

// TestSteps has a process end itself at each step of an append, a commit, a
// creation and a deletion, while two others are alive. These, and a process that
// starts then, find all of the call or nothing, the same in each; a repeat with
// its key completes it, once; and what comes next works. In full the others commit
// all the time.
//
// Cases: XT-2 ID-15
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for range sized(1, 10) {
				newStairs(t, s).climb()
			}
		})
	}
}

// stairs are a scenario on a place, with two processes that stay alive.
type stairs struct {
	t      *testing.T
	s      scenario
	place  *place
	crowd  *crowd
	living []*conformance.Pipe // those of the crowd
}

func newStairs(t *testing.T, s scenario) *stairs {
	t.Helper()
	st := &stairs{t: t, s: s, place: newPlace(t)}
	files := map[string]string{"README": "read me\n"}
	for i := range len(s.steps) + 1 {
		files[dirOf(i)+"/gone"], files[dirOf(i)+"/old"] = "gone\n", "old\n"
	}
	st.place.repo("app", false, files)
	st.place.repo("lib", true, files)
	st.crowd = newCrowd(st.place, 2)
	st.living = st.crowd.pipes
	return st
}

func dirOf(i int) string { return fmt.Sprintf("step%02d", i) }

// climb takes all steps, after a call that is left in peace and shows what the
// others have to come to.
func (st *stairs) climb() {
	st.t.Helper()
	if *full {
		points := []string{appMount, libMount}
		if st.s.repo == "app" {
			points = points[1:] // or the branch moves, and a step has another number
		}
		st.crowd.start(st.t, points...)
	}
	before, after := st.peace()
	if before == after {
		st.t.Fatalf("the call changes nothing: %s", before)
	}
	for i, s := range st.s.steps {
		st.take(i+1, s, before, after)
		if st.t.Failed() {
			break
		}
	}
	st.crowd.end(st.t)
	st.place.sound()
}

// peace makes the call without an end and returns what is seen before and after.
func (st *stairs) peace() (before, after string) {
	st.t.Helper()
	ws, dir := st.prepare(0)
	before = st.look(st.living[0], ws, dir)
	if carryOut(st.t, &plan{Data: st.place.data, Call: st.s.call(ws, dir)}) {
		st.t.Fatal("a process ended itself without a step to do so")
	}
	return before, st.look(st.living[0], ws, dir)
}

func (st *stairs) prepare(i int) (ws, dir string) {
	st.t.Helper()
	ws, dir = fmt.Sprintf("/agents/step%02d", i), dirOf(i)
	for _, c := range st.s.setup(ws, dir) {
		ask(st.t, st.living[0], c, nil)
	}
	return ws, dir
}

// take takes one step.
func (st *stairs) take(i int, s step, before, after string) {
	t := st.t
	t.Helper()
	name := fmt.Sprintf("%s at %s, %d", st.s.name, s.point, s.nth)
	ws, dir := st.prepare(i)
	if got := st.look(st.living[0], ws, dir); got != before { // the second has not seen the workspace yet
		t.Fatalf("%s: got\n%s\nbefore it, want\n%s", name, got, before)
	}
	c := st.s.call(ws, dir)
	c.Key = dir
	if !carryOut(t, &plan{st.place.data, c, s.point, s.nth}) {
		t.Errorf("%s: the step is not reached", name)
		return
	}
	want := before
	if s.done {
		want = after
	}
	st.files(name, ws, dir, want)
	if !st.gone(s.done) {
		// A change decides what the dead process left open.
		ask(t, st.living[i%2], write(ws, "/workspace/decide", "decide"), nil)
	}
	fresh := st.place.process()
	st.same(name, ws, dir, want, st.living[0], st.living[1], fresh)
	must(t, fresh.Close())
	ask(t, st.living[(i+1)%2], c, nil)
	st.same(name+", repeated", ws, dir, after, st.living...)
	for _, c := range st.s.next(ws, dir) {
		if err := try(t.Context(), st.living[i%2], c, nil); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// gone reports whether there is no workspace to write to.
func (st *stairs) gone(done bool) bool { return st.s.unborn && !done || st.s.closed && done }

// files holds the files that every process sees against what it should, before
// anything decided what the dead one left open.
func (st *stairs) files(name, ws, dir, want string) {
	st.t.Helper()
	want, _, _ = strings.Cut(want, "\nstatus")
	for n, p := range st.living {
		if got, _, _ := strings.Cut(st.look(p, ws, dir), "\nstatus"); got != want {
			st.t.Errorf("%s: process %d sees at once\n%s\nwant\n%s", name, n, got, want)
		}
	}
}

// same holds all that processes see against what they should.
func (st *stairs) same(name, ws, dir, want string, processes ...*conformance.Pipe) {
	st.t.Helper()
	for n, p := range processes {
		if got := st.look(p, ws, dir); got != want {
			st.t.Errorf("%s: process %d sees\n%s\nwant\n%s", name, n, got, want)
		}
	}
}

// look is what a process sees of a step's workspace and git of its commit, the
// same for every step: files, then the status.
func (st *stairs) look(p *conformance.Pipe, ws, dir string) string {
	t := st.t
	t.Helper()
	var list struct{ Workspaces []struct{ Path string } }
	ask(t, p, call{Tool: "workspace.list", Args: args{"prefix": ws}}, &list)
	listed := slices.ContainsFunc(list.Workspaces, func(w struct{ Path string }) bool { return w.Path == ws })
	var b strings.Builder
	fmt.Fprintf(&b, "listed: %v", listed)
	shown := code(try(t.Context(), p, call{Tool: "workspace.show", Args: args{"workspace": ws}}, nil))
	if shown != "" {
		fmt.Fprintf(&b, ", show: %s", shown)
		return b.String()
	}
	for _, name := range []string{"new", "large", "gone", "old", "moved"} {
		v, err := version(t.Context(), p, ws, st.s.mount+"/"+dir+"/"+name)
		must(t, err)
		fmt.Fprintf(&b, "\n%s: %.7s", name, v)
	}
	var status struct {
		Mounts []struct {
			Changes []struct{ Path, Change, Conflict string }
		}
	}
	ask(t, p, call{Tool: "git.status", Args: args{"workspace": ws}}, &status)
	fmt.Fprintf(&b, "\nstatus: %v", status)
	if st.s.repo != "" {
		commits, err := st.place.lines(st.s.repo, "log", "--branches", "--fixed-strings", "--grep=commit of "+dir, "--format=%s")
		must(t, err)
		fmt.Fprintf(&b, "\ncommits: %q", commits)
	}
	return strings.ReplaceAll(b.String(), dir, "DIR")
}
