package object

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"golang.org/x/sys/unix"
)

// TestRemovalWaits claims packs in every way that git has.
func TestRemovalWaits(t *testing.T) {
	c := newCrowd(t, 4)
	consolidate(t, c.s, atOnce())
	dir := filepath.Join(c.git.Dir, ".git")
	host, _ := os.Hostname()
	packs := "objects/pack"
	for _, tt := range []struct {
		file, text string
		age        time.Duration
		free       bool
	}{
		{file: "gc.pid", text: fmt.Sprint(os.Getpid(), " ", host)},
		{file: "gc.pid", text: "1 elsewhere.example"},
		{file: "gc.pid", text: fmt.Sprint(1<<30, " ", host), free: true},
		{file: "gc.pid", text: "1 elsewhere.example", age: 13 * time.Hour, free: true},
		{file: "objects/maintenance.lock"},
		{file: packs + "/multi-pack-index.lock"},
		{file: packs + "/tmp_pack_Abcdef"},
		{file: packs + "/.tmp-123-pack-0123.pack"},
		{file: packs + "/tmp_pack_Abcdef", age: time.Hour, free: true},
		{file: packs + "/tmp_obj_Abcdef", free: true},
	} {
		v, err := c.s.survey(time.Nanosecond)
		if err != nil || len(v.needless) != 4 {
			t.Fatalf("%d are needless, %v", len(v.needless), err)
		}
		name := filepath.Join(dir, tt.file)
		if err := os.WriteFile(name, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-tt.age)
		os.Chtimes(name, at, at)
		if got := v.claimed(); got == tt.free {
			t.Errorf("%s %q of %v ago: claimed is %v", tt.file, tt.text, tt.age, got)
		}
		if !tt.free {
			if got := consolidate(t, c.s, atOnce()); got.Removed != 0 || got.Waiting != 4 {
				t.Errorf("%s %q: %+v", tt.file, tt.text, got)
			}
		}
		os.Remove(name)
	}
	c.check(t)
}

// TestNamedPacksAreGits: packs in an index of git's are neither folded nor removed.
func TestNamedPacksAreGits(t *testing.T) {
	for _, args := range [][]string{{"multi-pack-index", "write"}, {"update-server-info"}} {
		c := newCrowd(t, 4)
		consolidate(t, c.s, atOnce())
		c.git.Git(args...)
		before := glob(t, c.git, "pack-*")
		if got := consolidate(t, c.s, atOnce()); got != (Consolidated{}) || len(glob(t, c.git, "pack-*")) != len(before) {
			t.Errorf("git %s: %+v", args, got)
		}
		c.write(t)(true)
		c.write(t)(true)
		if got := consolidate(t, c.s, atOnce()); got.Folded != 2 {
			t.Errorf("git %s, two packs later: %+v", args, got)
		}
		c.check(t)
		if args[0] == "multi-pack-index" {
			c.git.Git("multi-pack-index", "verify")
		}
	}
}

// TestGitWasHereMeanwhile: a git that came and went after the packs were looked at
// has changed what may be removed.
func TestGitWasHereMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(c *crowd, n needless){
		"multi-pack-index":   func(c *crowd, _ needless) { c.git.Git("multi-pack-index", "write") },
		"update-server-info": func(c *crowd, _ needless) { c.git.Git("update-server-info") },
		"keep": func(c *crowd, n needless) {
			os.WriteFile(strings.TrimSuffix(n.path, ".idx")+".keep", nil, 0o666)
		},
		"the other has gone": func(c *crowd, n needless) { os.Remove(n.by.path) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, 4)
			consolidate(t, c.s, atOnce())
			w, err := newWatch(filepath.Join(c.git.Dir, ".git/objects/pack"))
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			v, err := c.s.survey(time.Nanosecond)
			if err != nil || len(v.needless) != 4 {
				t.Fatalf("%d are needless, %v", len(v.needless), err)
			}
			old := v.needless[0]
			meanwhile(c, old)
			if free := v.unclaimed(v.needless); slices.ContainsFunc(free, func(n needless) bool { return n.name == old.name }) {
				t.Error("still taken for needless")
			}
			if _, err := v.remove(atOnce(), w); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(old.path); err != nil {
				t.Errorf("removed: %v", err)
			}
			c.check(t)
		})
	}
}

// TestRemovalWaitsForProcesses: a git that has listed the packs keeps them, one
// that looks for objects, or is elsewhere, does not.
func TestRemovalWaitsForProcesses(t *testing.T) {
	c := newCrowd(t, 4)
	consolidate(t, c.s, atOnce())
	elsewhere := gittest.Init(t)
	history(t, elsewhere, 1)
	tree := filepath.Join(t.TempDir(), "tree")
	c.git.Git("worktree", "add", "-q", "--detach", tree)
	dir := filepath.Join(c.git.Dir, ".git")
	walk := []string{"pack-objects", "-q", "--revs", filepath.Join(t.TempDir(), "p")}
	for _, tt := range []struct {
		in   string
		env  string
		args []string
		free bool
	}{
		{in: c.git.Dir, args: []string{"cat-file", "--batch"}, free: true},
		{in: c.git.Dir, args: []string{"pack-objects", "-q", "--revs", "--stdout"}, free: true},
		{in: elsewhere.Dir, args: walk, free: true},
		{in: c.git.Dir, args: walk},
		{in: dir, args: walk},
		{in: tree, args: walk},
		{in: elsewhere.Dir, args: append([]string{"--git-dir=" + dir}, walk...)},
		{in: elsewhere.Dir, args: append([]string{"--git-dir", dir}, walk...)},
		{in: elsewhere.Dir, args: append([]string{"-C", c.git.Dir}, walk...)},
		{in: elsewhere.Dir, env: "GIT_DIR=" + dir, args: walk},
	} {
		func() {
			cmd := exec.Command("git", tt.args...)
			cmd.Dir, cmd.Env = tt.in, append(gittest.Env(), tt.env)
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer in.Close()
			io.WriteString(in, "HEAD\n")
			for line := []byte(nil); len(line) == 0; { // a moment after it began its arguments are not there yet
				if line, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid)); err != nil {
					t.Fatal(err)
				}
			}
			w, err := newWatch(filepath.Join(dir, "objects/pack"))
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			v, err := c.s.survey(time.Nanosecond)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := w.walked(filepath.Join(dir, "objects"), v.dir.suffix); err != nil || got == tt.free {
				t.Errorf("in %s, %s git %s: walked is %v, %v", tt.in, tt.env, strings.Join(tt.args, " "), got, err)
			}
			if !tt.free {
				if got := consolidate(t, c.s, atOnce()); got.Removed != 0 || got.Waiting != 4 {
					t.Errorf("in %s, git %s: %+v", tt.in, strings.Join(tt.args, " "), got)
				}
			}
		}()
	}
	if got := removeAll(t, c.s); got.Removed != 4 {
		t.Errorf("in the end: %+v", got)
	}
}

// TestMappedPacksAreUsed finds a process by what it has mapped.
func TestMappedPacksAreUsed(t *testing.T) {
	h := &home{packs: map[string][]string{"pack-12": {".idx"}}}
	for maps, want := range map[string]bool{
		"": false,
		"7f00-7f01 r--p 00000000 08:01 42 /elsewhere/pack-12.idx\n":           true,
		"7f00-7f01 r--p 00000000 08:01 42 /elsewhere/pack-12.idx (deleted)\n": true,
		"7f00-7f01 r--p 00000000 08:01 42 /elsewhere/pack-13.pack\n":          false,
	} {
		if got := h.mapped(maps); got != want {
			t.Errorf("%q: got %v", maps, got)
		}
	}
}

// TestWhoListsKeepsNames: who lists the directory while a name is away finds it
// there when it is put to use.
func TestWhoListsKeepsNames(t *testing.T) {
	c := newCrowd(t, 3)
	consolidate(t, c.s, atOnce())
	v, err := c.s.survey(time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	packs := filepath.Join(c.git.Dir, ".git/objects/pack")
	w, err := newWatch(packs)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	todo := v.needless
	r := &removal{packs: packs, watch: w, hidden: map[string]string{}}
	before := glob(t, c.git, "*.idx")
	os.ReadDir(packs)
	if left := r.hide(todo); len(left) != 3 || len(r.hidden) != 0 {
		t.Errorf("hidden in spite of a listing: %v", r.hidden)
	}
	if now := glob(t, c.git, "*.idx"); len(now) != len(before) { // lists it again
		t.Errorf("indexes: %v, were %v", now, before)
	}
	w.listed()
	if left := r.hide(todo); len(left) != 0 || len(r.hidden) != 3 {
		t.Errorf("left without a listing: %v", left)
	}
}

// TestOneAtATime: who does not get the lock leaves everything to who has it.
func TestOneAtATime(t *testing.T) {
	c := newCrowd(t, 3)
	dir, err := os.Open(filepath.Join(c.git.Dir, ".git/objects/pack"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got := consolidate(t, c.s, atOnce()); got != (Consolidated{}) {
		t.Errorf("while another one does: %+v", got)
	}
}

func TestProtectionIsKept(t *testing.T) {
	c := newCrowd(t, 2)
	consolidate(t, c.s, atOnce())
	v, err := c.s.survey(time.Nanosecond)
	if err != nil || len(v.needless) != 2 {
		t.Fatalf("%d are needless, %v", len(v.needless), err)
	}
	newer := time.Now().Add(time.Hour).Truncate(time.Second)
	os.Chtimes(packPath(v.needless[0].path), newer, newer) // as by who uses an object
	removeAll(t, c.s)
	info, err := os.Stat(packPath(v.needless[0].by.path))
	if err != nil || !info.ModTime().Equal(newer) {
		t.Errorf("the time is %v, %v, want %v", info.ModTime(), err, newer)
	}
}
