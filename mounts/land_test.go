package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// bare is a bare repository with one commit on main, and a view of it.
func bare(t testing.TB, files map[string]string) (*Repos, workspace.Source, *gittest.Repo) {
	t.Helper()
	git := gittest.Init(t, "--bare")
	r, s := New(nil), inPlace(git.Dir)
	t.Cleanup(func() { r.Close() })
	if files != nil {
		land(t, r, change(t, r, s, "main", files))
	}
	return r, s, git
}

// blob adds a content to a change, and returns its node.
func blob(t testing.TB, c *workspace.Change, mode workspace.Mode, text string) workspace.Node {
	t.Helper()
	before := c.Open
	id, err := workspace.BlobID([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.Open = func(ctx ctxType, blob workspace.OID) ([]byte, error) {
		if blob == id {
			return []byte(text), nil
		}
		return before(ctx, blob)
	}
	return workspace.Node{Mode: mode, OID: id}
}

// TestTreesAsGit makes random edits and has git build the same tree from an
// index.
func TestTreesAsGit(t *testing.T) {
	const rounds = 40
	rng := rand.New(rand.NewPCG(21, 21))
	r, s, git := bare(t, nil)
	model := map[string]workspace.Node{}
	names := []string{"a", "b", "a-b", "a.b", "a0", "c"}
	path := func() string {
		parts := make([]string, 1+rng.IntN(3))
		for i := range parts {
			parts[i] = names[rng.IntN(len(names))]
		}
		return strings.Join(parts, "/")
	}
	below := func(p string) func(string, workspace.Node) bool {
		return func(q string, _ workspace.Node) bool { return q == p || strings.HasPrefix(q, p+"/") }
	}
	for round := range rounds {
		c := change(t, r, s, "main", nil)
		sets, removes := map[string]workspace.Node{}, map[string]bool{}
		for range 1 + rng.IntN(6) {
			p := path()
			if rng.IntN(3) == 0 {
				removes[p] = true
				continue
			}
			clash := false
			for q := range sets {
				clash = clash || q == p || strings.HasPrefix(q, p+"/") || strings.HasPrefix(p, q+"/")
			}
			if !clash {
				mode := []workspace.Mode{workspace.ModeFile, workspace.ModeFile, workspace.ModeExecutable, workspace.ModeSymlink, workspace.ModeSubmodule}[rng.IntN(5)]
				sets[p] = blob(t, &c, mode, fmt.Sprint("content ", rng.IntN(5)))
			}
		}
		for p := range removes {
			c.Edits = append(c.Edits, workspace.TreeEdit{Path: p})
			maps.DeleteFunc(model, below(p))
		}
		for p, n := range sets {
			c.Edits = append(c.Edits, workspace.TreeEdit{Path: p, Node: n})
			maps.DeleteFunc(model, below(p))
			for dir, _ := split(p); dir != ""; dir, _ = split(dir) {
				delete(model, dir)
			}
			model[p] = n
		}
		slices.SortStableFunc(c.Edits, func(a, b workspace.TreeEdit) int { return strings.Compare(a.Path, b.Path) })

		p, err := r.Propose(ctx, c)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		var index strings.Builder
		for path, n := range model {
			fmt.Fprintf(&index, "%o %s\t%s\n", n.Mode, n.OID, path)
		}
		git.Git("read-tree", "--empty")
		git.In(index.String(), "update-index", "--index-info")
		if want := git.Git("write-tree", "--missing-ok"); p.Tree().String() != want {
			t.Fatalf("round %d: got %v, want %s after %v", round, p.Tree(), want, c.Edits)
		}
		if err := p.Land(ctx); err != nil {
			t.Fatal(err)
		}
		raw := git.Git("cat-file", "commit", p.Commit().String())
		if got := git.In(raw+"\n", "hash-object", "-t", "commit", "--stdin"); got != p.Commit().String() {
			t.Errorf("round %d: commit %v, git hashes it to %s", round, p.Commit(), got)
		}
	}
	os.Remove(filepath.Join(git.Dir, "index"))
	git.Fsck()
}

func TestContentIsNotAltered(t *testing.T) {
	contents := map[string]string{
		"crlf": "a\r\nb\r\n", "mixed": "a\r\nb\nc\r", "bom": "\ufeffa", "nul": "a\x00b", "latin": "gr\xfcn", "empty": "", "newline": "\n", "$Id$": "$Id$\n",
		".gitattributes": "* text=auto eol=crlf ident filter=lfs\n", "large": strings.Repeat("0123456789abcdef", 1<<16), "exe": "x",
	}
	_, _, git := bare(t, contents)
	for path, want := range contents {
		out, err := git.Try("", "cat-file", "blob", "main:"+path)
		if err != nil || out != want {
			t.Errorf("%s: got %d bytes, %v, want %d", path, len(out), err, len(want))
		}
	}
	git.Fsck()
}

func TestUntouchedEntriesAreKept(t *testing.T) {
	git := gittest.Init(t, "--bare")
	blobID := git.In("x", "hash-object", "-w", "--stdin")
	id := oid(t, blobID)
	odd := func(entries ...string) string {
		var b bytes.Buffer
		for _, e := range entries {
			b.WriteString(e + "\x00")
			b.Write(id[:])
		}
		return git.In(b.String(), "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
	}
	tree := odd("100664 group", "100755 run", "120000 way")
	git.Git("update-ref", "refs/heads/main", git.Git("commit-tree", "-m", "old", tree))
	r, s := New(nil), inPlace(git.Dir)
	c := change(t, r, s, "main", map[string]string{"new": "n"})
	// What is set to what it is stays as it is, too.
	c.Edits = append(c.Edits, workspace.TreeEdit{Path: "group", Node: workspace.Node{Mode: workspace.ModeFile, OID: id}})
	land(t, r, c)
	raw, err := git.Try("", "cat-file", "tree", "main^{tree}")
	if err != nil || !strings.HasPrefix(raw, "100664 group\x00") {
		t.Errorf("got %q, %v", raw, err)
	}

	c = change(t, r, s, "main", nil)
	parent, err := r.Tree(ctx, s, c.Parent)
	if err != nil {
		t.Fatal(err)
	}
	top, _ := parent.Lookup(ctx, "")
	c.Edits = []workspace.TreeEdit{{Path: "nowhere"}, {Path: "run/below"}, {Path: "way", Node: workspace.Node{Mode: workspace.ModeSymlink, OID: id}}}
	p, err := r.Propose(ctx, c)
	if err != nil || p.Tree() != top.OID {
		t.Errorf("a change of nothing: tree %v, %v, want %v", p.Tree(), err, top.OID)
	}
}

func TestRefusedChanges(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "a"})
	file := func(path, text string) func(*workspace.Change) {
		return func(c *workspace.Change) {
			c.Edits = []workspace.TreeEdit{{Path: path, Node: blob(t, c, workspace.ModeFile, text)}}
		}
	}
	node := func(path string, mode workspace.Mode) func(*workspace.Change) {
		return func(c *workspace.Change) {
			c.Edits = []workspace.TreeEdit{{Path: path, Node: blob(t, c, mode, "x")}}
		}
	}
	tests := map[string]func(*workspace.Change){
		"empty path":          file("", "x"),
		"absolute":            file("/a", "x"),
		"trailing slash":      file("a/", "x"),
		"empty part":          file("a//b", "x"),
		"dot":                 file("./a", "x"),
		"dot dot":             file("a/../b", "x"),
		"dot git":             file(".git/config", "x"),
		"dot git in any case": file("sub/.GIT/hooks/x", "x"),
		"short name":          file("git~1/x", "x"),
		"NUL":                 file("a\x00b", "x"),
		"removal of dot dot":  func(c *workspace.Change) { c.Edits = []workspace.TreeEdit{{Path: "../a"}} },
		"directory":           node("d", workspace.ModeDir),
		"old mode":            node("d", 0o100664),
		"no mode":             node("d", 0),
		"zero id": func(c *workspace.Change) {
			c.Edits = []workspace.TreeEdit{{Path: "a", Node: workspace.Node{Mode: workspace.ModeFile}}}
		},
		"twice": func(c *workspace.Change) { file("a", "x")(c); c.Edits = append(c.Edits, c.Edits[0]) },
		"file and below": func(c *workspace.Change) {
			file("a", "x")(c)
			c.Edits = append(c.Edits, workspace.TreeEdit{Path: "a/b", Node: c.Edits[0].Node})
		},
		"symlinked modules":     node(".gitmodules", workspace.ModeSymlink),
		"symlinked attributes":  node("d/.gitattributes", workspace.ModeSymlink),
		"symlinked ignore":      node(".gitIgnore", workspace.ModeSymlink),
		"symlinked mailmap":     node(".mailmap", workspace.ModeSymlink),
		"modules as submodule":  node(".gitmodules", workspace.ModeSubmodule),
		"modules as directory":  file(".gitmodules/x", "x"),
		"bad modules":           file(".gitmodules", "[submodule \"..\"]\n\tpath = x\n"),
		"bad modules elsewhere": file("d/GITMOD~1", "[submodule \"a\"]\n\turl = -x\n"),
		"malformed modules":     file(".gitmodules", "[submodule"),
		"long attributes":       file(".gitattributes", strings.Repeat("x", 3000)),
		"NUL in the message":    func(c *workspace.Change) { c.Message = "a\x00b" },
		"message not UTF-8":     func(c *workspace.Change) { c.Message = "\xff" },
		"no author":             func(c *workspace.Change) { c.Author = workspace.Signature{} },
		"author without email":  func(c *workspace.Change) { c.Author.Email = "" },
		"author with newline":   func(c *workspace.Change) { c.Author.Name = "a\nb" },
		"author with bracket":   func(c *workspace.Change) { c.Author.Email = "a>b" },
		"no committer":          func(c *workspace.Change) { c.Committer = workspace.Signature{} },
		"before 1970":           func(c *workspace.Change) { c.When = time.Unix(-1, 0) },
		"bad branch":            func(c *workspace.Change) { c.Branch = "a..b" },
		"bad keep":              func(c *workspace.Change) { c.Keep = "refs/x.lock" },
		"keep is a branch":      func(c *workspace.Change) { c.Keep = "refs/heads/x" },
	}
	for name, spoil := range tests {
		c := change(t, r, s, "main", map[string]string{"a": "b"})
		spoil(&c)
		if _, err := r.Propose(ctx, c); !errors.Is(err, workspace.Invalid) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	for _, path := range []string{"foo..bar", " lead", "...", "a\\b", "gitmodules", ".gitmodulesx"} {
		c := change(t, r, s, "main", map[string]string{path: "x"})
		if _, err := r.Propose(ctx, c); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	git.Fsck()
}

func TestDefaultCommitter(t *testing.T) {
	git := gittest.Init(t, "--bare")
	r := New(&Config{Committer: workspace.Signature{Name: "Server", Email: "server@example.com"}})
	c := change(t, r, inPlace(git.Dir), "main", map[string]string{"a": "a"})
	c.Committer, c.Message = workspace.Signature{}, "no newline"
	land(t, r, c)
	want := "Ann <ann@example.com> 1700000000 Server <server@example.com> 1700000000 no newline"
	if got := git.Git("log", "-1", "--format=%an <%ae> %at %cn <%ce> %ct %B"); strings.TrimSpace(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPackedCompareAndSwap is D1: a refused swap on a packed ref leaves nothing
// behind.
func TestPackedCompareAndSwap(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	first, _ := r.Head(ctx, s, "main")
	stale := change(t, r, s, "main", map[string]string{"a": "stale"})
	land(t, r, change(t, r, s, "main", map[string]string{"a": "2"}))
	git.Git("pack-refs", "--all")
	before := git.Git("for-each-ref")
	p, err := r.Propose(ctx, stale)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); !errors.Is(err, workspace.Conflict) || !strings.Contains(err.Error(), first.Short()) {
		t.Errorf("got %v, want a conflict naming %s", err, first.Short())
	}
	if after := git.Git("for-each-ref"); after != before {
		t.Errorf("refs: got %q, want %q", after, before)
	}
	git.Fsck()
	for _, expect := range []workspace.OID{{}, {1}} {
		stale.Expect = expect
		if p, err = r.Propose(ctx, stale); err != nil {
			t.Fatal(err)
		}
		if err := p.Land(ctx); !errors.Is(err, workspace.Conflict) {
			t.Errorf("expecting %v: got %v, want a conflict", expect, err)
		}
	}
	gone := change(t, r, s, "main", map[string]string{"a": "3"})
	gone.Branch = "never"
	if p, err = r.Propose(ctx, gone); err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); !errors.Is(err, workspace.Conflict) {
		t.Errorf("a branch that is gone: got %v, want a conflict", err)
	}
	if left, _ := filepath.Glob(filepath.Join(git.Dir, "refs/heads/*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestForeignLock is D2: somebody holds the branch's lock.
func TestForeignLock(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	r.config.LockWait = 30 * time.Millisecond
	before, _ := r.Head(ctx, s, "main")
	lock := filepath.Join(git.Dir, "refs/heads/main.lock")
	if err := os.WriteFile(lock, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := r.Propose(ctx, change(t, r, s, "main", map[string]string{"a": "2"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); !errors.Is(err, workspace.Unavailable) || workspace.HintOf(err) == "" {
		t.Errorf("got %v, want unavailable with a hint", err)
	}
	if head, err := r.Head(ctx, s, "main"); err != nil || head != before {
		t.Errorf("head: got %v, %v, want %v", head, err, before)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("the foreign lock: %v", err)
	}
	os.Remove(lock)
	if err := p.Land(ctx); err != nil {
		t.Errorf("once it is free: %v", err)
	}
}

func TestCheckedOutBranchIsRefused(t *testing.T) {
	git := gittest.Init(t)
	git.Write("a", "a")
	git.Commit("a")
	git.Git("branch", "free")
	linked := git.At(filepath.Join(filepath.Dir(git.Dir), "linked"))
	git.Git("worktree", "add", "-q", "-b", "topic", linked.Dir)
	r := New(nil)
	for _, s := range []workspace.Source{inPlace(git.Dir), inPlace(linked.Dir)} {
		for branch, dir := range map[string]string{"main": git.Dir, "topic": linked.Dir} {
			p, err := r.Propose(ctx, change(t, r, s, branch, map[string]string{"a": "b"}))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Land(ctx); !errors.Is(err, workspace.Permission) || !strings.Contains(workspace.HintOf(err), dir) {
				t.Errorf("%s: got %v (hint %q), want permission naming %s", branch, err, workspace.HintOf(err), dir)
			}
		}
		land(t, r, change(t, r, s, "free", map[string]string{"a": s.Location}))
		c := change(t, r, s, "carrel/"+filepath.Base(s.Location), map[string]string{"b": "b"})
		c.Parent, _ = r.Head(ctx, s, "main")
		land(t, r, c)
	}
	if got := git.Git("status", "--porcelain"); got != "" {
		t.Errorf("the checkout is touched: %s", got)
	}
	git.Fsck()
}

func TestLandingTwice(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	p, err := r.Propose(ctx, change(t, r, s, "main", map[string]string{"a": "2"}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Land(ctx); err != nil {
			t.Fatal(err)
		}
	}
	top := land(t, r, change(t, r, s, "main", map[string]string{"a": "3"}))
	if err := p.Land(ctx); err != nil {
		t.Errorf("below another commit: %v", err)
	}
	git.Git("pack-refs", "--all")
	if err := p.Land(ctx); err != nil {
		t.Errorf("packed: %v", err)
	}
	if head, _ := r.Head(ctx, s, "main"); head != top {
		t.Errorf("head: got %v, want %v", head, top)
	}
}

func TestKeep(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	const keep = "refs/carrel/1234/agents/demo"
	for i := range 3 {
		c := change(t, r, s, "main", map[string]string{"a": fmt.Sprint("keep ", i)})
		c.Keep = keep
		if i == 2 {
			git.Git("update-ref", keep, git.Git("rev-parse", "main~1"))
			git.Git("pack-refs", "--all")
		}
		id := land(t, r, c)
		if got := git.Git("rev-parse", keep); got != id.String() {
			t.Errorf("%d: got %s, want %s", i, got, id)
		}
	}
	before := git.Git("rev-parse", keep)
	stale := change(t, r, s, "main", map[string]string{"a": "stale"})
	stale.Expect, stale.Keep = workspace.OID{1}, keep
	p, err := r.Propose(ctx, stale)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); !errors.Is(err, workspace.Conflict) {
		t.Errorf("got %v", err)
	}
	if got := git.Git("rev-parse", keep); got != before {
		t.Errorf("a refused commit moved it to %s", got)
	}
	git.Fsck()
}
