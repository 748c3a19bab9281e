package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// TestDyingAtEveryPoint stops a commit at each fault point, as if the process had
// died, and lets another process settle it and go on.
func TestDyingAtEveryPoint(t *testing.T) {
	const keep = "refs/carrel/1234/agents/demo"
	for _, size := range []string{"loose", "packed"} {
		for _, point := range FaultPoints {
			t.Run(size+" "+point, func(t *testing.T) {
				good, s, git := bare(t, map[string]string{"a": "1"})
				stop := errors.New("the process dies")
				reached := false
				dying := New(&Config{Fault: func(at string) error {
					if at == point {
						reached = true
						return stop
					}
					return nil
				}})
				c := change(t, dying, s, "main", map[string]string{"a": "2"})
				if size == "packed" {
					setFiles(t, &c, map[string]string{"a": "2", "b/c/d": "3"})
					c.Edits = c.Edits[1:]
				}
				if size == "loose" { // a tree that is there already, so that there is one object
					c.Edits = nil
				}
				c.Keep = keep
				p, err := dying.Propose(ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Land(ctx); !errors.Is(err, stop) || !reached {
					t.Fatalf("Land: got %v", err)
				}
				// What git sees meanwhile is whole.
				git.Fsck()

				landed, err := good.Settle(ctx, s, "main", p.Commit())
				if want := point == BranchMoved; err != nil || landed != want {
					t.Errorf("Settle: got %v, %v, want %v", landed, err, want)
				}
				if left := append(files(t, git, ".lock"), files(t, git, ".keep")...); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				// Whoever repeats it reaches the same end.
				again, err := good.Propose(ctx, c)
				if err != nil || again.Commit() != p.Commit() {
					t.Fatalf("Propose again: %v, %v", again.Commit(), err)
				}
				if err := again.Land(ctx); err != nil {
					t.Fatalf("Land again: %v", err)
				}
				if landed, err := good.Settle(ctx, s, "main", p.Commit()); err != nil || !landed {
					t.Errorf("Settle in the end: got %v, %v", landed, err)
				}
				if got := git.Git("rev-parse", "main"); got != p.Commit().String() {
					t.Errorf("main is %s", got)
				}
				git.Fsck()
				git.Git("gc", "-q", "--prune=now")
				git.Fsck()
				if left, _ := filepath.Glob(filepath.Join(git.Dir, "objects", "*", "tmp_*")); len(left) > 0 {
					t.Errorf("git gc leaves %v", left)
				}
			})
		}
	}
}

// files lists the files of a repository with a suffix.
func files(t testing.TB, git *gittest.Repo, suffix string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(git.Dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSettle(t *testing.T) {
	r, s, git := bare(t, map[string]string{"a": "1"})
	settle := func(branch string, commit workspace.OID, want bool) {
		t.Helper()
		if got, err := r.Settle(ctx, s, branch, commit); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", branch, got, err, want)
		}
	}
	first, _ := r.Head(ctx, s, "main")
	never, err := r.Propose(ctx, change(t, r, s, "main", map[string]string{"never": "x"}))
	if err != nil {
		t.Fatal(err)
	}
	settle("main", first, true)
	settle("main", never.Commit(), false)
	settle("nowhere", first, false)
	second := land(t, r, change(t, r, s, "main", map[string]string{"a": "2"}))
	settle("main", first, true)
	settle("main", second, true)
	git.Git("pack-refs", "--all")
	settle("main", second, true)
	git.Git("branch", "old", first.String())
	settle("old", second, false)
	// A forged trailer proves nothing: only the history does.
	foreign := filepath.Join(git.Dir, "refs/heads/main.lock")
	if err := os.WriteFile(foreign, []byte(second.String()+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	settle("main", first, true)
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a lock for another commit: %v", err)
	}
}

// TestReachableWhateverTheDates asks git merge-base about every pair of commits
// of a history whose dates are wrong.
func TestReachableWhateverTheDates(t *testing.T) {
	git := gittest.Init(t, "--bare")
	tree := git.In("", "mktree")
	dates := []string{"1700000000", "1600000000", "1800000000", "1", "1700000000", "1700000000", "2000000000", "5"}
	var ids []string
	for i, date := range dates {
		args := []string{"commit-tree", tree, "-m", date}
		for _, back := range []int{1, 3} {
			if i >= back && (back == 1 && i != 4 || i%2 == 0 && back == 3) {
				args = append(args, "-p", ids[i-back])
			}
		}
		out, err := git.TryEnv([]string{"GIT_COMMITTER_DATE=@" + date + " +0000"}, "", args...)
		if err != nil {
			t.Fatal(out)
		}
		ids = append(ids, strings.TrimSpace(out))
	}
	repo, err := New(nil).repo(inPlace(git.Dir))
	if err != nil {
		t.Fatal(err)
	}
	yes := 0
	for _, a := range ids {
		for _, b := range ids {
			_, gitErr := git.Try("", "merge-base", "--is-ancestor", a, b)
			got, err := repo.reachable(ctx, oid(t, a), oid(t, b))
			if err != nil || got != (gitErr == nil) {
				t.Errorf("%s in %s: got %v, %v, git says %v", a, b, got, err, gitErr)
			}
			if got {
				yes++
			}
		}
	}
	if yes <= len(ids) || yes == len(ids)*len(ids) {
		t.Errorf("%d of %d pairs are related: that proves little", yes, len(ids)*len(ids))
	}
}

// TestCommitsOfOneProcessQueue lands many commits at once, each on top of what
// it finds.
func TestCommitsOfOneProcessQueue(t *testing.T) {
	const writers, each = 8, 4
	r, s, git := bare(t, map[string]string{"a": "1"})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				for {
					c := change(t, r, s, "main", map[string]string{strings.Repeat("w", w+1): strings.Repeat("x", i+1)})
					p, err := r.Propose(ctx, c)
					if err != nil {
						t.Error(err)
						return
					}
					err = p.Land(ctx)
					if err == nil {
						break
					}
					if !errors.Is(err, workspace.Conflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if got, want := git.Git("rev-list", "--count", "main"), "33"; got != want {
		t.Errorf("got %s commits, want %s", got, want)
	}
	git.Fsck()
}

func TestLanesAreFirstInFirstOut(t *testing.T) {
	var l lanes
	leave, err := l.enter(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := l.enter(ctx, "b"); err != nil {
		t.Fatal(err)
	} else {
		other()
	}
	const waiting = 5
	order := make(chan int, waiting)
	var wg sync.WaitGroup
	for i := range waiting {
		wg.Go(func() {
			leave, err := l.enter(ctx, "a")
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			leave()
		})
		for { // until it waits
			l.mu.Lock()
			users := l.open["a"].users
			l.mu.Unlock()
			if users == i+2 {
				break
			}
		}
	}
	leave()
	wg.Wait()
	seen := map[int]bool{}
	for range waiting {
		seen[<-order] = true
	}
	if len(seen) != waiting || len(l.open) != 0 {
		t.Errorf("%d passed, %d lanes are left open", len(seen), len(l.open))
	}
}
