package mounts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// TestAgainstGit commits and reads while git updates the same branch, packs refs,
// repacks and receives pushes: no update may be lost and no read may fail.
func TestAgainstGit(t *testing.T) {
	others := map[string]func(t *testing.T, git *gittest.Repo, landed *atomic.Int64, end time.Time){
		"update-ref": updateRef,
		"pack-refs":  repeatedly("pack-refs", "--all"),
		"repack":     repeatedly("repack", "-adq"),
		"push":       push,
	}
	for name, other := range others {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s, git := bare(t, map[string]string{"a": "1"})
			var landed atomic.Int64
			end := time.Now().Add(time.Second)
			var wg sync.WaitGroup
			for w := range 2 {
				wg.Go(func() { commitOften(t, r, s, w, &landed, end) })
			}
			wg.Go(func() { readOften(t, New(&Config{CacheBytes: 1}), s, end) })
			for range 2 {
				wg.Go(func() { other(t, git, &landed, end) })
			}
			wg.Wait()
			want := strconv.FormatInt(landed.Load()+1, 10)
			if got := git.Git("rev-list", "--count", "main"); got != want {
				t.Errorf("%s commits are in the history, %s were reported", got, want)
			}
			if landed.Load() == 0 {
				t.Error("nothing landed")
			}
			git.Fsck()
		})
	}
}

func commitOften(t *testing.T, r *Repos, s workspace.Source, w int, landed *atomic.Int64, end time.Time) {
	for i := 0; time.Now().Before(end) || i == 0; i++ {
		p, err := r.Propose(ctx, change(t, r, s, "main", map[string]string{fmt.Sprint("w", w): fmt.Sprint(i), "dir/x": fmt.Sprint(w, i)}))
		if err == nil {
			err = p.Land(ctx)
		}
		switch {
		case err == nil:
			landed.Add(1)
		case !errors.Is(err, workspace.Conflict) && !errors.Is(err, workspace.Unavailable):
			t.Errorf("commit: %v", err)
			return
		}
	}
}

func readOften(t *testing.T, r *Repos, s workspace.Source, end time.Time) {
	for time.Now().Before(end) {
		head, err := r.Head(ctx, s, "main")
		if err != nil || head.IsZero() {
			t.Errorf("Head: %v, %v", head, err)
			return
		}
		tree, err := r.Tree(ctx, s, head)
		if err == nil {
			err = walkTree(tree, "", func(string, []byte) {})
		}
		if err != nil {
			t.Errorf("read of %v: %v", head, err)
			return
		}
	}
}

func repeatedly(args ...string) func(*testing.T, *gittest.Repo, *atomic.Int64, time.Time) {
	return func(_ *testing.T, git *gittest.Repo, _ *atomic.Int64, end time.Time) {
		for time.Now().Before(end) {
			git.Try("", args...) // two of them may be in each other's way
		}
	}
}

func updateRef(t *testing.T, git *gittest.Repo, landed *atomic.Int64, end time.Time) {
	for i := 0; time.Now().Before(end); i++ {
		head, err := git.Try("", "rev-parse", "--verify", "refs/heads/main")
		if err != nil {
			t.Errorf("git reads the ref: %v: %s", err, head)
			return
		}
		head = strings.TrimSpace(head)
		id, err := git.Try("", "commit-tree", "-p", head, "-m", fmt.Sprint("git ", i, time.Now().UnixNano()), head+"^{tree}")
		if err != nil {
			t.Errorf("git commits: %v: %s", err, id)
			return
		}
		if _, err := git.Try("", "update-ref", "refs/heads/main", strings.TrimSpace(id), head); err == nil {
			landed.Add(1)
		}
	}
}

func push(t *testing.T, git *gittest.Repo, landed *atomic.Int64, end time.Time) {
	clone := git.At(t.TempDir())
	// A local clone copies files that come and go, and gives up if one has gone.
	if out, err := clone.Try("", "clone", "-q", "--bare", "--no-local", git.Dir, "."); err != nil {
		t.Errorf("git clone: %v: %s", err, out)
		return
	}
	for i := 0; time.Now().Before(end); i++ {
		if out, err := clone.Try("", "fetch", "-q", git.Dir, "+main:main"); err != nil {
			t.Errorf("git fetch: %v: %s", err, out)
			return
		}
		id, err := clone.Try("", "commit-tree", "-p", "main", "-m", fmt.Sprint("push ", i, time.Now().UnixNano()), "main^{tree}")
		if err != nil {
			t.Errorf("git commits: %v: %s", err, id)
			return
		}
		if _, err := clone.Try("", "push", "-q", git.Dir, strings.TrimSpace(id)+":refs/heads/main"); err == nil {
			landed.Add(1)
		}
	}
}
