package mounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

func oid(t testing.TB, hex string) workspace.OID {
	t.Helper()
	id, err := workspace.ParseOID(hex)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func inPlace(dir string) workspace.Source { return workspace.Source{Location: dir} }

// fill makes a history with names and modes of every kind.
func fill(t testing.TB, git *gittest.Repo, commits int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 11))
	for c := range commits {
		for range 12 {
			dir := []string{"", "a/", "a-b/", "a.b/", "deep/er/", "deep/er/still/"}[rng.IntN(6)]
			name := fmt.Sprintf("%sf%d", dir, rng.IntN(20))
			git.Write(name, strings.Repeat(fmt.Sprintf("%d %d\n", c, rng.IntN(9)), 1+rng.IntN(200)))
		}
		if c == 0 {
			git.Write("odd ' \" name\t\xff", "odd")
			git.Write("empty", "")
			git.Write("binary", "\x00\xff\r\n\x00")
			git.Write("crlf", "a\r\nb\r\n")
			git.Write("run", "#!/bin/sh\n")
			git.Write(".gitattributes", "crlf text\n")
			os.Chmod(filepath.Join(git.Dir, "run"), 0o755)
			os.Symlink("../outside", filepath.Join(git.Dir, "link"))
			os.Symlink("/etc/passwd", filepath.Join(git.Dir, "deep", "absolute"))
		}
		git.Commit(fmt.Sprint("commit ", c))
	}
	git.Git("update-index", "--add", "--cacheinfo", "160000,"+git.Git("rev-parse", "HEAD")+",sub/module")
	git.Git("commit", "-qm", "submodule")
}

// same compares everything that a tree shows with what git shows.
func same(t testing.TB, r *Repos, s workspace.Source, git *gittest.Repo, rev string) {
	t.Helper()
	tree, err := r.Tree(ctx, s, oid(t, git.Git("rev-parse", rev)))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	var want []workspace.Node
	for line := range strings.SplitSeq(strings.TrimSuffix(git.Git("ls-tree", "-r", "-t", "-z", "--full-tree", rev), "\x00"), "\x00") {
		head, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		mode, _ := strconv.ParseUint(f[0], 8, 32)
		paths = append(paths, path)
		want = append(want, workspace.Node{Mode: workspace.Mode(mode), OID: oid(t, f[2])})
	}
	got, err := tree.(workspace.LookupsTree).Lookups(ctx, paths)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Lookups: (-git +got)\n%s", diff)
	}
	dirs := map[string][]string{}
	for i, path := range paths {
		if node, err := tree.Lookup(ctx, path); err != nil || node != want[i] {
			t.Errorf("Lookup %q: got %v, %v, want %v", path, node, err, want[i])
		}
		dir, name := split(path)
		dirs[dir] = append(dirs[dir], name)
		if k := want[i].Kind(); k != workspace.File && k != workspace.Symlink {
			continue
		}
		content := git.In("", "cat-file", "blob", want[i].OID.String())
		b, err := tree.Read(ctx, want[i].OID)
		if err != nil || strings.TrimSuffix(string(b), "\n") != content {
			t.Errorf("Read %q: got %d bytes, %v", path, len(b), err)
		}
		if size, err := tree.Size(ctx, want[i].OID); err != nil || size != int64(len(b)) {
			t.Errorf("Size %q: got %d, %v, want %d", path, size, err, len(b))
		}
	}
	for dir, names := range dirs {
		entries, err := tree.ReadDir(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("ReadDir %q: (-git +got)\n%s", dir, diff)
		}
	}
}

// TestReadsEveryLayout reads the same history from repositories that lie on disk
// in every way.
func TestReadsEveryLayout(t *testing.T) {
	git := gittest.Init(t)
	fill(t, git, 6)
	base := filepath.Dir(git.Dir)
	at := func(name string) *gittest.Repo { return git.At(filepath.Join(base, name)) }
	layouts := []struct {
		name string
		make func() *gittest.Repo
	}{
		{"loose", func() *gittest.Repo { return git }},
		{"deltas", func() *gittest.Repo {
			git.Git("clone", "-q", "--no-local", "--bare", git.Dir, at("deltas").Dir)
			at("deltas").Git("repack", "-adfq", "--depth=50", "--window=50")
			return at("deltas")
		}},
		{"deltas on ids", func() *gittest.Repo {
			git.Git("clone", "-q", "--no-local", git.Dir, at("ids").Dir)
			at("ids").Git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50")
			return at("ids")
		}},
		{"alternates", func() *gittest.Repo {
			git.Git("clone", "-q", "--shared", git.Dir, at("shared").Dir)
			at("shared").Git("pack-refs", "--all")
			return at("shared")
		}},
		{"linked worktree", func() *gittest.Repo {
			git.Git("worktree", "add", "-q", "-b", "linked", at("linked").Dir)
			return at("linked")
		}},
		{"shallow", func() *gittest.Repo {
			git.Git("clone", "-q", "--depth=1", "file://"+git.Dir, at("shallow").Dir)
			return at("shallow")
		}},
	}
	r := New(nil)
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			repo := l.make()
			f, err := Inspect(repo.Dir, "")
			if err != nil {
				t.Fatal(err)
			}
			head, err := r.Head(ctx, f.Source, f.Branch)
			if want := repo.Git("rev-parse", "HEAD"); err != nil || head.String() != want {
				t.Fatalf("Head: got %v, %v, want %s", head, err, want)
			}
			same(t, New(nil), f.Source, repo, "HEAD")
			same(t, r, f.Source, repo, "HEAD") // from the memory that all repositories share
		})
	}
}

func TestTreeErrors(t *testing.T) {
	git := gittest.Init(t)
	fill(t, git, 1)
	r, s := New(nil), inPlace(git.Dir)
	head := oid(t, git.Git("rev-parse", "HEAD"))
	tree, err := r.Tree(ctx, s, head)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]workspace.Kind{
		"nowhere": workspace.NotExist, "deep/nowhere": workspace.NotExist, "nowhere/a": workspace.NotExist, "empty/a": workspace.NotExist,
		"link/a": workspace.NotExist, "sub/module/a": workspace.NotExist, "/empty": workspace.NotExist, "empty/": workspace.NotExist, "deep//er": workspace.NotExist, "./empty": workspace.NotExist,
	} {
		if _, err := tree.Lookup(ctx, path); workspace.KindOf(err) != want {
			t.Errorf("Lookup %q: got %v, want %v", path, err, want)
		}
		if _, err := tree.ReadDir(ctx, path); workspace.KindOf(err) != want {
			t.Errorf("ReadDir %q: got %v, want %v", path, err, want)
		}
	}
	for _, path := range []string{"empty", "link", "sub/module"} {
		if _, err := tree.ReadDir(ctx, path); !errors.Is(err, workspace.NotDir) {
			t.Errorf("ReadDir %q: got %v, want not_dir", path, err)
		}
	}
	if _, err := tree.Read(ctx, workspace.OID{1}); !errors.Is(err, workspace.Corrupt) {
		t.Errorf("Read of an unknown blob: got %v", err)
	}
	if _, err := r.Tree(ctx, s, workspace.OID{1}); !errors.Is(err, workspace.NotExist) {
		t.Errorf("Tree of an unknown commit: got %v", err)
	}
	if _, err := r.Tree(ctx, inPlace(git.Dir+"-gone"), head); !errors.Is(err, workspace.Unavailable) {
		t.Errorf("Tree of a repository that is gone: got %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := tree.Lookup(canceled, "empty"); !errors.Is(err, workspace.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
	empty, err := r.Tree(ctx, s, workspace.OID{})
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := empty.ReadDir(ctx, ""); err != nil || len(entries) != 0 {
		t.Errorf("the empty tree: got %v, %v", entries, err)
	}
}

func TestHead(t *testing.T) {
	git := gittest.Init(t)
	base := filepath.Dir(git.Dir)
	r, s := New(nil), inPlace(git.Dir)
	head := func(s workspace.Source, branch, want string) {
		t.Helper()
		got, err := r.Head(ctx, s, branch)
		switch want {
		case "unborn":
			if err != nil || !got.IsZero() {
				t.Errorf("%s: got %v, %v, want the zero id", branch, got, err)
			}
		case "none":
			if !errors.Is(err, workspace.NotExist) {
				t.Errorf("%s: got %v, %v, want not_exist", branch, got, err)
			}
		default:
			if err != nil || got.String() != want {
				t.Errorf("%s: got %v, %v, want %s", branch, got, err, want)
			}
		}
	}
	head(s, "main", "unborn")
	head(s, "other", "none")
	git.Write("f", "f")
	one := git.Commit("one")
	head(s, "main", one)
	git.Git("branch", "feature/x")
	head(s, "feature/x", one)
	head(s, "feature", "none")
	git.Git("pack-refs", "--all")
	head(s, "main", one)
	head(s, "feature/x", one)
	linked := inPlace(filepath.Join(base, "linked"))
	git.Git("worktree", "add", "-q", "--detach", linked.Location)
	git.At(linked.Location).Git("checkout", "-q", "--orphan", "unborn-there")
	head(linked, "unborn-there", "unborn")
	head(linked, "main", one)
	head(s, "unborn-there", "none")
	if _, err := r.Head(ctx, s, "a..b"); !errors.Is(err, workspace.Invalid) {
		t.Errorf("a name that is none: got %v", err)
	}
	if err := os.RemoveAll(git.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Head(ctx, s, "main"); !errors.Is(err, workspace.Unavailable) {
		t.Errorf("a repository that went: got %v", err)
	}
}

// TestOutsideRepack is D3: a warm server, then others commit and repack.
func TestOutsideRepack(t *testing.T) {
	git := gittest.Init(t)
	fill(t, git, 3)
	r, s := New(&Config{CacheBytes: 1}), inPlace(git.Dir)
	same(t, r, s, git, "HEAD")
	for i, steps := range [][]string{{"repack", "-adq"}, {"gc", "-q", "--prune=now"}, {"repack", "-adfq"}, {"pack-refs", "--all"}} {
		git.Write("more", strconv.Itoa(i))
		git.Commit("more")
		git.Git(steps...)
		head, err := r.Head(ctx, s, "main")
		if want := git.Git("rev-parse", "main"); err != nil || head.String() != want {
			t.Fatalf("after %v: head %v, %v, want %s", steps, head, err, want)
		}
		same(t, r, s, git, "HEAD")
		if log, err := r.Log(ctx, s, head, "", 100); err != nil || strconv.Itoa(len(log)) != git.Git("rev-list", "--count", "HEAD") {
			t.Errorf("after %v: log of %d, %v", steps, len(log), err)
		}
	}
	other := git.At(filepath.Join(filepath.Dir(git.Dir), "other"))
	git.Git("clone", "-q", git.Dir, other.Dir)
	other.Write("fetched", "fetched")
	other.Commit("fetched")
	git.Git("fetch", "-q", other.Dir, "main:refs/heads/fetched")
	same(t, r, s, git, "fetched")
}

// TestDamage flips bits in the one pack of a repository, and reads: the right
// bytes or Corrupt.
func TestDamage(t *testing.T) {
	git := gittest.Init(t)
	fill(t, git, 3)
	git.Git("repack", "-adfq")
	names, err := filepath.Glob(filepath.Join(git.Dir, ".git/objects/pack/*.pack"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(names[0], 0o666)
	head := oid(t, git.Git("rev-parse", "HEAD"))
	want := map[string][]byte{}
	read := func(r *Repos, check func(path string, content []byte)) error {
		tree, err := r.Tree(ctx, inPlace(git.Dir), head)
		if err != nil {
			return err
		}
		return walkTree(tree, "", check)
	}
	if err := read(New(nil), func(path string, content []byte) { want[path] = content }); err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for at := 0; at < len(whole); at += max(len(whole)/150, 1) {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x10
		if err := os.WriteFile(names[0], bad, 0o666); err != nil {
			t.Fatal(err)
		}
		err := read(New(nil), func(path string, content []byte) {
			if !bytes.Equal(content, want[path]) {
				t.Errorf("byte %d: wrong content of %q", at, path)
			}
		})
		if err != nil {
			noticed++
			if kind := workspace.KindOf(err); kind != workspace.Corrupt && kind != workspace.Limit {
				t.Errorf("byte %d: got %v, want corrupt", at, err)
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
}

// walkTree reads every file below a directory.
func walkTree(tree workspace.Tree, dir string, check func(path string, content []byte)) error {
	entries, err := tree.ReadDir(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := e.Name
		if dir != "" {
			path = dir + "/" + e.Name
		}
		switch e.Kind() {
		case workspace.Dir:
			err = walkTree(tree, path, check)
		case workspace.Submodule:
		default:
			var b []byte
			if b, err = tree.Read(ctx, e.OID); err == nil {
				check(path, b)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
