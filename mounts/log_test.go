package mounts

import (
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

// tangle is a history with merges of every kind. date says when the i-th commit
// was made.
func tangle(t testing.TB, git *gittest.Repo, commits int, date func(rng *rand.Rand, i int) int) (ids []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(31, 31))
	type state map[string]string // file to blob
	states := map[string]state{}
	blobs := make([]string, 4)
	for i := range blobs {
		blobs[i] = git.In(fmt.Sprint("content ", i), "hash-object", "-w", "--stdin")
	}
	files := []string{"a", "b", "d/a", "d/b", "d/e/a"}
	for i := range commits {
		var parents []string
		if i > 0 {
			parents = append(parents, ids[max(0, i-1-rng.IntN(2))])
			for range []int{0, 0, 1, 1, 1, 2}[rng.IntN(6)] {
				if p := ids[max(0, i-1-rng.IntN(10))]; !slices.Contains(parents, p) {
					parents = append(parents, p)
				}
			}
		}
		now := state{}
		for _, f := range files {
			if len(parents) > 0 {
				if from, ok := states[parents[rng.IntN(len(parents))]][f]; ok {
					now[f] = from
				}
			}
			switch rng.IntN(12) {
			case 0:
				now[f] = blobs[rng.IntN(len(blobs))]
			case 1:
				delete(now, f)
			}
		}
		var index strings.Builder
		for f, b := range now {
			fmt.Fprintf(&index, "100644 %s\t%s\n", b, f)
		}
		git.Git("read-tree", "--empty")
		git.In(index.String(), "update-index", "--index-info")
		args := []string{"commit-tree", git.Git("write-tree"), "-m", fmt.Sprint("commit ", i)}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		out, err := git.TryEnv([]string{fmt.Sprintf("GIT_COMMITTER_DATE=@%d +0000", date(rng, i))}, "", args...)
		if err != nil {
			t.Fatal(out)
		}
		ids = append(ids, strings.TrimSpace(out))
		states[ids[i]] = now
	}
	git.Git("update-ref", "refs/heads/main", ids[len(ids)-1])
	return ids
}

func logged(t testing.TB, r *Repos, s workspace.Source, from, path string, limit int) (ids []string) {
	t.Helper()
	entries, err := r.Log(ctx, s, oid(t, from), path, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		ids = append(ids, e.Commit.String())
	}
	return ids
}

func lines(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

func TestLogAsGit(t *testing.T) {
	const commits = 50
	tests := []struct {
		name  string
		date  func(rng *rand.Rand, i int) int
		order bool // the dates decide it
	}{
		{"one after the other", func(_ *rand.Rand, i int) int { return 1_700_000_000 + i }, true},
		{"all in one second", func(*rand.Rand, int) int { return 1_700_000_000 }, false},
		{"wrong clocks", func(rng *rand.Rand, i int) int { return 1_700_000_000 + i*10 + rng.IntN(200) - 100 }, false},
		{"backwards", func(_ *rand.Rand, i int) int { return 1_700_000_000 - i }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			git := gittest.Init(t, "--bare")
			ids := tangle(t, git, commits, tt.date)
			r, s := New(nil), inPlace(git.Dir)
			head := ids[len(ids)-1]
			shown := 0
			for _, path := range []string{"", "a", "b", "d", "d/a", "d/e", "d/e/a", "nowhere"} {
				args := []string{"rev-list", "--date-order", head}
				if path != "" {
					args = append(args, "--", path)
				}
				want, got := lines(git.Git(args...)), logged(t, r, s, head, path, 1000)
				shown += len(got)
				topological(t, git, got)
				if !tt.order {
					slices.Sort(want)
					slices.Sort(got)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("path %q: (-git +got)\n%s", path, diff)
				}
				for _, limit := range []int{1, 3, 10} {
					part := logged(t, r, s, head, path, limit)
					topological(t, git, part)
					if len(part) != min(limit, len(got)) {
						t.Errorf("path %q, limit %d: got %d", path, limit, len(part))
					}
					if tt.order && !slices.Equal(part, got[:len(part)]) {
						t.Errorf("path %q, limit %d: got %v", path, limit, part)
					}
				}
			}
			if shown <= commits {
				t.Errorf("%d commits are shown: that proves little", shown)
			}
		})
	}
}

// topological checks that no commit stands behind one of its ancestors.
func topological(t *testing.T, git *gittest.Repo, ids []string) {
	t.Helper()
	if len(ids) < 2 {
		return
	}
	place := map[string]int{}
	for i, id := range ids {
		place[id] = i
	}
	for _, line := range lines(git.Git("rev-list", "--parents", "--all")) {
		f := strings.Fields(line)
		at, ok := place[f[0]]
		for _, parent := range f[1:] {
			if above, both := place[parent]; ok && both && above < at {
				t.Errorf("%s stands above its child %s", parent, f[0])
			}
		}
	}
}

func TestLogEntries(t *testing.T) {
	git := gittest.Init(t)
	git.Write("f", "f")
	git.Git("add", "f")
	git.Git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-qm", "gr\xfcn\n\nbody")
	if out, err := git.TryEnv([]string{"GIT_AUTHOR_DATE=1600000000 +0200"}, "", "commit", "-q", "--allow-empty", "-m", "later"); err != nil {
		t.Fatal(out)
	}
	r, s := New(nil), inPlace(git.Dir)
	head, err := r.Head(ctx, s, "main")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := r.Log(ctx, s, head, "", 10)
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	for i, want := range []string{"later\n", "grün\n\nbody\n"} {
		e := entries[i]
		if e.Message != want || e.Author != (workspace.Signature{Name: "A U Thor", Email: "author@example.com"}) || e.When.Unix() != 1_700_000_000 {
			t.Errorf("got %+v, want %q", e, want)
		}
	}
	for _, limit := range []int{0, -1} {
		if entries, err := r.Log(ctx, s, head, "", limit); err != nil || len(entries) != 0 {
			t.Errorf("limit %d: got %v, %v", limit, entries, err)
		}
	}
	if entries, err := r.Log(ctx, s, workspace.OID{}, "", 5); err != nil || len(entries) != 0 {
		t.Errorf("unborn: got %v, %v", entries, err)
	}
	if _, err := r.Log(ctx, s, workspace.OID{1}, "", 5); !errors.Is(err, workspace.NotExist) {
		t.Errorf("unknown commit: got %v", err)
	}
}

func TestLogOfAShallowClone(t *testing.T) {
	git := gittest.Init(t)
	for i := range 5 {
		git.Write("f", strconv.Itoa(i))
		git.Commit(strconv.Itoa(i))
	}
	clone := git.At(filepath.Join(filepath.Dir(git.Dir), "clone"))
	git.Git("clone", "-q", "--depth=2", "file://"+git.Dir, clone.Dir)
	r, s := New(nil), inPlace(clone.Dir)
	head := clone.Git("rev-parse", "HEAD")
	for _, path := range []string{"", "f"} {
		if got := logged(t, r, s, head, path, 10); len(got) != 2 {
			t.Errorf("path %q: got %v", path, got)
		}
	}
	landed, err := r.Settle(ctx, s, "main", oid(t, git.Git("rev-parse", "HEAD~4")))
	if err != nil || landed {
		t.Errorf("a commit behind the boundary: got %v, %v", landed, err)
	}
	c := change(t, r, s, "topic", map[string]string{"g": "g"})
	c.Parent = oid(t, head)
	land(t, r, c)
	clone.Fsck()
}

func TestMissingParentIsDamage(t *testing.T) {
	git := gittest.Init(t)
	for i := range 3 {
		git.Write("f", strconv.Itoa(i))
		git.Commit(strconv.Itoa(i))
	}
	lost := git.Git("rev-parse", "HEAD~1")
	name := filepath.Join(git.Dir, ".git/objects", lost[:2], lost[2:])
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	r, s := New(nil), inPlace(git.Dir)
	head := oid(t, git.Git("rev-parse", "HEAD"))
	for _, path := range []string{"", "f"} {
		if _, err := r.Log(ctx, s, head, path, 10); !errors.Is(err, workspace.Corrupt) {
			t.Errorf("path %q: got %v, want corrupt", path, err)
		}
	}
}
