package refs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

const main = "refs/heads/main"

func parse(t testing.TB, hex string) workspace.OID {
	t.Helper()
	id, err := workspace.ParseOID(hex)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// repo is a bare repository with two commits, main at the second.
func repo(t testing.TB) (git *gittest.Repo, s *Store, one, two workspace.OID) {
	t.Helper()
	git = gittest.Init(t, "--bare")
	tree := git.In("", "mktree")
	first := git.Git("commit-tree", "-m", "one", tree)
	second := git.Git("commit-tree", "-m", "two", "-p", first, tree)
	git.Git("update-ref", main, second)
	return git, Open(git.Dir), parse(t, first), parse(t, second)
}

func noShare(string) error { return nil }

func lock(t testing.TB, s *Store, ref string, id workspace.OID) *Lock {
	t.Helper()
	l, err := s.Lock(context.Background(), ref, id, time.Second, noShare)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func done() error { return nil }

func TestNamesAsGit(t *testing.T) {
	git := gittest.Init(t)
	names := []string{"main", "a/b", "-a", "a.lock", "a.lock/b", ".a", "a/.b", "a..b", "a.", "a/", "/a", "a//b", "@", "a@{b", "a@b", "a b", "a~", "a^", "a:", "a?", "a*", "a[", "a\\", "a\x7f", "a\n", "é", "HEAD", "a.b", "a.lockx", "", "{", "a/HEAD", "a.b."}
	rng := rand.New(rand.NewPCG(1, 1))
	letters := []rune("a/.@{lock~-é ")
	for range 120 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteRune(letters[rng.IntN(len(letters))])
		}
		names = append(names, b.String())
	}
	for _, name := range names {
		_, gitErr := git.Try("", "check-ref-format", "refs/heads/"+name)
		_, err := Branch(name)
		if strings.HasPrefix(name, "-") || name == "HEAD" { // git branch refuses these, check-ref-format does not
			gitErr = errors.New("not a branch name")
		}
		if (err != nil) != (gitErr != nil) {
			t.Errorf("%q: got %v, git says %v", name, err, gitErr)
		}
	}
	if err := Check("heads/main"); !errors.Is(err, workspace.Invalid) {
		t.Errorf("a name outside refs: got %v", err)
	}
}

func TestResolve(t *testing.T) {
	git, s, one, two := repo(t)
	want := func(ref string, id workspace.OID, final string) {
		t.Helper()
		for range 2 { // the second answer may come from memory
			got, at, err := s.Resolve(ref)
			if err != nil || got != id || at != final {
				t.Errorf("%s: got %v, %s, %v, want %v, %s", ref, got, at, err, id, final)
			}
		}
	}
	kind := func(ref string, want workspace.Kind) {
		t.Helper()
		if _, _, err := s.Resolve(ref); workspace.KindOf(err) != want {
			t.Errorf("%s: got %v, want %v", ref, err, want)
		}
	}
	want(main, two, main)
	git.Git("pack-refs", "--all")
	want(main, two, main)
	git.Git("update-ref", main, one.String())
	want(main, one, main)
	git.Git("update-ref", "-d", main)
	kind(main, workspace.NotExist)
	git.Git("update-ref", main, two.String())
	git.Git("update-ref", "refs/heads/main2", one.String())
	git.Git("pack-refs", "--all")
	want(main, two, main)
	want("refs/heads/main2", one, "refs/heads/main2")
	kind("refs/heads/mai", workspace.NotExist)
	kind("refs/heads", workspace.NotExist)
	kind("refs/heads/main/below", workspace.NotExist)

	git.Git("symbolic-ref", "refs/heads/alias", main)
	git.Git("symbolic-ref", "refs/heads/alias2", "refs/heads/alias")
	want("refs/heads/alias2", two, main)
	if err := os.Symlink("refs/heads/main", filepath.Join(git.Dir, "refs/heads/link")); err != nil {
		t.Fatal(err)
	}
	want("refs/heads/link", two, main)
	git.Git("symbolic-ref", "refs/heads/dangling", "refs/heads/nowhere")
	kind("refs/heads/dangling", workspace.NotExist)
	git.Git("symbolic-ref", "refs/heads/round", "refs/heads/and")
	git.Git("symbolic-ref", "refs/heads/and", "refs/heads/round")
	kind("refs/heads/round", workspace.Corrupt)
	for i, text := range []string{"", "x\n", strings.Repeat("0", 40) + "\n", "ref: ../../etc/passwd\n", one.String()[:39] + "\n"} {
		ref := fmt.Sprintf("refs/heads/bad%d", i)
		if err := os.WriteFile(filepath.Join(git.Dir, ref), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		kind(ref, workspace.Corrupt)
	}
}

// TestChangesAreSeenAtOnce moves a ref many times within one tick of the clock,
// loose and packed, by git and by hand.
func TestChangesAreSeenAtOnce(t *testing.T) {
	git, s, one, two := repo(t)
	for i := range 30 {
		id := []workspace.OID{one, two}[i%2]
		git.Git("update-ref", main, id.String())
		if i%3 == 0 {
			git.Git("pack-refs", "--all")
		}
		if got, _, err := s.Resolve(main); err != nil || got != id {
			t.Fatalf("move %d: got %v, %v, want %v", i, got, err, id)
		}
	}
	name := filepath.Join(git.Dir, main)
	for i := range 300 {
		id := []workspace.OID{one, two}[i%2]
		if err := os.WriteFile(name, []byte(id.String()+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, _, err := s.Resolve(main); err != nil || got != id {
			t.Fatalf("write %d: got %v, %v, want %v", i, got, err, id)
		}
	}
}

// TestOldFilesAreRemembered shows that the memory is used, and only for files
// that have not changed for long.
func TestOldFilesAreRemembered(t *testing.T) {
	git, s, one, two := repo(t)
	s.Resolve(main)
	if len(s.seen) != 0 {
		t.Error("a ref that has just moved is remembered")
	}
	// ctime cannot be set back: pretend that the file was seen long ago.
	st, err := stat(filepath.Join(git.Dir, main))
	if err != nil {
		t.Fatal(err)
	}
	s.remember(main, seen{loose: st, id: one})
	if got, _, err := s.Resolve(main); err != nil || got != one {
		t.Errorf("got %v, %v, want what is remembered", got, err)
	}
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(filepath.Join(git.Dir, main), later, later); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Resolve(main); err != nil || got != two {
		t.Errorf("got %v, %v, want what is in the file", got, err)
	}
	at := st.mtime
	for age, want := range map[time.Duration]bool{0: false, 2 * time.Second: false, 3 * time.Second: true, -time.Hour: false} {
		if got := st.settledAt(time.Unix(at.Unix()).Add(age)); got != want {
			t.Errorf("settled after %v: got %v", age, got)
		}
	}
}

func TestLockMoves(t *testing.T) {
	git, s, one, two := repo(t)
	l := lock(t, s, main, one)
	if got, err := os.ReadFile(filepath.Join(git.Dir, main+".lock")); err != nil || string(got) != one.String()+"\n" {
		t.Errorf("lock: got %q, %v", got, err)
	}
	if out, err := git.Try("", "update-ref", main, one.String()); err == nil || !strings.Contains(out, ".lock") {
		t.Errorf("git ignores the lock: %q, %v", out, err)
	}
	if got, err := l.Current(); err != nil || got != two {
		t.Errorf("Current: got %v, %v, want %v", got, err, two)
	}
	if err := l.Commit(done); err != nil {
		t.Fatal(err)
	}
	l.Release()
	if got := git.Git("rev-parse", main); got != one.String() {
		t.Errorf("got %s, want %s", got, one)
	}
	l = lock(t, s, main, two)
	l.Release()
	l.Release()
	if got := git.Git("rev-parse", main); got != one.String() {
		t.Errorf("Release: got %s, want %s", got, one)
	}
	git.Git("update-ref", main, two.String()) // the lock is gone
	git.Git("pack-refs", "--all")
	l = lock(t, s, "refs/heads/deep/er/new", one)
	if got, err := l.Current(); err != nil || !got.IsZero() {
		t.Errorf("Current of a new ref: got %v, %v", got, err)
	}
	if err := errors.Join(l.Free(), l.Commit(done)); err != nil {
		t.Fatal(err)
	}
	l = lock(t, s, main, one)
	if got, err := l.Current(); err != nil || got != two {
		t.Errorf("Current of a packed ref: got %v, %v, want %v", got, err, two)
	}
	l.Release()
	if left, err := filepath.Glob(filepath.Join(git.Dir, "objects", "tmp_*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	git.Fsck()
}

func TestForeignLock(t *testing.T) {
	git, s, one, _ := repo(t)
	name := filepath.Join(git.Dir, main+".lock")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, err := s.Lock(ctx, main, one, 20*time.Millisecond, noShare)
	if !errors.Is(err, workspace.Unavailable) || !strings.Contains(workspace.HintOf(err), main+".lock") {
		t.Errorf("got %v (hint %q)", err, workspace.HintOf(err))
	}
	if _, err := os.Stat(name); err != nil {
		t.Errorf("the foreign lock is gone: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Lock(canceled, main, one, time.Hour, noShare); !errors.Is(err, workspace.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
	go func() {
		time.Sleep(30 * time.Millisecond)
		os.Remove(name)
	}()
	l, err := s.Lock(ctx, main, one, time.Minute, noShare)
	if err != nil {
		t.Fatalf("after the lock went: %v", err)
	}
	l.Release()
}

func TestNamesThatCannotStandTogether(t *testing.T) {
	for _, packed := range []bool{false, true} {
		git, s, one, _ := repo(t)
		git.Git("update-ref", "refs/heads/dir/leaf", one.String())
		if packed {
			git.Git("pack-refs", "--all")
		}
		for _, ref := range []string{"refs/heads/main/below", "refs/heads/main/be/low", "refs/heads/dir"} {
			l, err := s.Lock(context.Background(), ref, one, time.Second, noShare)
			if err == nil {
				err = l.Free()
				l.Release()
			}
			if !errors.Is(err, workspace.Conflict) || !strings.Contains(err.Error(), "exists") {
				t.Errorf("packed %v: %s: got %v, want conflict", packed, ref, err)
			}
		}
		git.Fsck()
		if got, want := git.Git("for-each-ref", "--format=%(refname)"), "refs/heads/dir/leaf\nrefs/heads/main"; got != want {
			t.Errorf("packed %v: refs are %q", packed, got)
		}
	}
}

// TestEmptyDirectoriesGiveWay makes a ref where deleted ones have left
// directories.
func TestEmptyDirectoriesGiveWay(t *testing.T) {
	git, s, one, _ := repo(t)
	if err := os.MkdirAll(filepath.Join(git.Dir, "refs/heads/a/b/c"), 0o777); err != nil {
		t.Fatal(err)
	}
	l := lock(t, s, "refs/heads/a", one)
	if err := errors.Join(l.Free(), l.Commit(done)); err != nil {
		t.Fatal(err)
	}
	if got := git.Git("rev-parse", "refs/heads/a"); got != one.String() {
		t.Errorf("got %s", got)
	}
}

func TestSymbolicRefIsNotWritten(t *testing.T) {
	git, s, one, _ := repo(t)
	git.Git("symbolic-ref", "refs/heads/alias", main)
	l := lock(t, s, "refs/heads/alias", one)
	defer l.Release()
	if _, err := l.Current(); !errors.Is(err, workspace.Invalid) {
		t.Errorf("Current: got %v, want invalid", err)
	}
	if _, err := s.Direct("refs/heads/alias"); !errors.Is(err, workspace.Invalid) {
		t.Errorf("Direct: got %v, want invalid", err)
	}
}

func TestRemoveAbandoned(t *testing.T) {
	git, s, one, two := repo(t)
	write := func(name, text string) string {
		path := filepath.Join(git.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours := []string{write(main+".lock", one.String()+"\n"), write("refs/carrel/x/keep.lock", one.String()+"\n")}
	theirs := []string{
		write("refs/heads/a.lock", one.String()+"\n"), write("refs/carrel/x/other.lock", two.String()+"\n"),
		write("refs/carrel/x/empty.lock", ""), write("refs/carrel/x/plain", one.String()+"\n"),
	}
	for range 2 {
		if err := s.RemoveAbandoned(main, "refs/carrel", one); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range ours {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range theirs {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", two.String() + "\n", one.String(), one.String() + "\n\n"} {
		name := write(main+".lock", text)
		if err := s.RemoveAbandoned(main, "refs/carrel", one); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); err != nil {
			t.Errorf("a lock with %q: %v", text, err)
		}
	}
}

// TestWithoutHardLinks takes the way that is left where files cannot be linked.
func TestWithoutHardLinks(t *testing.T) {
	git, s, one, _ := repo(t)
	l := &Lock{store: s, ref: main, id: one, share: noShare}
	if err := l.create([]byte(one.String() + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := l.create(nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("second create: got %v", err)
	}
	if err := l.Commit(done); err != nil {
		t.Fatal(err)
	}
	if got := git.Git("rev-parse", main); got != one.String() {
		t.Errorf("got %s", got)
	}
}
