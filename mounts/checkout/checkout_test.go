package checkout

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/mounts/object"
	"carrel.dev/mounts/refs"
	"carrel.dev/workspace"
)

// count is what this package says, and status the lines that git says.
func count(t testing.TB, git *gittest.Repo) int {
	t.Helper()
	d, err := gitdir.Open(git.Dir)
	if err != nil {
		t.Fatal(err)
	}
	head, err := Head(d, refs.Open(d.Common))
	if err != nil {
		t.Fatal(err)
	}
	n, err := Count(context.Background(), d, object.Open(filepath.Join(d.Common, "objects"), object.NewPool(0, 0)), head)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func status(git *gittest.Repo) []string {
	out := git.Git("status", "--porcelain", "-uall", "--no-renames")
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

func TestCountsAsGitStatus(t *testing.T) {
	tests := []struct {
		name string
		do   func(git *gittest.Repo)
		want int
	}{
		{"clean", func(*gittest.Repo) {}, 0},
		{"touched", func(git *gittest.Repo) {
			later := time.Now().Add(time.Hour)
			os.Chtimes(filepath.Join(git.Dir, "a"), later, later)
		}, 0},
		{"modified", func(git *gittest.Repo) { git.Write("a", "other") }, 1},
		{"modified, same size and time", func(git *gittest.Repo) {
			info, _ := os.Stat(filepath.Join(git.Dir, "a"))
			git.Write("a", "A\n")
			os.Chtimes(filepath.Join(git.Dir, "a"), info.ModTime(), info.ModTime())
		}, 1},
		{"deleted", func(git *gittest.Repo) { os.Remove(filepath.Join(git.Dir, "a")) }, 1},
		{"deleted directory", func(git *gittest.Repo) { os.RemoveAll(filepath.Join(git.Dir, "d")) }, 3},
		{"staged deletion", func(git *gittest.Repo) { git.Git("rm", "-q", "a") }, 1},
		{"untracked after staged deletion", func(git *gittest.Repo) { git.Git("rm", "-q", "--cached", "a") }, 2},
		{"staged", func(git *gittest.Repo) { git.Write("new", "n"); git.Git("add", "new") }, 1},
		{"staged and modified", func(git *gittest.Repo) {
			git.Write("a", "b")
			git.Git("add", "a")
			git.Write("a", "c")
		}, 1},
		{"intent to add", func(git *gittest.Repo) { git.Write("new", "n"); git.Git("add", "-N", "new") }, 1},
		{"executable", func(git *gittest.Repo) { os.Chmod(filepath.Join(git.Dir, "a"), 0o755) }, 1},
		{"executable does not matter", func(git *gittest.Repo) {
			git.Git("config", "core.fileMode", "false")
			os.Chmod(filepath.Join(git.Dir, "a"), 0o755)
		}, 0},
		{"symlink elsewhere", func(git *gittest.Repo) {
			os.Remove(filepath.Join(git.Dir, "link"))
			os.Symlink("d", filepath.Join(git.Dir, "link"))
		}, 1},
		{"symlink became a file", func(git *gittest.Repo) {
			os.Remove(filepath.Join(git.Dir, "link"))
			git.Write("link", "a")
		}, 1},
		{"file became a directory", func(git *gittest.Repo) {
			os.Remove(filepath.Join(git.Dir, "a"))
			git.Write("a/x", "1")
			git.Write("a/y", "2")
		}, 3},
		{"untracked", func(git *gittest.Repo) {
			git.Write("u", "")
			git.Write("v/w/x", "")
			git.Write("v/w/y", "")
			os.Symlink("nowhere", filepath.Join(git.Dir, "v", "dangling"))
			os.MkdirAll(filepath.Join(git.Dir, "empty", "empty"), 0o777)
		}, 4},
		{"ignored", func(git *gittest.Repo) {
			git.Write("x.log", "")
			git.Write("out/y", "")
			git.Write("d/z.log", "")
			git.Write(".git/info/exclude", "excluded\n")
			git.Write("excluded", "")
		}, 0},
		{"ignored and re-included", func(git *gittest.Repo) {
			git.Write("d/.gitignore", "!*.log\n")
			git.Write("d/z.log", "")
			git.Write("z.log", "")
		}, 2},
		{"tracked although ignored", func(git *gittest.Repo) {
			git.Write("t.log", "")
			git.Write("out/t", "")
			git.Git("add", "-f", "t.log", "out/t")
			git.Commit("ignored")
			git.Write("t.log", "1")
			git.Write("out/t", "1")
			git.Write("out/u", "1")
		}, 2},
		{"repository inside", func(git *gittest.Repo) {
			git.Git("init", "-q", "inside")
			git.Write("inside/x", "")
			git.Write("inside/y", "")
		}, 1},
		{"merge conflict", func(git *gittest.Repo) {
			git.Git("checkout", "-q", "-b", "other")
			git.Write("a", "other\n")
			git.Commit("other")
			git.Git("checkout", "-q", "main")
			git.Write("a", "main\n")
			git.Commit("main")
			git.Try("", "merge", "-q", "other")
		}, 1},
		{"index version 4", func(git *gittest.Repo) {
			git.Git("update-index", "--index-version", "4")
			git.Write("d/e/f", "x")
			git.Write("u", "x")
		}, 2},
		{"sparse checkout", func(git *gittest.Repo) {
			git.Git("sparse-checkout", "set", "--no-cone", "/a", "/.gitignore")
			git.Write("u", "x")
		}, 1},
		{"assumed unchanged", func(git *gittest.Repo) {
			git.Git("update-index", "--assume-unchanged", "a")
			git.Write("a", "other")
		}, 0},
		{"detached", func(git *gittest.Repo) {
			git.Git("checkout", "-q", "--detach")
			git.Write("a", "other")
		}, 1},
		{"orphan branch", func(git *gittest.Repo) { git.Git("checkout", "-q", "--orphan", "new") }, 6},
		{"submodule", func(git *gittest.Repo) {
			sub := gittest.Init(git.T)
			sub.Write("s", "1")
			sub.Commit("s")
			git.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.Dir, "sub")
			git.Commit("sub")
			git.At(filepath.Join(git.Dir, "sub")).Commit("moved on")
		}, 1},
		{"submodule that is not checked out", func(git *gittest.Repo) {
			git.Git("update-index", "--add", "--cacheinfo", "160000,"+git.Git("rev-parse", "HEAD")+",sub")
			git.Git("commit", "-qm", "sub")
			os.Mkdir(filepath.Join(git.Dir, "sub"), 0o777)
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			git := gittest.Init(t)
			git.Write("a", "a\n")
			git.Write("d/e/f", "f\n")
			git.Write("d/g", "g\n")
			git.Write("d/h", "h\n")
			git.Write(".gitignore", "*.log\nout/\n")
			os.Symlink("a", filepath.Join(git.Dir, "link"))
			git.Commit("first")
			tt.do(git)
			lines := status(git)
			if len(lines) != tt.want {
				t.Errorf("git status says %q, the test expects %d lines", lines, tt.want)
			}
			if got := count(t, git); got != tt.want {
				t.Errorf("got %d, want %d: %q", got, tt.want, lines)
			}
		})
	}
}

func TestUnusualIndexes(t *testing.T) {
	git := gittest.Init(t)
	git.Write("a", "a")
	git.Commit("a")
	git.Git("update-index", "--split-index")
	d, err := gitdir.Open(git.Dir)
	if err != nil {
		t.Fatal(err)
	}
	objects := object.Open(filepath.Join(d.Common, "objects"), object.NewPool(0, 0))
	if _, err := Count(context.Background(), d, objects, workspace.OID{}); !errors.Is(err, workspace.Invalid) {
		t.Errorf("split index: got %v, want invalid", err)
	}
	git.Git("update-index", "--no-split-index")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Count(ctx, d, objects, workspace.OID{}); !errors.Is(err, workspace.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
	name := indexPath(d.Git)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if err := os.WriteFile(name, b[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readIndex(name); err == nil {
			t.Errorf("an index of %d bytes out of %d is read", n, len(b))
		}
	}
}
