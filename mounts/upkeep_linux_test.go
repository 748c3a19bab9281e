package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// ring is a repository that several processes commit to, each consolidating, while
// a person's git works on it.
type ring struct {
	t   *testing.T
	git *gittest.Repo
	s   workspace.Source
	end time.Time

	pauses   time.Duration // how many times as long as they may be shortest
	commands []string      // that remove packs, or index them

	landed, folds, removals, removed atomic.Int64

	// walking is held by commands that fail if git itself removes packs, and alone
	// by those that remove some.
	walking sync.RWMutex
	mu      sync.Mutex
	passed  map[string]int // guarded by mu: commands of git
}

// TestConsolidationAgainstGit consolidates all the time. No command of git may
// fail or say a word, no read may fail, nothing may be lost. CARREL_FULL=1 does it
// for over a quarter of an hour.
//
// Some of git's commands are not played together, since they fail beside plain
// commits: a local clone copies temporary files that are renamed meanwhile, repack
// --geometric puts what no ref leads to into packs that repack -a then drops, and
// whoever has a multi-pack index open that a repack drops complains of its packs.
func TestConsolidationAgainstGit(t *testing.T) {
	for name, commands := range map[string][]string{
		"all into one": {"gc -q", "repack -a -d -q", "repack -A -d -q", "repack -a -d -q -f --window=50", "repack -d -q"},
		"geometric":    {"gc -q", "repack -d -q --geometric=2", "repack -d -q"},
		"multi-pack":   {"multi-pack-index write", "repack -d -q"},
	} {
		t.Run(name, func(t *testing.T) { playRing(t, commands) })
	}
}

func playRing(t *testing.T, commands []string) {
	long := 3 * time.Second
	if os.Getenv("CARREL_FULL") != "" {
		long = 6 * time.Minute
	}
	_, s, git := bare(t, map[string]string{"a": "1"})
	git.Git("config", "gc.autoDetach", "false")
	git.Git("config", "repack.writeBitmaps", "false") // git warns while there are two
	r := &ring{t: t, git: git, s: s, commands: commands, passed: map[string]int{}}
	const rounds = 20 // with longer pauses, on a machine that is too busy for much to happen in one
	for round := range rounds {
		r.end, r.pauses = time.Now().Add(long), time.Duration(1+round)
		r.play(3 * round)
		if r.folds.Load() > 0 && r.removed.Load() > 0 || t.Failed() {
			break
		}
	}
	want := strconv.FormatInt(r.landed.Load()+1, 10)
	if got := git.Git("rev-list", "--count", "main"); got != want {
		t.Errorf("%s commits are in the history, %s were reported", got, want)
	}
	if r.folds.Load() == 0 || r.removed.Load() == 0 {
		t.Error("nothing was consolidated")
	}
	git.Fsck()
	t.Logf("%d commits, %d consolidations, %d packs removed in %d times", r.landed.Load(), r.folds.Load(), r.removed.Load(), r.removals.Load())
	for _, name := range slices.Sorted(maps.Keys(r.passed)) {
		t.Logf("%6d git %s", r.passed[name], name)
	}
}

// play has everybody at work until the end. The writers have names from w on, which
// they write: what they commit is new, or git fsck would miss what is not packed, as
// it does beside a git commit.
func (r *ring) play(w int) {
	var wg sync.WaitGroup
	for i := range 2 {
		repos := New(r.config())
		defer repos.Close()
		wg.Go(func() { commitOften(r.t, repos, r.s, w+i, &r.landed, r.end) })
	}
	wg.Go(func() { r.landed.Add(r.other("commit", w+2)) })
	wg.Go(func() { r.other("read", 0) })
	wg.Go(func() { readOften(r.t, New(&Config{CacheBytes: 1}), r.s, r.end) })
	for _, loop := range []func(){r.repack, r.walk, r.look, r.batch, r.fetch} {
		wg.Go(loop)
	}
	wg.Wait()
}

// config has few packs folded soon.
func (r *ring) config() *Config {
	return &Config{PacksFrom: 4, PacksGrace: time.Millisecond, CacheBytes: 1, Fault: func(point string) error {
		switch point {
		case PackFolded:
			r.folds.Add(1)
		case PacksHidden:
			hidden, _ := filepath.Glob(filepath.Join(r.git.Dir, "objects/pack/tmp_carrel_*"))
			r.removed.Add(int64(len(hidden)))
			r.removals.Add(1)
		}
		return nil
	}}
}

// other runs TestRingProcess in another process, and returns what it counted.
func (r *ring) other(does string, w int) int64 {
	cmd := exec.Command(os.Args[0], "-test.run=^TestRingProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "CARREL_RING="+does, "CARREL_RING_WRITER="+strconv.Itoa(w), "CARREL_RING_REPO="+r.git.Dir, "CARREL_RING_END="+r.end.Format(time.RFC3339Nano))
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Errorf("the process that has to %s: %v\n%s", does, err, out)
	}
	_, count, _ := strings.Cut(string(out), "landed ")
	var n int64
	fmt.Sscan(count, &n)
	return n
}

func TestRingProcess(t *testing.T) {
	does := os.Getenv("CARREL_RING")
	if does == "" {
		t.Skip("TestConsolidationAgainstGit runs it")
	}
	git := (&gittest.Repo{T: t}).At(os.Getenv("CARREL_RING_REPO"))
	end, err := time.Parse(time.RFC3339Nano, os.Getenv("CARREL_RING_END"))
	if err != nil {
		t.Fatal(err)
	}
	r := &ring{t: t, git: git, s: inPlace(git.Dir)}
	repos := New(r.config())
	defer repos.Close()
	if does == "read" {
		readOften(t, repos, r.s, end)
		return
	}
	w, err := strconv.Atoi(os.Getenv("CARREL_RING_WRITER"))
	if err != nil {
		t.Fatal(err)
	}
	var landed atomic.Int64
	commitOften(t, repos, r.s, w, &landed, end)
	fmt.Println("landed", landed.Load())
}

// plain is what git says beside commits whatever becomes of packs: its pack-refs
// meets one, and its prune a temporary file that has got its name.
var plain = regexp.MustCompile(`(?s:error: cannot lock ref 'refs/heads/main': (is at [^\n]*|Unable to create .*?remove the file manually to continue\.)\n)|error: Could not stat '.*/tmp_(obj|ref|carrel)_.*'\n`)

// run runs git, which must succeed and say nothing but its output.
func (r *ring) run(dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, gittest.Env()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	said := stderr.String()
	said = plain.ReplaceAllString(said, "")
	if err != nil || said != "" {
		r.t.Errorf("git %s: %v: %s%s", strings.Join(args, " "), err, said, stdout.String()[:min(1000, stdout.Len())])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed[strings.ReplaceAll(strings.Join(args[:min(4, len(args))], " "), r.git.Dir, "REPO")]++
	return stdout.String()
}

// often does something until the end, with pauses.
func (r *ring) often(pause time.Duration, do func(i int)) {
	for i := 0; time.Now().Before(r.end); i++ {
		do(i)
		time.Sleep(rand.N(pause * r.pauses))
	}
}

// pick runs one of some commands in the repository.
func (r *ring) pick(commands ...string) {
	r.run(r.git.Dir, strings.Fields(commands[rand.IntN(len(commands))])...)
}

func (r *ring) repack() {
	r.often(600*time.Millisecond, func(int) {
		r.walking.Lock()
		defer r.walking.Unlock()
		r.pick(r.commands...)
	})
}

func (r *ring) walk() {
	r.often(600*time.Millisecond, func(int) {
		r.walking.RLock()
		defer r.walking.RUnlock()
		r.pick("fsck --full --no-dangling --no-progress", "cat-file --batch-all-objects --batch-check", "prune --expire=1.day.ago")
	})
}

func (r *ring) look() {
	r.often(50*time.Millisecond, func(i int) {
		r.pick("log -p main", "rev-list --objects --all", "log --oneline -3", "rev-parse main:a")
		if i%4 == 0 {
			clone := filepath.Join(r.t.TempDir(), "clone")
			r.run(filepath.Dir(r.git.Dir), "clone", "-q", "--bare", "--no-local", r.git.Dir, clone)
			r.whole(clone)
		}
	})
}

// whole checks a clone.
func (r *ring) whole(clone string) {
	r.run(clone, "fsck", "--full", "--no-dangling", "--no-progress")
	os.RemoveAll(clone)
}

// batch asks a git that lives for long about every new commit and its files.
func (r *ring) batch() {
	for time.Now().Before(r.end) {
		cmd := exec.Command("git", "cat-file", "--batch-check")
		cmd.Dir, cmd.Env = r.git.Dir, gittest.Env()
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			r.t.Error(err)
			return
		}
		for i := 0; i < 50 && time.Now().Before(r.end); i++ {
			fmt.Fprintln(in, "main\nmain~3:dir/x\nmain~20^{tree}\nmain:a")
			time.Sleep(rand.N(100 * time.Millisecond))
		}
		in.Close()
		if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
			r.t.Errorf("git cat-file: %v: %s", err, stderr.String())
		}
		for line := range strings.Lines(stdout.String()) {
			if strings.Contains(line, "missing") && !strings.HasPrefix(line, "main~") {
				r.t.Errorf("git cat-file: %s", line)
			}
		}
	}
}

func (r *ring) fetch() {
	clone := r.t.TempDir()
	r.run(clone, "-c", "init.defaultBranch=main", "init", "-q", "--bare")
	r.often(200*time.Millisecond, func(int) {
		r.run(clone, "fetch", "-q", r.git.Dir, "+refs/heads/*:refs/heads/*")
	})
	r.run(clone, "fsck", "--full", "--no-dangling", "--no-progress")
}

// TestUpkeep lands commits until packs were folded and removed, by a process that
// lives on and by ones that end at once.
func TestUpkeep(t *testing.T) {
	for name, lives := range map[string]bool{"one process": true, "many": false} {
		t.Run(name, func(t *testing.T) {
			_, s, git := bare(t, map[string]string{"a": "1"})
			r := &ring{t: t, git: git, s: s}
			repos := New(r.config())
			for i := 0; r.removed.Load() == 0 && i < 500; i++ {
				land(t, repos, change(t, repos, s, "main", map[string]string{"b/c": fmt.Sprint(i)}))
				if !lives {
					repos.Close()
					repos = New(r.config())
				}
			}
			repos.Close()
			if r.folds.Load() == 0 || r.removed.Load() == 0 {
				t.Errorf("%d consolidations, %d packs removed", r.folds.Load(), r.removed.Load())
			}
			land(t, repos, change(t, repos, s, "main", map[string]string{"b/c": "after Close"}))
			same(t, New(nil), s, git, "main")
			git.Fsck()
		})
	}
}

// TestDyingInTheBackground stops a consolidation at each of its points, as if the
// process had died. Nothing is lost, and another process goes on.
func TestDyingInTheBackground(t *testing.T) {
	for _, point := range ConsolidationPoints {
		t.Run(point, func(t *testing.T) {
			_, s, git := bare(t, map[string]string{"a": "1"})
			r := &ring{t: t, git: git, s: s}
			var died atomic.Bool
			config := r.config()
			config.Fault = func(at string) error {
				if at == point {
					died.Store(true)
					return errors.New("the process dies")
				}
				return nil
			}
			dying, i := New(config), 0
			commit := func(r *Repos) {
				land(t, r, change(t, r, s, "main", map[string]string{"b/c": fmt.Sprint(i)}))
				i++
			}
			for !died.Load() && i < 500 {
				commit(dying)
			}
			dying.Close()
			if !died.Load() {
				t.Fatal("not reached")
			}
			git.Fsck()
			next := New(r.config())
			for range 10 {
				commit(next)
			}
			next.Close()
			same(t, New(nil), s, git, "main")
			git.Fsck()
			if got := git.Git("rev-list", "--count", "main"); got != fmt.Sprint(i+1) {
				t.Errorf("%s commits, want %d", got, i+1)
			}
		})
	}
}

// TestBackgroundOff: with a negative PacksFrom, and in a repository whose packs
// nobody may change, commits land as before.
func TestBackgroundOff(t *testing.T) {
	_, s, git := bare(t, map[string]string{"a": "1"})
	r := New(&Config{PacksFrom: -1})
	for i := range 20 {
		land(t, r, change(t, r, s, "main", map[string]string{"b/c": fmt.Sprint(i)}))
	}
	r.Close()
	if got := len(files(t, git, ".pack")); got < 20 {
		t.Errorf("%d packs, want one a commit", got)
	}
}

func TestCommitted(t *testing.T) {
	u := &upkeep{}
	const from = 10
	for i, step := range []struct {
		packs int
		ends  bool // before
		begin bool
	}{
		{packs: 9}, {packs: 10, begin: true}, // at once, since it never looked
		{packs: 99}, {packs: 99}, {packs: 99}, {packs: 99}, {packs: 99}, // five: told
		{packs: 99, ends: true},
		{packs: 99}, {packs: 99}, {packs: 99}, {packs: 99, begin: true},
	} {
		if step.ends {
			if len(u.more) != 1 {
				t.Errorf("step %d: a running one was told %d times", i, len(u.more))
			}
			u.ended()
		}
		if got := u.committed(step.packs, from); got != step.begin {
			t.Errorf("step %d: begin is %v", i, got)
		}
	}
}
