package mounts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// TestReflogs compares which logs are written with those of git itself.
func TestReflogs(t *testing.T) {
	for _, kind := range []string{"bare", "checkout"} {
		for _, value := range []string{"", "true", "false", "always"} {
			t.Run(kind+" "+value, func(t *testing.T) {
				args := []string{"--bare"}
				if kind == "checkout" {
					args = nil
				}
				git := gittest.Init(t, args...)
				if value != "" {
					git.Git("config", "core.logAllRefUpdates", value)
				}
				tree := git.In("", "mktree")
				git.Git("update-ref", "-m", "by git", "refs/heads/carrel/by-git", git.Git("commit-tree", "-m", "x", tree))
				f, err := Inspect(git.Dir, "")
				if err != nil {
					t.Fatal(err)
				}
				r := New(nil)
				id := land(t, r, change(t, r, f.Source, "ours", map[string]string{"a": "a"}))
				_, byGit := git.Try("", "reflog", "exists", "refs/heads/carrel/by-git")
				_, ours := git.Try("", "reflog", "exists", "refs/heads/ours")
				if (byGit == nil) != (ours == nil) {
					t.Errorf("log of git's: %v, of ours: %v", byGit, ours)
				}
				if ours == nil {
					want := id.String() + " commit (carrel): a change"
					if got := git.Git("log", "-g", "--format=%H %gs", "ours"); got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				}
				git.Fsck()
			})
		}
	}
	t.Run("HEAD of a bare repository", func(t *testing.T) {
		r, s, git := bare(t, map[string]string{"a": "1"})
		git.Git("config", "core.logAllRefUpdates", "true")
		land(t, r, change(t, r, s, "main", map[string]string{"a": "2"}))
		if got := git.Git("log", "-g", "--format=%gs", "HEAD"); got != "commit (carrel): a change" {
			t.Errorf("got %q", got)
		}
	})
}

func TestBlobThatIsNowhere(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	c := change(t, r, s, "main", map[string]string{"a": "2"})
	lie := c
	var p workspace.Proposal
	for _, open := range []func(ctxType, workspace.OID) ([]byte, error){
		nil, func(ctxType, workspace.OID) ([]byte, error) { return nil, workspace.NotExist },
	} {
		var err error
		c.Open = open
		if p, err = r.Propose(ctx, c); err != nil {
			t.Fatal(err)
		}
		if err := p.Land(ctx); !errors.Is(err, workspace.Corrupt) {
			t.Errorf("nowhere: got %v, want corrupt", err)
		}
	}
	var err error
	lie.Open = func(ctxType, workspace.OID) ([]byte, error) { return []byte("other"), nil }
	if p, err = r.Propose(ctx, lie); err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); !errors.Is(err, workspace.Corrupt) {
		t.Errorf("other content: got %v, want corrupt", err)
	}
	left, err := filepath.Glob(filepath.Join(git.Dir, "objects/pack/tmp_*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	git.Fsck()
}

// TestPrunedBlobIsWrittenAgain names a blob that only a pack has which others
// have removed, and which this process still has open.
func TestPrunedBlobIsWrittenAgain(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1", "b": "secret"})
	git.Git("repack", "-adq")
	tree, err := r.Tree(ctx, s, oid(t, git.Git("rev-parse", "main")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := tree.Lookup(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Read(ctx, b.OID); err != nil {
		t.Fatal(err)
	}
	empty := git.Git("commit-tree", "-m", "rewritten", git.In("", "mktree"))
	git.Git("update-ref", "refs/heads/main", empty)
	git.Git("repack", "-adq")
	git.Git("prune", "--expire=now")
	if _, err := git.Try("", "cat-file", "-e", b.OID.String()); err == nil {
		t.Fatal("the blob is still there")
	}
	land(t, r, change(t, r, s, "main", map[string]string{"c": "secret"}))
	git.Fsck()
	if got := git.Git("cat-file", "blob", "main:c"); got != "secret" {
		t.Errorf("got %q", got)
	}
}

// TestPermissionsAsGit compares with files that git makes in the same repository.
func TestPermissionsAsGit(t *testing.T) {
	for _, value := range []string{"umask", "group", "0640"} {
		r, s, git := bare(t, nil)
		git.Git("config", "core.sharedRepository", value)
		land(t, r, change(t, r, s, "ours/x", map[string]string{"a/b/c": "1"}))
		git.Git("update-ref", "refs/heads/theirs/x", git.Git("commit-tree", "-m", "x", "ours/x^{tree}"))
		packs := filepath.Join(git.Dir, "objects/pack")
		byUs, _ := filepath.Glob(packs + "/pack-*")
		git.Git("repack", "-aq")
		mode := func(name string) os.FileMode {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			return info.Mode()
		}
		theirs, _ := filepath.Glob(packs + "/pack-*.idx")
		for _, name := range byUs {
			for _, other := range theirs {
				if got, want := mode(name), mode(other); got != want {
					t.Errorf("%s: %s: got %v, want %v", value, filepath.Base(name), got, want)
				}
			}
		}
		if len(byUs) != 2 || len(theirs) != 2 {
			t.Errorf("packs: %v and %v", byUs, theirs)
		}
		for _, name := range []string{"", "/x"} {
			heads := filepath.Join(git.Dir, "refs/heads")
			if got, want := mode(heads+"/ours"+name), mode(heads+"/theirs"+name); got != want {
				t.Errorf("%s: ref %q: got %v, want %v", value, name, got, want)
			}
		}
	}
}

func TestSymbolicBranch(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	git.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	head, err := r.Head(ctx, s, "alias")
	if want := git.Git("rev-parse", "main"); err != nil || head.String() != want {
		t.Errorf("Head: got %v, %v, want %s", head, err, want)
	}
	p, err := r.Propose(ctx, change(t, r, s, "alias", map[string]string{"a": "2"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); !errors.Is(err, workspace.Invalid) || !strings.Contains(err.Error(), "refs/heads/main") {
		t.Errorf("Land: got %v, want invalid naming the branch", err)
	}
	if got := git.Git("symbolic-ref", "refs/heads/alias"); got != "refs/heads/main" {
		t.Errorf("alias is %s", got)
	}
}

func TestClashingBranchNames(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	for i, packed := range []bool{false, true} {
		if packed {
			git.Git("pack-refs", "--all")
		}
		c := change(t, r, s, "main/below", map[string]string{"a": fmt.Sprint(i)})
		p, err := r.Propose(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Land(ctx); !errors.Is(err, workspace.Conflict) || !strings.Contains(err.Error(), "refs/heads/main") {
			t.Errorf("packed %v: got %v, want a conflict naming the other", packed, err)
		}
	}
	git.Fsck()
}

// TestDoubt loses the repository after the branch has moved: the error must not
// be one that says it has not.
func TestDoubt(t *testing.T) {
	_, s, git := bare(t, map[string]string{"a": "1"})
	r := New(&Config{Fault: func(point string) error {
		if point == BranchMoved {
			return errors.New("stop")
		}
		return nil
	}})
	p, err := r.Propose(ctx, change(t, r, s, "main", map[string]string{"a": "2"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); err == nil {
		t.Fatal("Land went on")
	}
	if err := os.Rename(git.Dir, git.Dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); workspace.KindOf(err) != workspace.Internal || errors.Is(err, workspace.Unavailable) {
		t.Errorf("got %v, want internal", err)
	}
	if err := os.Rename(git.Dir+"-away", git.Dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Land(ctx); err != nil {
		t.Errorf("once it is back: %v", err)
	}
}

// TestLandHasItsOwnContext ends the context of Propose before Land reads contents.
func TestLandHasItsOwnContext(t *testing.T) {
	r, s, _ := bare(t, map[string]string{"a": "1"})
	proposing, cancel := context.WithCancel(ctx)
	c := change(t, r, s, "main", map[string]string{"a": "2"})
	open := c.Open
	c.Open = func(ctx ctxType, id workspace.OID) ([]byte, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return open(ctx, id)
	}
	p, err := r.Propose(proposing, c)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := p.Land(proposing); !errors.Is(err, workspace.Canceled) {
		t.Errorf("with a context that ended: got %v", err)
	}
	if err := p.Land(ctx); err != nil {
		t.Error(err)
	}
}
