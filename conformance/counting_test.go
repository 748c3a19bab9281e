package conformance

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/mounts"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// watched is a Trees that notes what it is asked and fails when told to.
type watched struct {
	*mounts.Repos

	mu      sync.Mutex // guards what follows
	asked   []question
	failure error // of every look into a tree, if set
}

// question is one call of a tree or of a repository.
type question struct {
	Source workspace.Source
	Op     string // head, tree, lookup, lookups, readdir, list, read or size
	Paths  []string
}

func (w *watched) note(s workspace.Source, op string, paths ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, question{s, op, paths})
	if op == "head" || op == "tree" {
		return nil
	}
	return w.failure
}

// reset forgets what was asked, and sets the failure from now on.
func (w *watched) reset(failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.failure = nil, failure
}

// of returns what a source was asked by the given calls, or by any.
func (w *watched) of(s workspace.Source, ops ...string) []question {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []question
	for _, q := range w.asked {
		if q.Source == s && (len(ops) == 0 || slices.Contains(ops, q.Op)) {
			found = append(found, q)
		}
	}
	return found
}

func (w *watched) Head(ctx context.Context, s workspace.Source, branch string) (workspace.OID, error) {
	if err := w.note(s, "head"); err != nil {
		return workspace.OID{}, err
	}
	return w.Repos.Head(ctx, s, branch)
}

func (w *watched) Tree(ctx context.Context, s workspace.Source, commit workspace.OID) (workspace.Tree, error) {
	if err := w.note(s, "tree"); err != nil {
		return nil, err
	}
	t, err := w.Repos.Tree(ctx, s, commit)
	return watchedTree{t, w, s}, err
}

type watchedTree struct {
	workspace.Tree
	by     *watched
	source workspace.Source
}

func (t watchedTree) Lookup(ctx context.Context, path string) (workspace.Node, error) {
	if err := t.by.note(t.source, "lookup", path); err != nil {
		return workspace.Node{}, err
	}
	return t.Tree.Lookup(ctx, path)
}

func (t watchedTree) Lookups(ctx context.Context, paths []string) ([]workspace.Node, error) {
	if err := t.by.note(t.source, "lookups", paths...); err != nil {
		return nil, err
	}
	return t.Tree.(workspace.LookupsTree).Lookups(ctx, paths)
}

func (t watchedTree) ReadDir(ctx context.Context, path string) ([]workspace.DirEntry, error) {
	if err := t.by.note(t.source, "readdir", path); err != nil {
		return nil, err
	}
	return t.Tree.ReadDir(ctx, path)
}

func (t watchedTree) List(ctx context.Context, l workspace.Listing, yield func(string, workspace.Node) bool) error {
	if err := t.by.note(t.source, "list", l.Dir); err != nil {
		return err
	}
	return t.Tree.List(ctx, l, yield)
}

func (t watchedTree) Read(ctx context.Context, blob workspace.OID) ([]byte, error) {
	if err := t.by.note(t.source, "read"); err != nil {
		return nil, err
	}
	return t.Tree.Read(ctx, blob)
}

// watchedRig is a rig whose lower is watched, with the repos config and iterate.
func watchedRig(t *testing.T) (*rig, *watched) {
	t.Helper()
	var w *watched
	r := newRig(t, nil)
	r.open(func(c *workspace.Config) {
		w = &watched{Repos: c.Trees.(*mounts.Repos)}
		c.Trees = w
	})
	r.repo("config", map[string]string{"worker.ts": "worker\n", "tasks/one.md": "# one\n"})
	r.repo("iterate", map[string]string{"README.md": "# iterate\n", "tasks/two.md": "# two\n"})
	return r, w
}

var f1 = map[string]workspace.MountPatch{
	"/config":  {workspace.FieldRepo: str("/repos/config"), workspace.FieldPolicy: str("commit-to-main")},
	"/iterate": {workspace.FieldRepo: str("/repos/iterate"), workspace.FieldPolicy: str("read-only")},
}

func readFiles(t *testing.T, w *workspace.Workspace, paths ...string) map[string]string {
	t.Helper()
	out, err := tools.ReadFiles(t.Context(), w, tools.ReadFilesIn{Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	shown := out.Render()
	blocks := append([]string{shown.Text}, shown.More...)
	got := map[string]string{}
	for p, text := range out.Files {
		got[p] = "null"
		if text != nil {
			got[p] = blocks[text.Block]
		}
	}
	return got
}

// TestBatchAsksEachMountOnce holds the repository calls of a batch against the
// paths that route to each mount.
//
// Cases: BR-1 BR-3
func TestBatchAsksEachMountOnce(t *testing.T) {
	t.Parallel()
	r, seen := watchedRig(t)
	w := r.create("/agents/a", f1)
	if _, err := w.Delete(t.Context(), "/config/tasks/one.md", false); err != nil {
		t.Fatal(err)
	}
	seen.reset(nil)
	got := readFiles(t, w, "/config/worker.ts", "/config/missing", "/iterate/README.md", "/iterate/tasks/two.md", "scratch.md", "/config/tasks/one.md", "/iterate", "/nowhere")
	want := map[string]string{
		"/config/worker.ts": "worker\n", "/config/missing": "null", "/iterate/README.md": "# iterate\n", "/iterate/tasks/two.md": "# two\n",
		"scratch.md": "null", "/config/tasks/one.md": "null", "/iterate": "null", "/nowhere": "null",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	for name, paths := range map[string][]string{"config": {"worker.ts", "missing"}, "iterate": {"README.md", "tasks/two.md"}} {
		source := r.source(name)
		want := []question{{source, "lookups", paths}}
		if diff := cmp.Diff(want, seen.of(source, "lookup", "lookups", "readdir", "list")); diff != "" {
			t.Errorf("what %s was asked (-want +got):\n%s", name, diff)
		}
	}
}

// TestBatchAsksForNothingElse reads one path of a repo with many.
//
// Cases: BR-2
func TestBatchAsksForNothingElse(t *testing.T) {
	t.Parallel()
	r, seen := watchedRig(t)
	files := map[string]string{}
	for i := range 500 {
		files["dir/f"+string(rune('a'+i%26))+"/"+string(rune('a'+i/26))] = "x"
	}
	r.repo("big", files)
	w := r.create("/agents/a", nil)
	seen.reset(nil)
	if got := readFiles(t, w, "/repos/big/dir/fa/a")["/repos/big/dir/fa/a"]; got != "x" {
		t.Errorf("got %q, want x", got)
	}
	big := r.source("big")
	want := []question{{big, "lookups", []string{"dir/fa/a"}}}
	if diff := cmp.Diff(want, seen.of(big, "lookup", "lookups", "readdir", "list")); diff != "" {
		t.Errorf("what big was asked (-want +got):\n%s", diff)
	}
	if got := seen.of(big, "read"); len(got) != 1 {
		t.Errorf("%d blobs were read, want 1", len(got))
	}
	for _, other := range []string{"config", "iterate"} {
		if got := seen.of(r.source(other)); got != nil {
			t.Errorf("%s was asked %v", other, got)
		}
	}
}

// TestStatusCosts counts what status asks the repositories: nothing while all is
// clean, lookups of the dirty paths otherwise, and no listing.
//
// Cases: ST-2
func TestStatusCosts(t *testing.T) {
	t.Parallel()
	r, seen := watchedRig(t)
	w := r.create("/agents/a", f1)
	status := func() tools.GitStatusOut {
		t.Helper()
		out, err := tools.GitStatus(t.Context(), w, tools.GitStatusIn{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	seen.reset(nil)
	if out := status(); out.CleanMounts != 4 {
		t.Errorf("%d clean mounts, want 4", out.CleanMounts)
	}
	for _, name := range []string{"config", "iterate"} {
		if got := seen.of(r.source(name), "lookup", "lookups", "readdir", "list", "read"); got != nil {
			t.Errorf("clean: %s was asked %v", name, got)
		}
	}
	write(t, w, "/config/worker.ts", "changed\n")
	write(t, w, "/workspace/scratch.md", "s")
	seen.reset(nil)
	if out := status(); len(out.Mounts) != 1 {
		t.Errorf("dirty mounts: got %v, want one", out.Mounts)
	}
	for _, q := range seen.of(r.source("config"), "lookup", "lookups", "readdir", "list") {
		if q.Op == "readdir" || q.Op == "list" || !slices.Equal(q.Paths, []string{"worker.ts"}) {
			t.Errorf("dirty: config was asked %v", q)
		}
	}
	if got := seen.of(r.source("iterate"), "lookup", "lookups", "readdir", "list", "read"); got != nil {
		t.Errorf("dirty: iterate was asked %v", got)
	}
}

// TestScopedCommitReadsNoOtherRepo commits one of two dirty mounts.
//
// Cases: CM-7
func TestScopedCommitReadsNoOtherRepo(t *testing.T) {
	t.Parallel()
	r, seen := watchedRig(t)
	w := r.create("/agents/a", f1)
	write(t, w, "/config/worker.ts", "changed\n")
	write(t, w, "/iterate/README.md", "changed\n")
	seen.reset(nil)
	if _, err := tools.GitCommit(t.Context(), w, tools.GitCommitIn{Message: "m", Scope: "/config"}); err != nil {
		t.Fatal(err)
	}
	if got := seen.of(r.source("iterate")); got != nil {
		t.Errorf("iterate was asked %v", got)
	}
	if got := seen.of(r.source("config"), "readdir", "list"); got != nil {
		t.Errorf("config was listed: %v", got)
	}
}

// TestGlobBelowOneMountListsNoOther looks for files below one mount, and below
// one directory of it.
//
// Cases: LS-6
func TestGlobBelowOneMountListsNoOther(t *testing.T) {
	t.Parallel()
	r, seen := watchedRig(t)
	w := r.create("/agents/a", f1)
	for pattern, dirs := range map[string][]string{"/config/**": {""}, "/config/tasks/*.md": {"tasks"}} {
		seen.reset(nil)
		out, err := tools.Glob(t.Context(), w, tools.GlobIn{Pattern: pattern})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(out.Paths, "/config/tasks/one.md") {
			t.Errorf("%s: got %v", pattern, out.Paths)
		}
		var listed []string
		for _, q := range seen.of(r.source("config"), "readdir", "list") {
			listed = append(listed, q.Paths...)
		}
		slices.Sort(listed)
		if diff := cmp.Diff(dirs, slices.Compact(listed)); diff != "" {
			t.Errorf("%s: directories listed (-want +got):\n%s", pattern, diff)
		}
		if got := seen.of(r.source("iterate")); got != nil {
			t.Errorf("%s: iterate was asked %v", pattern, got)
		}
	}
}

// TestBytesReadBack reads files that are no text, of a repo and of the upper, by
// both spellings.
//
// Cases: RD1-4 RD1-7
func TestBytesReadBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	content := "\x00\xff\x01\xfe\x80\r\n\xef\xbb\xbf\x00"
	for i := range 256 {
		content += string([]byte{byte(i)})
	}
	r.repo("app", map[string]string{"data.bin": content, "empty": ""})
	w := r.create("/agents/a", nil)
	if got := read(t, w, "/repos/app/data.bin"); got != content {
		t.Errorf("mounted: got %q, want %q", got, content)
	}
	relative, err := workspace.ParsePath("sub/data.bin")
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, relative, content)
	write(t, w, "/repos/app/new.bin", content)
	for _, p := range []workspace.Path{"/workspace/sub/data.bin", relative, "/repos/app/new.bin"} {
		if got := read(t, w, p); got != content {
			t.Errorf("%s: got %q, want %q", p, got, content)
		}
	}
	r.open(nil)
	if got := read(t, r.workspace("/agents/a"), "/repos/app/new.bin"); got != content {
		t.Errorf("after a restart: got %q, want %q", got, content)
	}
}
