package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/tools"
	"carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// watchedTrees notes which repositories are asked anything.
type watchedTrees struct {
	*mounts.Repos
	asked map[string]bool // by their names
}

func (w *watchedTrees) note(s workspace.Source) {
	w.asked[strings.TrimSuffix(filepath.Base(s.Location), ".git")] = true
}

func (w *watchedTrees) Head(ctx context.Context, s workspace.Source, branch string) (workspace.OID, error) {
	w.note(s)
	return w.Repos.Head(ctx, s, branch)
}

func (w *watchedTrees) Tree(ctx context.Context, s workspace.Source, commit workspace.OID) (workspace.Tree, error) {
	w.note(s)
	return w.Repos.Tree(ctx, s, commit)
}

// bench is a project over real repositories and the reference store, with one
// workspace.
type bench struct {
	t       testing.TB
	root    string // of the repositories
	project *workspace.Project
	trees   *watchedTrees
}

// repo is where a repository lies.
func (b *bench) repo(name string) string { return filepath.Join(b.root, name+".git") }

// id is the workspace's identity.
const id = "/agents/a"

// newBench makes a project with a repo for each name, with the file a in it.
func newBench(t testing.TB, names ...string) *bench {
	t.Helper()
	ctx, root := context.Background(), t.TempDir()
	repos := mounts.New(&mounts.Config{ManagedRoot: root})
	store := memory.New(nil)
	b := &bench{t: t, root: root, trees: &watchedTrees{repos, map[string]bool{}}}
	host, err := workspace.NewHost(ctx, &workspace.Config{
		Store: store, Blobs: store, Trees: b.trees, Committer: repos, Ignorer: repos, DataID: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.project, err = host.Project(ctx, "p"); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		dir := b.repo(name)
		b.git("", "init", "-q", "--bare", "-b", "main", dir)
		clone := filepath.Join(t.TempDir(), "clone")
		b.git("", "clone", "-q", dir, clone)
		if err := os.WriteFile(filepath.Join(clone, "a"), []byte("1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		b.git(clone, "add", "-A")
		b.git(clone, "commit", "-qm", "first")
		b.git(clone, "push", "-q", "origin", "HEAD:main")
		err := b.project.SetRepo(ctx, workspace.Caller{}, workspace.Repo{
			Path: workspace.RepoPath("/repos/" + name), Source: workspace.Source{Location: dir}, Branch: "main", Policy: workspace.CommitToMain,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.project.Create(ctx, workspace.Caller{}, workspace.CreateRequest{ID: id}); err != nil {
		t.Fatal(err)
	}
	return b
}

// git runs git with no configuration but its own.
func (b *bench) git(dir string, args ...string) {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// args are a tool's arguments.
type args map[string]any

// try calls a tool, under a key unless that is empty.
func (b *bench) try(name, key string, in args) (tools.Output, error) {
	b.t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, tool := range tools.All() {
		if tool.Name == name {
			caller := workspace.Caller{Session: "s", Key: key}
			return tool.Run(context.Background(), tools.Call{Project: b.project, Workspace: id, Caller: caller}, raw)
		}
	}
	b.t.Fatalf("no tool %s", name)
	return nil, nil
}

// call is try that fails the test.
func (b *bench) call(name, key string, in args) tools.Output {
	b.t.Helper()
	out, err := b.try(name, key, in)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// fields is a result as a program gets it.
func (b *bench) fields(o tools.Output) string {
	b.t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(raw)
}

// textOf is a result as a model gets it, all blocks together.
func textOf(o tools.Output) string {
	r := o.Render()
	return strings.Join(append(append([]string{r.Text}, r.More...), r.Notes...), "")
}

// files writes n small files in one batch, half of them in the repo app and half in
// scratch.
func (b *bench) files(n int) {
	b.t.Helper()
	var changes []args
	for i := range n {
		p := fmt.Sprintf("/repos/app/a/directory/that/is/deep/file-%04d.txt", i)
		if i%2 == 0 {
			p = fmt.Sprintf("/workspace/notes/%04d.txt", i)
		}
		changes = append(changes, args{"op": "writeFile", "path": p, "content": "x"})
	}
	b.call("deleteFile", "", args{"path": "/repos/app/a"}) // to make room for the directory
	b.call("batch", "", args{"changes": changes})
}

// manyMounts are mounts of one repo.
func manyMounts(n int) map[string]args {
	mounts := map[string]args{}
	for i := range n {
		mounts[fmt.Sprintf("/mounts/number-%04d", i)] = args{"repoPath": "/repos/app", "policy": "read-only"}
	}
	return mounts
}

// TestBounds: no result is larger than known hosts take, however much there is to
// tell, and one that leaves something out says so.
func TestBounds(t *testing.T) {
	b := newBench(t, "app")
	b.files(1000)
	absent := make([]string, 2000)
	for i := range absent {
		absent[i] = fmt.Sprintf("/workspace/not/there/at/all/%04d", i)
	}
	most := b.project.Host().Limits().ResultBytes
	for _, tt := range []struct {
		tool string
		in   args
		more string // the field that says so
	}{
		{"readFiles", args{"paths": absent}, "moreAbsent"},
		{"git.diff", args{}, "moreFiles"},
		{"git.status", args{}, "more"},
		{"git.status", args{"all": true}, "more"},
		{"git.commit", args{"message": "m"}, "more"},
		{"workspace.configure", args{"mounts": manyMounts(600)}, "moreMounts"},
		{"workspace.show", args{}, "moreMounts"},
		{"git.status", args{"all": true}, "moreMounts"},
	} {
		out, err := b.try(tt.tool, "", tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.tool, err)
			continue
		}
		fields, text := b.fields(out), textOf(out)
		if len(fields) > most || len(fields)+len(text) > 2*most {
			t.Errorf("%s: %d bytes of fields and %d of text, where %d is the most", tt.tool, len(fields), len(text), most)
		}
		if !strings.Contains(fields, `"`+tt.more+`":`) {
			t.Errorf("%s leaves something out and does not say %s", tt.tool, tt.more)
		}
	}
}

// TestListsEndWhereTheyAreCut: what a list leaves out is all at its end, and not
// the long paths between short ones.
func TestListsEndWhereTheyAreCut(t *testing.T) {
	b := newBench(t, "app")
	b.call("deleteFile", "", args{"path": "/repos/app/a"})
	deep := strings.Repeat(strings.Repeat("d", 200)+"/", 15)
	write := func(dir string) (paths []string) {
		var changes []args
		for i := range 40 {
			p := fmt.Sprintf("%s/%02d/", dir, i)
			if i%2 == 1 {
				p += deep
			}
			changes, paths = append(changes, args{"op": "writeFile", "path": p + "f", "content": "x"}), append(paths, p+"f")
		}
		b.call("batch", "", args{"changes": changes})
		return paths
	}
	inApp, inScratch := append([]string{"/repos/app/a"}, write("/repos/app/b")...), write("/workspace")

	status := b.call("git.status", "", args{}).(tools.GitStatusOut)
	changes := status.Mounts[0].Changes
	if n := len(changes); n == 0 || n+status.Mounts[0].More != len(inApp) || changes[n-1].Path != inApp[n-1] {
		t.Errorf("git.status lists %d and leaves out %d changes of %d, and ends with %.40s", n, status.Mounts[0].More, len(inApp), changes[max(n-1, 0)].Path)
	}
	if n := len(status.Unmounted); n != 0 || status.MoreUnmounted != len(inScratch) {
		t.Errorf("git.status lists %d and leaves out %d files of scratch, after changes that it left out", n, status.MoreUnmounted)
	}
	diffs := b.call("git.diff", "", args{}).(tools.GitDiffOut)
	if n := len(diffs.Files); n == 0 || n+diffs.MoreFiles != len(inApp) || diffs.Files[n-1].Path != inApp[n-1] {
		t.Errorf("git.diff lists %d and leaves out %d files of %d, which is no beginning", n, diffs.MoreFiles, len(inApp))
	}
	commit := b.call("git.commit", "", args{"message": "m"}).(tools.GitCommitOut)
	if n := len(commit.ChangedPaths); n == 0 || n+commit.More != len(inApp) || commit.ChangedPaths[n-1] != inApp[n-1] {
		t.Errorf("git.commit lists %d and leaves out %d paths of %d, which is no beginning", n, commit.More, len(inApp))
	}
}

// TestReadFilesRefusesTooMuch: texts that are larger together than a result may be
// are refused with what to do instead, because a part of them would pass for all.
func TestReadFilesRefusesTooMuch(t *testing.T) {
	b := newBench(t, "app")
	for _, name := range []string{"one", "two"} {
		b.call("writeFile", "", args{"path": name, "content": strings.Repeat("line\n", 6000)})
	}
	if _, err := b.try("readFiles", "", args{"paths": []string{"one", "two"}}); !errors.Is(err, workspace.Limit) || workspace.HintOf(err) == "" {
		t.Errorf("got %v, want a limit with a hint", err)
	}
	if out := b.call("readFiles", "", args{"paths": []string{"one", "one"}}); len(textOf(out)) < 30_000 {
		t.Errorf("one file, named twice: %d bytes of text", len(textOf(out)))
	}
}

// TestRepeats: a tool that is called again under its key gives the fields that it
// gave at first, though by now there may be nothing left to edit or to commit.
func TestRepeats(t *testing.T) {
	b := newBench(t, "app", "lib")
	for i, tt := range []struct {
		tool string
		in   args
	}{
		{"writeFile", args{"path": "/repos/app/new", "content": "2\n"}},
		{"edit", args{"path": "/repos/app/a", "oldString": "1", "newString": "2"}},
		{"mkdir", args{"path": "/repos/app/d"}},
		{"mv", args{"from": "/repos/app/new", "to": "/repos/app/d/new"}},
		{"git.commit", args{"message": "without a scope"}},
		{"deleteFile", args{"path": "/repos/app/a"}},
		{"deleteFile", args{"path": "/repos/lib/a"}},
		{"writeFile", args{"path": "/repos/lib/b", "content": "2\n"}},
		{"git.commit", args{"message": "with paths", "paths": []string{"/repos/app/a"}}},
		{"git.commit", args{"message": "with a scope", "scope": "/repos/lib"}},
		{"workspace.configure", args{"mounts": map[string]args{"/x": {"repoPath": "/repos/lib", "policy": "read-only"}}}},
		{"workspace.create", args{"path": "/agents/b"}},
		{"workspace.delete", args{"path": "/agents/b"}},
	} {
		key := fmt.Sprint("key ", i)
		first := fieldsOf(t, b.call(tt.tool, key, tt.in))
		again, err := b.try(tt.tool, key, tt.in)
		if err != nil {
			t.Errorf("%s, repeated: %v", tt.tool, err)
			continue
		}
		repeated := fieldsOf(t, again)
		if tt.tool == "edit" { // its diff is not kept
			first["diff"] = ""
		}
		if diff := cmp.Diff(first, repeated); diff != "" {
			t.Errorf("%s, repeated (-first +again):\n%s", tt.tool, diff)
		}
	}
	if _, err := b.try("writeFile", "key 0", args{"path": "another", "content": "x"}); !errors.Is(err, workspace.Conflict) {
		t.Errorf("another request under a key: %v, want a conflict", err)
	}
}

// fieldsOf is a result's fields, by name.
func fieldsOf(t testing.TB, o tools.Output) map[string]any {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// pages calls a tool until its list ends and returns what each page has under a
// field.
func (b *bench) pages(tool, field string, in args) (items []string) {
	b.t.Helper()
	for n := 1; ; n++ {
		fields := fieldsOf(b.t, b.call(tool, "", in))
		list, ok := fields[field].([]any)
		if !ok || len(list) == 0 || n > 100 {
			b.t.Fatalf("page %d of %s: %v", n, tool, fields)
		}
		for _, item := range list {
			items = append(items, fmt.Sprint(item))
		}
		next, more := fields["nextCursor"].(string)
		if !more {
			return items
		}
		in = maps.Clone(in)
		in["cursor"] = next
	}
}

// TestCursors: a list in pages is the list in one, and a cursor is refused by every
// other list, because it would leave things out there in silence.
func TestCursors(t *testing.T) {
	b := newBench(t, "app")
	b.files(20)
	for _, tt := range []struct {
		tool, field string
		in          args
		others      []args // of the same tool
	}{
		{"glob", "paths", args{"pattern": "/**/*.txt"},
			[]args{{"pattern": "/**/*"}, {"pattern": "/**/*.txt", "path": "/repos"}, {"pattern": "/**/*.txt", "at": "base"}}},
		{"grep", "matches", args{"pattern": "x"}, []args{{"pattern": "."}, {"pattern": "x", "ignoreCase": true}, {"pattern": "x", "mode": "files"}}},
		{"readDir", "entries", args{"path": "/workspace/notes"}, []args{{"path": "/workspace"}, {"path": "/workspace/notes", "depth": 2}}},
	} {
		with := func(in args, more args) args {
			in = maps.Clone(in)
			maps.Copy(in, more)
			return in
		}
		whole := b.pages(tt.tool, tt.field, tt.in)
		if diff := cmp.Diff(whole, b.pages(tt.tool, tt.field, with(tt.in, args{"limit": 3}))); diff != "" {
			t.Errorf("%s in pages (-whole +pages):\n%s", tt.tool, diff)
		}
		cursor := fieldsOf(t, b.call(tt.tool, "", with(tt.in, args{"limit": 3})))["nextCursor"]
		for _, other := range tt.others {
			if _, err := b.try(tt.tool, "", with(other, args{"cursor": cursor})); !errors.Is(err, workspace.Invalid) {
				t.Errorf("%s of %v with the cursor of %v: %v, want invalid", tt.tool, other, tt.in, err)
			}
		}
		for _, tool := range []string{"glob", "grep", "readDir"} {
			if tool == tt.tool {
				continue
			}
			in := args{"cursor": cursor, "path": "/workspace/notes", "pattern": "x"}
			if tool == "readDir" {
				delete(in, "pattern")
			}
			if _, err := b.try(tool, "", in); !errors.Is(err, workspace.Invalid) {
				t.Errorf("%s with a cursor of %s: %v, want invalid", tool, tt.tool, err)
			}
		}
		if out, err := b.try(tt.tool, "", with(tt.in, args{"cursor": cursor, "limit": 5})); err != nil {
			t.Errorf("%s with a larger page: %v", tt.tool, err)
		} else if n := len(fieldsOf(t, out)[tt.field].([]any)); n != 5 {
			t.Errorf("%s with a larger page: %d items", tt.tool, n)
		}
	}
}

// TestUnreadableMounts: a list over many mounts leaves out the one whose repository
// has gone away, and says so; one that is about that mount fails.
func TestUnreadableMounts(t *testing.T) {
	b := newBench(t, "app", "lost")
	if err := os.Rename(b.repo("lost"), b.repo("elsewhere")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool      string
		all, lost args
		want      string
	}{
		{"glob", args{"pattern": "/**"}, args{"pattern": "/repos/lost/**"}, "/repos/app/a"},
		{"listAllFiles", args{}, nil, "/repos/app/a"},
		{"grep", args{"pattern": "1", "mode": "files"}, args{"pattern": "1", "path": "/repos/lost"}, "/repos/app/a"},
		{"readDir", args{"path": "/", "depth": 3}, args{"path": "/repos/lost"}, "repos/app/a"},
	} {
		out := b.call(tt.tool, "", tt.all)
		if got := fieldsOf(t, out)["unreadable"]; !cmp.Equal(got, []any{"/repos/lost"}) {
			t.Errorf("%s leaves out %v", tt.tool, got)
		}
		text := textOf(out)
		if !strings.Contains(text, tt.want) || !strings.Contains(text, "cannot be read now: /repos/lost") {
			t.Errorf("%s says %q", tt.tool, text)
		}
		if tt.lost == nil {
			continue
		}
		if _, err := b.try(tt.tool, "", tt.lost); !errors.Is(err, workspace.Unavailable) {
			t.Errorf("%s of the mount itself: %v, want unavailable", tt.tool, err)
		}
	}
}

// TestWorkspaceListInPages: a list of more workspaces than a page holds has each of
// them once.
func TestWorkspaceListInPages(t *testing.T) {
	b := newBench(t)
	const n = 700
	for i := range n {
		b.call("workspace.create", "", args{"path": fmt.Sprintf("/agents/w%03d", i)})
	}
	var list []string
	for in := (args{"prefix": "/agents/w"}); ; {
		page, ok := b.call("workspace.list", "", in).(tools.WorkspaceListOut)
		if !ok || len(page.Workspaces) == 0 {
			t.Fatalf("a page without workspaces, after %d", len(list))
		}
		for _, w := range page.Workspaces {
			list = append(list, w.Path)
		}
		if page.NextCursor == "" {
			break
		}
		in["cursor"] = page.NextCursor
	}
	if len(list) != n || len(slices.Compact(slices.Clone(list))) != n || !slices.IsSorted(list) {
		t.Errorf("%d workspaces are listed, of %d", len(list), n)
	}
}

// TestStatusCosts: status asks only the repositories whose mounts have uncommitted
// work, so that it stays cheap in a project of many repos.
func TestStatusCosts(t *testing.T) {
	b := newBench(t, "app", "doc", "lib")
	status := func() []string {
		clear(b.trees.asked)
		b.call("git.status", "", args{})
		return slices.Sorted(maps.Keys(b.trees.asked))
	}
	if got := status(); len(got) != 0 {
		t.Errorf("with nothing changed it asks %v", got)
	}
	b.call("writeFile", "", args{"path": "/workspace/notes", "content": "x"})
	if got := status(); len(got) != 0 {
		t.Errorf("with private files alone it asks %v", got)
	}
	b.call("writeFile", "", args{"path": "/repos/doc/a", "content": "2\n"})
	if diff := cmp.Diff([]string{"doc"}, status()); diff != "" {
		t.Errorf("with a change in doc it asks (-want +got):\n%s", diff)
	}
}
