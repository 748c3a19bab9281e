package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// Cases: CM-1, CM-2, CM-4, CM-10, CM-12, CM-13, ST-1, D8
func TestCommit(t *testing.T) {
	b := newBench(t, f1)
	w := b.create("/agents/a", f1Mounts())
	if _, err := w.tryCommit("/config"); !errors.Is(err, Invalid) || !strings.Contains(err.Error(), "nothing to commit") {
		t.Errorf("an untouched mount: %v", err)
	}
	w.write("/config/worker.ts", "export {}\n")
	if got := w.status("/config"); len(got) != 0 {
		t.Errorf("after writing what is there: %v", got)
	}
	w.write("/config/worker.ts", "changed\n")
	w.write("/config/new.ts", "new\n")
	w.del("/config/tasks/one.md")
	w.del("/iterate/README.md")
	w.write("/workspace/notes.md", "notes\n")
	if diff := cmp.Diff([]string{"A new.ts", "D tasks/one.md", "M worker.ts"}, w.status("/config")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if _, err := w.tryCommit("/iterate"); !errors.Is(err, Permission) {
		t.Errorf("a read-only mount: %v", err)
	}
	c := w.commit("/config")
	if c.Branch != "main" || c.Repo != "/repos/config" || c.Commit.String() != b.git("config", "rev-parse", "main") {
		t.Errorf("commit: %+v", c)
	}
	if diff := cmp.Diff([]Path{"/config/new.ts", "/config/tasks/one.md", "/config/worker.ts"}, c.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if got := b.git("config", "log", "-1", "--format=%an <%ae>|%cn|%P|%b", "main"); !strings.HasPrefix(got, "Carrel agent <agent@localhost>|Carrel|") ||
		!strings.HasSuffix(got, "Carrel-Workspace: /agents/a") {
		t.Errorf("the commit says %q", got)
	}
	if got := b.git("config", "ls-tree", "-r", "--name-only", "main"); got != "new.ts\nworker.ts" {
		t.Errorf("committed tree: %q", got)
	}
	for p, want := range map[string]string{
		"/config/worker.ts": "changed\n", "/config/tasks/one.md": "<absent>", "/workspace/notes.md": "notes\n", "/iterate/README.md": "<absent>",
	} {
		if got := w.read(p); got != want {
			t.Errorf("%s after the commit: %q, want %q", p, got, want)
		}
	}
	if got := w.status("/config"); len(got) != 0 {
		t.Errorf("status after the commit: %v", got)
	}
	if n := len(w.snap().State.Intents); n != 0 {
		t.Errorf("%d intents are left", n)
	}
	b.fsck("config")
}

// Cases: D4, XT-7
func TestCommitNeverOverwrites(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n", "c": "1\n", "d/x": "1\n", "d/y": "1\n"}})
	for _, tt := range []struct {
		name      string
		mine      func(w *space)
		theirs    map[string]string
		conflicts []string // status lines; nil: the commit lands
	}{
		{"disjoint", func(w *space) { w.write("/repos/app/a", "mine\n") }, map[string]string{"b": "2\n"}, nil},
		{"same path", func(w *space) { w.write("/repos/app/a", "mine too\n") }, map[string]string{"a": "theirs\n"}, []string{"M a !"}},
		{"same content", func(w *space) { w.write("/repos/app/c", "same\n"); w.write("/repos/app/n1", "") }, map[string]string{"c": "same\n"}, nil},
		{"deleted here, changed there", func(w *space) { w.del("/repos/app/b") }, map[string]string{"b": "3\n"}, []string{"D b !"}},
		{"changed here, deleted there", func(w *space) { w.write("/repos/app/b", "mine\n") }, map[string]string{"b": "-"}, []string{"M b !"}},
		{"both added", func(w *space) { w.write("/repos/app/new", "mine\n") }, map[string]string{"new": "theirs\n"}, []string{"A new !"}},
		{"directory deleted here, file added there", func(w *space) { w.del("/repos/app/d") }, map[string]string{"d/z": "unseen\n"}, []string{"D d/x", "D d/y", "D d/z !"}},
		{"directory deleted here, file changed there", func(w *space) { w.del("/repos/app/d") }, map[string]string{"d/x": "2\n"}, []string{"D d/x !", "D d/y", "D d/z"}},
		{"directory deleted here, file deleted there", func(w *space) { w.del("/repos/app/d") }, map[string]string{"d/z": "-"}, nil},
		{"added below what became a file", func(w *space) { w.write("/repos/app/e/x", "mine\n") }, map[string]string{"e": "a file\n"}, []string{"A e/x !"}},
		{"added where a directory came", func(w *space) { w.write("/repos/app/g", "mine\n") }, map[string]string{"g/x": "theirs\n"}, []string{"A g !"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := b.create("/agents/"+strings.ReplaceAll(strings.ReplaceAll(tt.name, " ", "-"), ",", ""), nil)
			w.t = t
			tt.mine(w)
			b.outside("app", tt.theirs)
			head := b.git("app", "rev-parse", "main")
			upper := w.snap().State.Upper.Len()
			_, err := w.tryCommit("/repos/app")
			if tt.conflicts == nil {
				if err != nil {
					t.Fatal(err)
				}
				if parent := b.git("app", "rev-parse", "main^"); parent != head {
					t.Errorf("landed on %s, not on top of %s", parent, head)
				}
				for p, content := range tt.theirs {
					if content != "-" {
						if got := b.git("app", "show", "main:"+p); got != strings.TrimSpace(content) {
							t.Errorf("their %s is %q now", p, got)
						}
					}
				}
				return
			}
			if !errors.Is(err, Conflict) {
				t.Fatalf("got %v, want a conflict", err)
			}
			if got := b.git("app", "rev-parse", "main"); got != head {
				t.Errorf("the branch moved to %s", got)
			}
			if got := w.snap().State.Upper.Len(); got != upper {
				t.Errorf("%d entries of %d are left", got, upper)
			}
			if diff := cmp.Diff(tt.conflicts, w.status("/repos/app")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), "ours") || !strings.Contains(HintOf(err), "`git.diff`") {
				t.Errorf("the error does not teach: %v / %s", err, HintOf(err))
			}
		})
	}
	b.fsck("app")
}

func TestStaleReadConflicts(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	w.read("/repos/app/a")
	b.outside("app", map[string]string{"a": "2\n"})
	w.write("/repos/app/a", "from 1\n") // made from what it read, not from what is there now
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
		t.Fatalf("a write from a stale read: %v, want a conflict", err)
	}
	if _, err := w.Revert(context.Background(), "/repos/app/a"); err != nil {
		t.Fatal(err)
	}
	if got := w.read("/repos/app/a"); got != "2\n" {
		t.Fatalf("after the revert: %q", got)
	}
	w.write("/repos/app/a", "from 2\n")
	w.commit("/repos/app")
	w.write("/repos/app/a", "and on\n")
	w.commit("/repos/app")
	other := b.open("/agents/a", "other")
	other.write("/repos/app/a", "another session, never read it\n")
	other.commit("/repos/app")
}

// Cases: XT-1
func TestWritesDuringACommit(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"edited": "1\n", "back": "1\n", "left": "1\n", "gone/x": "1\n"}})
	w := b.create("/agents/a", nil)
	for _, p := range []string{"edited", "back", "added", "deleted", "dir/x", "left"} {
		w.write("/repos/app/"+p, "2\n")
	}
	b.cfg.Fault = nil
	fired := false
	b.cfg.Fault = func(point string) error {
		if point == "intent appended" && !fired {
			fired = true
			w.write("/repos/app/edited", "3\n")
			w.write("/repos/app/back", "1\n") // as it was below: the commit is about to change that
			w.del("/repos/app/deleted")
			w.del("/repos/app/dir")
			w.write("/repos/app/late", "late\n")
			w.del("/repos/app/gone")
		}
		return nil
	}
	b.reopen()
	w = b.open("/agents/a", "s")
	w.commit("/repos/app")
	if diff := cmp.Diff([]string{"M back", "D deleted", "D dir/x", "M edited", "D gone/x", "A late"}, w.status("/repos/app")); diff != "" {
		t.Errorf("after the commit (-want +got):\n%s", diff)
	}
	for p, want := range map[string]string{"edited": "3\n", "back": "1\n", "added": "2\n", "deleted": "<absent>", "dir": "<absent>", "late": "late\n"} {
		if got := w.read("/repos/app/" + p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	w.commit("/repos/app")
	if got := b.git("app", "ls-tree", "-r", "--name-only", "main"); got != "added\nback\nedited\nlate\nleft" {
		t.Errorf("committed tree: %q", got)
	}
}

// Cases: XT-2, CM-8, XT-10
func TestCrashDuringACommit(t *testing.T) {
	crash := errors.New("crash")
	for _, tt := range []struct {
		point  string
		landed bool
	}{{"intent appended", false}, {"landed", true}} {
		t.Run(tt.point, func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n"}})
			w := b.create("/agents/a", nil)
			w.write("/repos/app/a", "2\n")
			w.del("/repos/app/b")
			b.cfg.Fault = func(point string) error {
				if point == tt.point {
					return crash
				}
				return nil
			}
			b.reopen()
			if _, err := b.open("/agents/a", "s").tryCommit("/repos/app"); !errors.Is(err, crash) {
				t.Fatalf("got %v", err)
			}
			b.cfg.Fault = nil
			b.reopen()
			w = b.open("/agents/a", "s")
			w.t = t
			if got := w.read("/repos/app/a") + w.read("/repos/app/b"); got != "2\n<absent>" {
				t.Errorf("after the restart: %q", got)
			}
			if n := b.git("app", "rev-list", "--count", "main"); tt.landed != (n == "2") {
				t.Errorf("%s commits", n)
			}
			w.write("/workspace/x", "any mutation settles it")
			if n := len(w.snap().State.Intents); n != 0 {
				t.Errorf("%d intents are left", n)
			}
			_, err := w.tryCommit("/repos/app")
			if tt.landed != (err != nil) {
				t.Errorf("the next commit: %v", err)
			}
			if n := b.git("app", "rev-list", "--count", "main"); n != "2" {
				t.Errorf("%s commits in the end", n)
			}
			if got := w.read("/repos/app/b"); got != "<absent>" {
				t.Errorf("a deleted file is back: %q", got)
			}
		})
	}
}

// TestLockOfADeadProcess: the lock that a commit left on its branch when its
// process died stops nobody, in whatever workspace they are. A lock of anybody
// else is respected.
func TestLockOfADeadProcess(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	dead := b.create("/agents/dead", nil)
	b.create("/agents/other", nil)
	dead.write("/repos/app/a", "2\n")
	b.cfg.Fault = func(string) error { return errors.New("crash") }
	b.reopen()
	if _, err := b.open("/agents/dead", "s").tryCommit("/repos/app"); err == nil {
		t.Fatal("no crash")
	}
	b.cfg.Fault = nil
	b.reopen()
	dead = b.open("/agents/dead", "s")
	other := b.open("/agents/other", "s")
	lock := filepath.Join(b.root, "app.git", "refs", "heads", "main.lock")
	plant := func(content string) {
		t.Helper()
		if err := os.WriteFile(lock, []byte(content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range dead.snap().State.Intents {
		plant(in.Commit.String())
	}
	other.write("/repos/app/b", "b\n")
	other.commit("/repos/app")
	if _, err := os.Stat(lock); err == nil {
		t.Error("the lock is still there")
	}
	other.write("/repos/app/b", "b again\n")
	plant(b.git("app", "rev-parse", "main"))
	if _, err := other.tryCommit("/repos/app"); !errors.Is(err, Unavailable) {
		t.Errorf("with somebody else's lock: %v, want unavailable", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Errorf("somebody else's lock is gone: %v", err)
	}
	b.fsck("app")
}

func TestConcurrentCommits(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	const agents = 8
	var wg sync.WaitGroup
	for i := range agents {
		w := b.create(fmt.Sprintf("/agents/a%d", i), nil)
		wg.Go(func() {
			for j := range 3 {
				p := Path(fmt.Sprintf("/repos/app/f%d-%d", i, j))
				if _, err := w.Write(context.Background(), p, []byte("x\n"), WriteOptions{}); err != nil {
					t.Error(err)
				}
				if _, err := w.tryCommit("/repos/app"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := b.git("app", "rev-list", "--count", "main"); n != fmt.Sprint(agents*3+1) {
		t.Errorf("%s commits", n)
	}
	b.fsck("app")
}

func TestPartialCommit(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"d/x": "1\n", "d/y": "1\n", "e": "1\n"}})
	w := b.create("/agents/a", nil)
	w.del("/repos/app/d")
	w.write("/repos/app/e", "2\n")
	w.write("/repos/app/new", "n\n")
	c := w.commit("/repos/app", "/repos/app/d/x", "/repos/app/new")
	if len(c.Paths) != 2 {
		t.Errorf("committed %v", c.Paths)
	}
	if diff := cmp.Diff([]string{"D d/y", "M e"}, w.status("/repos/app")); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if got := w.read("/repos/app/d/y"); got != "<absent>" {
		t.Errorf("d/y: %q", got)
	}
	w.commit("/repos/app")
	if got := b.git("app", "ls-tree", "-r", "--name-only", "main"); got != "e\nnew" {
		t.Errorf("committed tree: %q", got)
	}
	if n := w.snap().State.Upper.Len(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestWorkBranch(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	patch := map[string]MountPatch{"/repos/app": {FieldPolicy: policy(WorkBranch)}}
	w := b.create("/agents/some-task@x", patch)
	w.write("/repos/app/a", "2\n")
	c := w.commit("/repos/app")
	if !strings.HasPrefix(c.Branch, "carrel/") || c.Upstream != "main" {
		t.Errorf("commit: %+v", c)
	}
	if got := b.git("app", "show", "main:a") + b.git("app", "show", c.Branch+":a"); got != "12" {
		t.Errorf("main and the work branch have %q", got)
	}
	b.outside("app", map[string]string{"b": "main moves on\n"})
	if got := w.read("/repos/app/b"); got != "<absent>" {
		t.Errorf("the mount reads its work branch: b is %q", got)
	}
	w.write("/repos/app/a", "3\n")
	if second := w.commit("/repos/app"); second.Branch != c.Branch {
		t.Errorf("the second commit went to %s", second.Branch)
	}
	b.git("app", "update-ref", "-d", "refs/heads/"+c.Branch)
	if got := w.read("/repos/app/a"); got != "3\n" {
		t.Errorf("after somebody removed the branch: %q", got)
	}
	w.write("/repos/app/a", "4\n")
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
		t.Errorf("a commit to a branch that is gone: %v", err)
	}
	b.fsck("app")
}

func policy(p Policy) *string { s := string(p); return &s }

// TestWorkBranchMerged: once the upstream has everything of a work branch, which
// people then often remove, the workspace follows the upstream again.
func TestWorkBranchMerged(t *testing.T) {
	for _, removed := range []bool{false, true} {
		t.Run(fmt.Sprintf("removed %v", removed), func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n"}})
			w := b.create("/agents/a", map[string]MountPatch{"/repos/app": {FieldPolicy: policy(WorkBranch)}})
			w.write("/repos/app/a", "2\n")
			c := w.commit("/repos/app")
			b.outside("app", map[string]string{"other": "x\n"})
			if state := w.workBranchState("/repos/app"); !state.Behind || state.Lost {
				t.Errorf("after main moved on: %+v", state)
			}
			clone := t.TempDir()
			b.run("", "clone", "-q", b.root+"/app.git", clone)
			b.run(clone, "merge", "-q", "-m", "merge", "origin/"+c.Branch)
			b.run(clone, "push", "-q", "origin", "HEAD:main")
			if removed {
				b.git("app", "update-ref", "-d", "refs/heads/"+c.Branch)
			}
			b.outside("app", map[string]string{"b": "main\n"})
			if got := w.read("/repos/app/a") + w.read("/repos/app/b"); got != "2\nmain\n" {
				t.Errorf("after the merge it reads %q", got)
			}
			if state := w.workBranchState("/repos/app"); state != (WorkState{}) {
				t.Errorf("after the merge: %+v", state)
			}
			w.write("/repos/app/a", "3\n")
			head := b.git("app", "rev-parse", "main")
			if again := w.commit("/repos/app"); again.Branch != c.Branch {
				t.Errorf("the next commit went to %s", again.Branch)
			}
			if got := b.git("app", "rev-parse", c.Branch+"^"); got != head {
				t.Errorf("it lies on %s, not on main at %s", got, head)
			}
			b.fsck("app")
		})
	}
}

func (s *space) workBranchState(mount string) WorkState {
	s.t.Helper()
	snap := s.snap()
	state, err := snap.WorkBranch(context.Background(), snap.Table.At(Path(mount)))
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

func TestWorkBranchOfSomebodyElse(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	patch := map[string]MountPatch{"/repos/app": {FieldPolicy: policy(WorkBranch)}}
	w := b.create("/agents/a", patch)
	w.write("/repos/app/a", "2\n")
	name := w.commit("/repos/app").Branch

	b2 := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	b2.git("app", "branch", name, "main")
	w = b2.create("/agents/a", patch)
	w.write("/repos/app/a", "2\n")
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) || !strings.Contains(err.Error(), name) {
		t.Errorf("a branch of that name is there: %v", err)
	}
}

func TestUnbornRepo(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"empty": nil})
	w := b.create("/agents/a", nil)
	if got := w.walk("/repos/empty"); len(got) != 0 {
		t.Errorf("an unborn branch has %v", got)
	}
	w.write("/repos/empty/first", "1\n")
	w.commit("/repos/empty")
	if got := b.git("empty", "log", "--format=%P|%s", "main"); got != "|change" {
		t.Errorf("the first commit: %q", got)
	}
	w.del("/repos/empty/first")
	if _, err := w.tryCommit("/repos/empty"); !errors.Is(err, Invalid) {
		t.Errorf("an empty tree by accident: %v", err)
	}
	b.fsck("empty")
}

// TestEditOfANewerVersion: an edit is made from what is there, not from what was
// read before, so that there is nothing to conflict with.
func TestEditOfANewerVersion(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "m": "1\n"}})
	w := b.create("/agents/a", nil)
	w.read("/repos/app/a")
	w.read("/repos/app/m")
	b.outside("app", map[string]string{"a": "2\n", "m": "2\n"})
	ctx := context.Background()
	add := func(_ Found, content []byte) ([]byte, int, error) { return append([]byte("0\n"), content...), 1, nil }
	if _, err := w.Edit(ctx, "/repos/app/a", WriteOptions{}, add); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Move(ctx, "/repos/app/m", "/repos/app/n", false); err != nil {
		t.Fatal(err)
	}
	w.commit("/repos/app")
	if got := b.git("app", "show", "main:a") + b.git("app", "show", "main:n"); got != "0\n22" {
		t.Errorf("committed %q", got)
	}
}
