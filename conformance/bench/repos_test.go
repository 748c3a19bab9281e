package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// generation is part of the name under which a repository is kept. It goes up
// whenever its content changes.
const generation = 1

// The repositories. Their names are those of the cache.
var (
	// small is for the short size.
	small = &spec{name: "1k", seed: 1, files: 1_000, dirs: 80, least: 1 << 10, most: 9 << 10, commits: 20}
	// ordinary has the shape of tc39/test262, a large test suite in JavaScript.
	ordinary = &spec{name: "57k", seed: 2, files: 57_000, dirs: 4_000, least: 1 << 10, most: 9 << 10, commits: 300}
	// large has many files and hardly any content.
	large = &spec{name: "500k", seed: 3, files: 500_000, dirs: 25_000, least: 60, most: 400}
	// heavy has one large pack.
	heavy = &spec{name: "400m", seed: 4, noise: 400 << 20}
	// smallHeavy is for the short size.
	smallHeavy = &spec{name: "4m", seed: 5, noise: 4 << 20}
)

// heavies are many repositories with a pack of a size each.
func heavies() []*spec {
	all := make([]*spec, sized(2, 20))
	for i := range all {
		size := sized(1, 100)
		all[i] = &spec{name: fmt.Sprintf("%dm-%d", size, i+1), seed: uint64(100*size + i), noise: size << 20}
	}
	return all
}

// usual is the repository of most rows.
func usual() *spec {
	if *full {
		return ordinary
	}
	return small
}

// repo is a repository that was made: nobody writes to it.
type repo struct {
	*spec
	dir   string // bare
	files string // a checkout without .git, "" if none was asked for
}

// make makes the repository, unless it is kept from another run.
func (s *spec) make(t testing.TB) *repo {
	t.Helper()
	if err := shared.open(); err != nil {
		t.Fatal(err)
	}
	r, err := s.kept(t)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// kept is make for any goroutine.
func (s *spec) kept(t testing.TB) (*repo, error) {
	at := filepath.Join(shared.cache, fmt.Sprintf("repos-%d", generation), s.name)
	r := &repo{spec: s, dir: filepath.Join(at, "repo.git")}
	if _, err := os.Stat(at); err == nil {
		return r, nil
	}
	began := time.Now()
	if err := s.build(t.Context(), at); err != nil {
		return nil, fmt.Errorf("making the repository %s: %w", s.name, err)
	}
	settle()
	t.Logf("made the repository %s in %v", s.name, time.Since(began).Round(time.Second))
	return r, nil
}

// checkedOut is the repository with its files on disk.
func (s *spec) checkedOut(t testing.TB) *repo {
	t.Helper()
	r := s.make(t)
	r.files = filepath.Join(filepath.Dir(r.dir), "files")
	if _, err := os.Stat(r.files); err == nil {
		return r
	}
	err := wholeAt(r.files, func(fresh string) error {
		cmd := gitCommand(t.Context(), r.dir, "--work-tree", fresh, "checkout", "-q", "-f")
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+fresh+".index")
		defer os.Remove(fresh + ".index")
		_, err := output(cmd)
		return err
	})
	if err != nil {
		t.Fatalf("checking out %s: %v", s.name, err)
	}
	settle()
	return r
}

// makeAll makes several repositories, two at a time.
func makeAll(t testing.TB, specs []*spec) []*repo {
	t.Helper()
	if err := shared.open(); err != nil {
		t.Fatal(err)
	}
	all := make([]*repo, len(specs))
	var g errgroup.Group
	g.SetLimit(2)
	for i, s := range specs {
		g.Go(func() (err error) {
			all[i], err = s.kept(t)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// wholeAt has a directory made under another name, so that it is whole once it is
// there.
func wholeAt(dir string, build func(fresh string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "making-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := build(fresh); err != nil {
		return err
	}
	// Somebody else may have been quicker.
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// build makes the repository in a directory.
func (s *spec) build(ctx context.Context, at string) error {
	return wholeAt(at, func(fresh string) error {
		dir := filepath.Join(fresh, "repo.git")
		if _, err := git(ctx, "", "init", "-q", "--bare", "-b", "main", dir); err != nil {
			return err
		}
		// What hardly compresses need not be tried hard.
		fast := gitCommand(ctx, dir, "-c", "core.compression=1", "fast-import", "--quiet", "--depth=0")
		if s.noise > 0 {
			return feed(fast, s.writeNoise)
		}
		if err := feed(gitCommand(ctx, dir, "fast-import", "--quiet"), s.write); err != nil {
			return err
		}
		args := []string{"repack", "-adq"}
		if s.commits > 0 {
			args = []string{"repack", "-adfq"} // with the deltas that git finds
		}
		_, err := git(ctx, dir, args...)
		return err
	})
}

// settle has what was prepared reach the disk, so that nobody's turn pays for it.
func settle() {
	if *full {
		unix.Sync()
	}
}

// paths are the files of the repository, as git lists them.
func (r *repo) paths(t testing.TB) []string {
	t.Helper()
	list := mustGit(t, r.dir, "ls-tree", "-r", "-z", "--name-only", "HEAD")
	return strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
}

// TestSameRepository makes the small repository anew: it is the same, byte for
// byte, wherever and whenever it is made.
func TestSameRepository(t *testing.T) {
	at := filepath.Join(dirOf(t), "again")
	if err := small.build(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	r := &repo{spec: small, dir: filepath.Join(at, "repo.git")}
	const want = "23602c072c3bc8e6dd3aea33a4a39879aa4832dc"
	if got := mustGit(t, r.dir, "rev-parse", "HEAD"); got != want {
		t.Errorf("the commit is %s, want %s: has generation gone up?", got, want)
	}
	if n := len(r.paths(t)); n != small.files {
		t.Errorf("%d files, want %d", n, small.files)
	}
}
