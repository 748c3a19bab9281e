package gitdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

// layout is a Dir relative to a directory, for comparison.
type layout struct {
	Git, Common, Work string
	Bare              bool
}

func layoutOf(d *Dir, base string) layout {
	rel := func(path string) string {
		if path == "" {
			return ""
		}
		r, _ := filepath.Rel(base, path)
		return r
	}
	return layout{rel(d.Git), rel(d.Common), rel(d.Work), d.Bare}
}

func TestOpen(t *testing.T) {
	git := gittest.Init(t)
	git.Write("f", "f")
	git.Commit("f")
	base := filepath.Dir(git.Dir)
	top := git.At(base)
	top.Git("clone", "-q", "--bare", "repo", "bare.git")
	git.Git("worktree", "add", "-q", "-b", "linked", filepath.Join(base, "linked"))
	git.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(base, "bare.git"), "sub")
	top.Git("clone", "-q", "--separate-git-dir="+filepath.Join(base, "apart"), "repo", "far")
	top.Git("clone", "-q", "--bare", "repo", "hub/.bare")
	top.Write("hub/.git", "gitdir: ./.bare\n")
	top.At(filepath.Join(base, "hub")).Git("worktree", "add", "-q", "-b", "two", "two")

	tests := []struct {
		path string
		want layout
	}{
		{"repo", layout{"repo/.git", "repo/.git", "repo", false}},
		{"repo/.git", layout{"repo/.git", "repo/.git", "repo", false}},
		{"bare.git", layout{"bare.git", "bare.git", "", true}},
		{"linked", layout{"repo/.git/worktrees/linked", "repo/.git", "linked", false}},
		{"repo/sub", layout{"repo/.git/modules/sub", "repo/.git/modules/sub", "repo/sub", false}},
		{"far", layout{"apart", "apart", "far", false}},
		{"hub", layout{"hub/.bare", "hub/.bare", "", true}},
		{"hub/two", layout{"hub/.bare/worktrees/two", "hub/.bare", "hub/two", true}},
	}
	for _, tt := range tests {
		d, err := Open(filepath.Join(base, tt.path))
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		if diff := cmp.Diff(tt.want, layoutOf(d, base)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.path, diff)
		}
	}
	inside, err := Discover(filepath.Join(base, "linked", "not", "there"))
	if err != nil || inside.Work != filepath.Join(base, "linked") {
		t.Errorf("Discover: got %+v, %v", inside, err)
	}
}

func TestWorktreesAndCheckedOut(t *testing.T) {
	git := gittest.Init(t)
	git.Write("f", "1")
	git.Commit("one")
	git.Write("f", "2")
	git.Commit("two")
	base := filepath.Dir(git.Dir)
	linked := git.At(filepath.Join(base, "linked"))
	git.Git("branch", "free")
	git.Git("worktree", "add", "-q", "-b", "topic", linked.Dir)
	d, err := Open(linked.Dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(ref, want string) {
		t.Helper()
		at, used, err := d.CheckedOut(ref)
		if err != nil || used != (want != "") || used && at.Path != want {
			t.Errorf("%s: got %+v, %v, %v, want %q", ref, at, used, err, want)
		}
	}
	check("refs/heads/main", git.Dir)
	check("refs/heads/topic", linked.Dir)
	check("refs/heads/free", "")

	git.Write("f", "3")
	git.Commit("three")
	linked.Write("f", "x")
	linked.Commit("conflicting")
	if _, err := linked.Try("", "rebase", "main"); err == nil {
		t.Fatal("the rebase did not stop")
	}
	check("refs/heads/topic", linked.Dir)
	linked.Git("rebase", "--abort")
	linked.Git("bisect", "start", "HEAD", "HEAD~2")
	check("refs/heads/topic", linked.Dir)
	os.RemoveAll(linked.Dir)
	check("refs/heads/topic", linked.Dir)

	bare := git.At(filepath.Join(base, "bare"))
	git.Git("clone", "-q", "--bare", git.Dir, bare.Dir)
	if d, err = Open(bare.Dir); err != nil {
		t.Fatal(err)
	}
	check("refs/heads/main", "")
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name   string
		config string
		word   string // in the message; "" if it is understood
	}{
		{"sha256", "[core]\nrepositoryformatversion=1\n[extensions]\nobjectFormat=sha256\n", "sha256"},
		{"sha1 said", "[core]\nrepositoryformatversion=1\n[extensions]\nobjectFormat=sha1\n", ""},
		{"reftable", "[core]\nrepositoryformatversion=1\n[extensions]\nrefStorage=reftable\n", "reftable"},
		{"partial clone", "[extensions]\npartialClone=origin\n", "partial clone"},
		{"promisor", "[remote \"origin\"]\npromisor=true\n", "partial clone"},
		{"no promisor", "[remote \"origin\"]\npromisor=false\n", ""},
		{"unknown extension", "[core]\nrepositoryformatversion=1\n[extensions]\nnewThing=1\n", "newthing"},
		{"version", "[core]\nrepositoryformatversion=2\n", "version"},
		{"per worktree", "[extensions]\nworktreeConfig=true\n", ""},
		{"malformed", "[core\n", "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			git := gittest.Init(t)
			git.Write(".git/config", tt.config)
			_, err := Open(git.Dir)
			if tt.word == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if !errors.Is(err, workspace.Invalid) || !strings.Contains(err.Error(), tt.word) || workspace.HintOf(err) == "" {
				t.Errorf("got %v (hint %q), want invalid with %q and a hint", err, workspace.HintOf(err), tt.word)
			}
		})
	}
	t.Run("sha256 by git", func(t *testing.T) {
		git := gittest.Init(t, "--object-format=sha256")
		if _, err := Open(git.Dir); !errors.Is(err, workspace.Invalid) || !strings.Contains(err.Error(), "sha256") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNoRepository(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "file"), nil, 0o666)
	os.Mkdir(filepath.Join(dir, "fake"), 0o777)
	os.Mkdir(filepath.Join(dir, "fake", ".git"), 0o777)
	os.Mkdir(filepath.Join(dir, "lost"), 0o777)
	os.WriteFile(filepath.Join(dir, "lost", ".git"), []byte("gitdir: ../nowhere\n"), 0o666)
	for path, want := range map[string]workspace.Kind{
		".": workspace.Invalid, "file": workspace.Invalid, "nowhere": workspace.NotExist, "fake": workspace.Invalid, "lost": workspace.Invalid,
	} {
		_, err := Open(filepath.Join(dir, path))
		if workspace.KindOf(err) != want || workspace.HintOf(err) == "" || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v, want %v, a hint and no path", path, err, want)
		}
	}
	if _, err := Discover(dir); !errors.Is(err, workspace.Invalid) {
		t.Errorf("Discover: got %v", err)
	}
}

func TestWorktreeConfig(t *testing.T) {
	git := gittest.Init(t)
	git.Write("f", "f")
	git.Commit("f")
	git.Git("config", "extensions.worktreeConfig", "true")
	git.Git("config", "--unset", "core.bare")
	git.Git("config", "--worktree", "core.bare", "true")
	d, err := Open(git.Dir)
	if err != nil || !d.Bare {
		t.Errorf("got %+v, %v, want a bare one", d, err)
	}
}

func TestShareAsGit(t *testing.T) {
	for _, value := range []string{"", "umask", "false", "group", "true", "1", "all", "2", "0640", "0660", "0664", "0600"} {
		git := gittest.Init(t)
		if value != "" {
			git.Git("config", "core.sharedRepository", value)
		}
		blob := git.In("content "+value, "hash-object", "-w", "--stdin")
		made := filepath.Join(git.Dir, ".git", "objects", blob[:2])
		want := modes(t, made, filepath.Join(made, blob[2:]))

		d, err := Open(git.Dir)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(git.Dir, "dir")
		file := filepath.Join(dir, "file")
		if err := errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(file, nil, 0o444), d.Share(dir), d.Share(file)); err != nil {
			t.Fatal(err)
		}
		if got := modes(t, dir, file); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

func modes(t *testing.T, dir, file string) (m [2]fs.FileMode) {
	t.Helper()
	for i, name := range []string{dir, file} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		m[i] = info.Mode()
	}
	return m
}

func TestHeadAsSymlink(t *testing.T) {
	git := gittest.Init(t)
	git.Write("f", "f")
	git.Commit("f")
	head := filepath.Join(git.Dir, ".git", "HEAD")
	os.Remove(head)
	if err := os.Symlink("refs/heads/main", head); err != nil {
		t.Fatal(err)
	}
	if got := git.Git("symbolic-ref", "HEAD"); got != "refs/heads/main" {
		t.Fatalf("git says %q", got)
	}
	d, err := Open(git.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Head(d.Git); err != nil || got != "refs/heads/main" {
		t.Errorf("got %q, %v", got, err)
	}
}
