package workspace_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

var f1 = map[string]map[string]string{
	"config":  {"worker.ts": "export {}\n", "tasks/one.md": "one\n"},
	"iterate": {"README.md": "iterate\n", "tasks/two.md": "two\n"},
}

func f1Mounts() map[string]MountPatch {
	return map[string]MountPatch{"/config": mount("/repos/config", CommitToMain), "/iterate": mount("/repos/iterate", ReadOnly)}
}

// Cases: RD1-1, RD1-2, RD1-3, RD1-6, RD1-8, MT-12
func TestReadsFallThrough(t *testing.T) {
	b := newBench(t, f1)
	w := b.create("/agents/a", f1Mounts())
	for p, want := range map[string]string{
		"/config/worker.ts": "export {}\n", "/config/none": "<absent>", "/elsewhere/x": "<absent>", "/config": "<dir>",
		"/config/tasks": "<dir>", "/repos": "<dir>", "/": "<dir>", "/workspace": "<dir>", "/config/worker.ts/x": "<absent>",
	} {
		if got := w.read(p); got != want {
			t.Errorf("%s: got %q, want %q", p, got, want)
		}
	}
	w.write("/config/worker.ts", "mine\n")
	w.write("/config/empty", "")
	if got := w.read("/config/worker.ts"); got != "mine\n" {
		t.Errorf("after a write: %q", got)
	}
	if got := w.read("/config/empty"); got != "" {
		t.Errorf("an empty file: %q", got)
	}
	base, err := w.snap().AtBase().Lookup(context.Background(), "/config/worker.ts")
	if err != nil || base.Layer != LayerLower {
		t.Errorf("at base: %+v, %v", base, err)
	}
	b.outside("config", map[string]string{"new.ts": "theirs\n"})
	if got := w.read("/config/new.ts"); got != "theirs\n" {
		t.Errorf("after a commit by somebody else: %q", got)
	}
	b.repo("late", map[string]string{"x": "late\n"})
	if got := w.read("/repos/late/x"); got != "late\n" {
		t.Errorf("a repo that was born later: %q", got)
	}
}

// Cases: RD1-5, VD-1, VD-2, VD-3, VD-4, LS-2
func TestNestedMounts(t *testing.T) {
	b := newBench(t, map[string]map[string]string{
		"outer": {"a": "a file\n", "tasks/one.md": "one\n", "top.ts": "top\n"},
		"inner": {"README.md": "inner\n"},
	})
	w := b.create("/agents/a", map[string]MountPatch{
		"/repos/outer/a/b": mount("/repos/inner", CommitToMain), "/repos/outer/tasks": mount("/repos/inner", CommitToMain),
	})
	for p, want := range map[string]string{
		"/repos/outer/a": "<dir>", "/repos/outer/a/b/README.md": "inner\n", "/repos/outer/tasks/one.md": "<absent>",
		"/repos/outer/tasks/README.md": "inner\n", "/repos/outer/top.ts": "top\n", "/repos/outer/.git": "<absent>",
	} {
		if got := w.read(p); got != want {
			t.Errorf("%s: got %q, want %q", p, got, want)
		}
	}
	want := []string{"/repos/outer/a/b/README.md", "/repos/outer/tasks/README.md", "/repos/outer/top.ts"}
	if diff := cmp.Diff(want, w.walk("/repos/outer")); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
	if _, err := w.Write(context.Background(), "/repos/outer/a", nil, WriteOptions{}); !errors.Is(err, IsDir) {
		t.Errorf("writing what leads to a mount: %v", err)
	}
}

// TestFS lets the standard library judge the merged view.
func TestFS(t *testing.T) {
	b := newBench(t, map[string]map[string]string{
		"app": {"a.txt": "a\n", "a-b/x": "1", "a/b/c": "2", "a/d": "3", "gone/x": "4", "half/x": "5", "half/y": "6", "tofile/x": "7", "todir": "8"},
		"sub": {"README.md": "sub\n"},
	})
	w := b.create("/agents/a", map[string]MountPatch{"/repos/app/a/mnt": mount("/repos/sub", ReadOnly)})
	ctx := context.Background()
	w.write("/repos/app/new/deep/file", "n")
	w.write("/repos/app/a/d", "changed")
	w.del("/repos/app/gone/x")
	w.del("/repos/app/half")
	w.write("/repos/app/half/z", "z")
	w.del("/repos/app/tofile")
	w.write("/repos/app/tofile", "now a file")
	w.del("/repos/app/todir")
	w.write("/repos/app/todir/x", "now a directory")
	w.write("/workspace/notes.md", "notes")
	if _, err := w.Mkdir(ctx, "/repos/app/empty"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Symlink(ctx, "/repos/app/link", "/etc/passwd"); err != nil {
		t.Fatal(err)
	}
	for top, want := range map[Path][]string{
		"/": {"repos/app/a-b/x", "repos/app/a.txt", "repos/app/a/b/c", "repos/app/a/d", "repos/app/a/mnt/README.md", "repos/app/empty",
			"repos/app/half/z", "repos/app/new/deep/file", "repos/app/tofile", "repos/app/todir/x", "repos/app/link", "repos/sub/README.md", "workspace/notes.md"},
		"/repos/app/a":     {"b/c", "d", "mnt/README.md"},
		"/repos/app/empty": {},
	} {
		if err := fstest.TestFS(w.snap().FS(ctx, top), want...); err != nil {
			t.Errorf("%s: %v", top, err)
		}
	}
	walked := w.walk("/")
	if !slices.IsSorted(walked) || slices.Contains(walked, "/repos/app/half/x") || slices.Contains(walked, "/repos/app/gone/x") {
		t.Errorf("walk: %v", walked)
	}
	if got := w.read("/repos/app/gone"); got != "<absent>" {
		t.Errorf("a directory whose last file went: %q", got)
	}
}

// Cases: DL-1, DL-2, DL-8, C1, C2, C3, C8
func TestWhiteouts(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"d/old": "old\n", "d/x/y": "y\n", "f": "f\n", "d-e": "beside\n"}})
	w := b.create("/agents/a", nil)
	if r := w.del("/repos/app/f"); !r.Deleted || r.Count != 1 {
		t.Errorf("delete: %+v", r)
	}
	if r := w.del("/repos/app/f"); r.Deleted {
		t.Errorf("second delete: %+v", r)
	}
	if r := w.del("/repos/app/d"); !r.Deleted || r.Count != 2 {
		t.Errorf("recursive delete: %+v", r)
	}
	b.reopen()
	w = b.open("/agents/a", "t")
	for _, p := range []string{"/repos/app/f", "/repos/app/d", "/repos/app/d/old", "/repos/app/d/x", "/repos/app/d/x/y"} {
		if got := w.read(p); got != "<absent>" {
			t.Errorf("%s after a restart: %q", p, got)
		}
	}
	w.write("/repos/app/d/new", "new\n")
	if diff := cmp.Diff([]string{"/repos/app/d-e", "/repos/app/d/new"}, w.walk("/")); diff != "" {
		t.Errorf("after writing into a deleted directory (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A d/new", "D d/old", "D d/x/y", "D f"}, w.status("/repos/app")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	w.del("/repos/app/d/new")
	if got := w.read("/repos/app/d"); got != "<absent>" {
		t.Errorf("a directory that only its last file implied: %q", got)
	}
	w.write("/repos/app/f", "again\n")
	if got := w.read("/repos/app/f"); got != "again\n" {
		t.Errorf("a rewritten path: %q", got)
	}
	w.write("/repos/app/d", "a file now\n")
	w.commit("/repos/app")
	if got := b.git("app", "ls-tree", "-r", "--name-only", "main"); got != "d\nd-e\nf" {
		t.Errorf("committed tree: %q", got)
	}
	b.fsck("app")
}

func TestSnapshotsDoNotChange(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n"}})
	w := b.create("/agents/a", nil)
	w.write("/repos/app/a", "2\n")
	old := w.snap()
	ctx := context.Background()
	content := func(p Path) string {
		f, err := old.Lookup(ctx, p)
		if err != nil {
			return err.Error()
		}
		c, err := old.Content(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		return string(c)
	}
	before := []string{content("/repos/app/a"), content("/repos/app/b")}
	w.write("/repos/app/a", "3\n")
	w.del("/repos/app/b")
	w.commit("/repos/app")
	b.outside("app", map[string]string{"b": "back\n"})
	if diff := cmp.Diff(before, []string{content("/repos/app/a"), content("/repos/app/b")}); diff != "" {
		t.Errorf("an old snapshot changed (-before +after):\n%s", diff)
	}
}

// Cases: BR-1, BR-2, BR-3, BR-4
func TestLookupsAskEachMountOnce(t *testing.T) {
	b := newBench(t, f1)
	counted := &countingTrees{Trees: b.cfg.Trees}
	b.cfg.Trees = counted
	b.reopen()
	w := b.create("/agents/a", f1Mounts())
	w.write("/workspace/notes.md", "n")
	w.write("/config/new.ts", "shadow")
	w.del("/config/tasks/one.md")
	paths := []Path{"/config/worker.ts", "/config/new.ts", "/config/tasks/one.md", "/iterate/README.md", "/iterate", "/iterate/none", "/workspace/notes.md", "/workspace/none"}
	snap := w.snap()
	counted.asked = nil
	found, err := snap.Lookups(context.Background(), paths)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(counted.asked, slices.Compare)
	want := [][]string{{"README.md", "none"}, {"worker.ts"}}
	if diff := cmp.Diff(want, counted.asked); diff != "" {
		t.Errorf("paths asked of the repos (-want +got):\n%s", diff)
	}
	for i, p := range paths {
		single, err := snap.Lookup(context.Background(), p)
		if err != nil && !errors.Is(err, NotExist) {
			t.Fatal(err)
		}
		if single != found[i] {
			t.Errorf("%s: together %+v, alone %+v", p, found[i], single)
		}
	}
}

// countingTrees notes the paths that each walk of a tree is asked for.
type countingTrees struct {
	Trees
	asked [][]string
}

func (c *countingTrees) Tree(ctx context.Context, s Source, commit OID) (Tree, error) {
	t, err := c.Trees.Tree(ctx, s, commit)
	return &countingTree{t, c}, err
}

type countingTree struct {
	Tree
	counts *countingTrees
}

func (c *countingTree) Lookups(ctx context.Context, paths []string) ([]Node, error) {
	c.counts.asked = append(c.counts.asked, paths)
	return c.Tree.(LookupsTree).Lookups(ctx, paths)
}

// TestBatchSeesItself: what an item of a batch has set is read by the next one,
// though nothing of it is stored yet.
func TestBatchSeesItself(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	ctx := context.Background()
	err := w.Batch(ctx, []Step{SymlinkStep("/repos/app/l", "a"), WriteStep("/repos/app/l/x", []byte("x"), WriteOptions{})})
	if !errors.Is(err, NotDir) || !strings.Contains(HintOf(err), `"a"`) {
		t.Errorf("a file below a link that the batch made: %v, hint %q", err, HintOf(err))
	}
	err = w.Batch(ctx, []Step{
		WriteStep("/workspace/new", []byte("new\n"), WriteOptions{}),
		TransferStep("/workspace/new", "/repos/app/moved", false, true),
		EditStep("/repos/app/moved", WriteOptions{}, func(_ Found, content []byte) ([]byte, int, error) {
			return append(content[:len(content):len(content)], "edited\n"...), 1, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read("/repos/app/moved") + w.read("/workspace/new"); got != "new\nedited\n<absent>" {
		t.Errorf("got %q", got)
	}
}
