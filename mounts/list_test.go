package mounts

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

// listed runs a listing to its end.
func listed(t *testing.T, tree workspace.Tree, l workspace.Listing) map[string]workspace.Node {
	t.Helper()
	nodes := map[string]workspace.Node{}
	last := ""
	err := tree.List(ctx, l, func(p string, n workspace.Node) bool {
		if p <= last {
			t.Errorf("%+v: %q comes after %q", l, p, last)
		}
		last, nodes[p] = p, n
		return true
	})
	if err != nil {
		t.Errorf("%+v: %v", l, err)
	}
	return nodes
}

// wide makes a commit of names that sort in many ways, of a directory with more
// files than one piece has, and of many small ones. It returns what git lists.
func wide(t *testing.T, git *gittest.Repo) (head workspace.OID, files map[string]workspace.Node) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	var in strings.Builder
	in.WriteString("commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nm\n")
	add := func(mode, name string) {
		fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", mode, name, len(name), name)
	}
	for _, name := range []string{"a", "a-b", "a.c", "a0", "b/a", "b/a-b", "b/a/c", "b-a", "b.x/y", "b0/z", "é/ü", "Z"} {
		if name != "b/a" { // a directory
			add("100644", name)
		}
	}
	add("100755", "run")
	add("120000", "b/link")
	for i := range 1500 {
		add("100644", fmt.Sprintf("many/%d.js", i))
	}
	names := []string{"a", "b", "a-b", "a.b", "a0", "x"}
	for range 2500 {
		parts := make([]string, 1+rnd.IntN(5))
		for i := range parts {
			parts[i] = names[rnd.IntN(len(names))]
		}
		add("100644", fmt.Sprintf("deep/%s/%d.go", strings.Join(parts, "/"), rnd.IntN(50)))
	}
	fmt.Fprintf(&in, "M 160000 %s sub\n", strings.Repeat("1", 40))
	git.In(in.String(), "fast-import", "--quiet")
	files = map[string]workspace.Node{}
	for line := range strings.SplitSeq(strings.TrimSuffix(git.Git("ls-tree", "-r", "-z", "main"), "\x00"), "\x00") {
		info, name, _ := strings.Cut(line, "\t")
		var mode workspace.Mode
		var typ, id string
		if _, err := fmt.Sscanf(info, "%o %s %s", &mode, &typ, &id); err != nil {
			t.Fatal(err)
		}
		files[name] = workspace.Node{Mode: mode, OID: oid(t, id)}
	}
	return oid(t, git.Git("rev-parse", "main")), files
}

func TestList(t *testing.T) {
	git := gittest.Init(t)
	head, files := wide(t, git)
	all := slices.Sorted(func(yield func(string) bool) {
		for p := range files {
			if !yield(p) {
				return
			}
		}
	})
	listings := []workspace.Listing{{}, {Under: "/repos/x/"}, {Dir: "nothing"}, {Dir: "a"}, {Dir: "run"}, {Dir: "b"}, {Dir: "many"}, {Dir: "deep/a/b"}}
	listings = append(listings,
		workspace.Listing{Name: func(name string) bool { return strings.HasSuffix(name, "7.go") || name == "a" }},
		workspace.Listing{Dir: "deep", Under: "/u/", Name: func(name string) bool { return name == "1.go" }},
		workspace.Listing{Under: "/u/", Enter: func(dir string) bool { return dir != "/u/many" }})
	for _, after := range []string{"", "a", "a-b", "b/", "b/a", "b0", "deep/a/b/1.go", "deep/a0", "many/1499.js", "many", "many/zz", "zzz", all[2000], all[2000] + "x", all[len(all)-1]} {
		listings = append(listings, workspace.Listing{After: after}, workspace.Listing{Under: "/u/", After: "/u/" + after}, workspace.Listing{Dir: "deep", After: after})
	}
	for name, cache := range map[string]int64{"kept": 0, "nothing is kept": 1} {
		t.Run(name, func(t *testing.T) {
			r := New(&Config{CacheBytes: cache})
			tree, err := r.Tree(ctx, inPlace(git.Dir), head)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range listings {
				want := map[string]workspace.Node{}
				for p, n := range files {
					full := l.Under + p
					left := l.Enter != nil && strings.HasPrefix(full, "/u/many/")
					if (l.Dir == "" || strings.HasPrefix(p, l.Dir+"/")) && full > l.After && (l.Name == nil || l.Name(path.Base(p))) && !left {
						want[full] = n
					}
				}
				for range 2 { // made, then kept
					if got := listed(t, tree, l); !maps.Equal(got, want) {
						t.Errorf("%+v (-want +got)\n%s", l, cmp.Diff(want, got))
					}
				}
			}
		})
	}
}

// TestListStops ends a listing early, at any place.
func TestListStops(t *testing.T) {
	git := gittest.Init(t)
	head, files := wide(t, git)
	tree, err := New(nil).Tree(ctx, inPlace(git.Dir), head)
	if err != nil {
		t.Fatal(err)
	}
	for stop := 1; stop < len(files); stop += 97 {
		n := 0
		err := tree.List(ctx, workspace.Listing{}, func(string, workspace.Node) bool { n++; return n < stop })
		if n != stop || err != nil {
			t.Errorf("stopped after %d files, %v, want %d", n, err, stop)
		}
	}
}

// TestListAfterCommit lists what a commit changed, beside what it did not.
func TestListAfterCommit(t *testing.T) {
	git := gittest.Init(t)
	head, files := wide(t, git)
	r := New(nil)
	for i := range 3 {
		tree, err := r.Tree(ctx, inPlace(git.Dir), head)
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(t, tree, workspace.Listing{}); !maps.Equal(got, files) {
			t.Errorf("after %d commits (-want +got)\n%s", i, cmp.Diff(files, got))
		}
		name := fmt.Sprintf("deep/a/new%d", i)
		git.In(fmt.Sprintf("commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nm\nfrom refs/heads/main^0\n"+
			"M 100644 inline %s\ndata 1\nx\nD many/%d.js\n", name, i), "fast-import", "--quiet")
		head = oid(t, git.Git("rev-parse", "main"))
		files[name] = workspace.Node{Mode: workspace.ModeFile, OID: oid(t, git.Git("rev-parse", "main:"+name))}
		delete(files, fmt.Sprintf("many/%d.js", i))
	}
}

// TestListLosesOnlyWhatComesAfter: a directory that the repository has lost fails
// a list where it would stand, and not before.
func TestListLosesOnlyWhatComesAfter(t *testing.T) {
	git := gittest.Init(t)
	git.In("commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nm\n"+
		"M 100644 inline a/x\ndata 1\n1\nM 100644 inline b/c/y\ndata 1\n2\nM 100644 inline d/z\ndata 1\n3\n", "-c", "fastimport.unpackLimit=1000", "fast-import", "--quiet")
	id := git.Git("rev-parse", "main:b/c")
	if err := os.Remove(filepath.Join(git.Dir, ".git/objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	tree, err := New(nil).Tree(ctx, inPlace(git.Dir), oid(t, git.Git("rev-parse", "main")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = tree.List(ctx, workspace.Listing{}, func(p string, _ workspace.Node) bool { got = append(got, p); return true })
	if workspace.KindOf(err) != workspace.Corrupt || !slices.Equal(got, []string{"a/x"}) {
		t.Errorf("got %v, %v, want a/x and corrupt", got, err)
	}
}

// TestListOfNothing: a tree of a thousand million directories, which ten objects
// make, is not walked to its end by one who has given up.
func TestListOfNothing(t *testing.T) {
	git := gittest.Init(t)
	id := strings.TrimSpace(git.In("", "mktree"))
	for range 10 {
		var in strings.Builder
		for i := range 10 {
			fmt.Fprintf(&in, "040000 tree %s\td%d\n", id, i)
		}
		id = strings.TrimSpace(git.In(in.String(), "mktree"))
	}
	commit := strings.TrimSpace(git.Git("commit-tree", "-m", "m", id))
	tree, err := New(nil).Tree(ctx, inPlace(git.Dir), oid(t, commit))
	if err != nil {
		t.Fatal(err)
	}
	until, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err = tree.List(until, workspace.Listing{}, func(string, workspace.Node) bool { return true })
	if workspace.KindOf(err) != workspace.Canceled {
		t.Errorf("got %v, want canceled", err)
	}
}
