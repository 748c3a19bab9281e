package workspace_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// TestReplacedDirectories plays with directories that were deleted, made again and
// deleted once more, and commits what came of it. Nobody else commits: there is
// no conflict, and the tree is what the workspace shows.
func TestReplacedDirectories(t *testing.T) {
	const r = "/repos/app/"
	ctx := context.Background()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, play := range map[string]func(t *testing.T, w *space){
		"deleted twice around a directory": func(t *testing.T, w *space) {
			w.del(r + "d")
			_, err := w.Mkdir(ctx, r+"d/x")
			must(t, err)
			w.del(r + "d")
		},
		"deleted twice around a file": func(t *testing.T, w *space) {
			w.write(r+"d/x", "1\n")
			w.del(r + "d")
			w.write(r+"d/x", "2\n")
			w.del(r + "d")
		},
		"edited, deleted, written": func(t *testing.T, w *space) {
			w.write(r+"d/x", "1\n")
			w.del(r + "d")
			w.write(r+"d/x", "2\n")
		},
		"moved there and back": func(t *testing.T, w *space) {
			w.write(r+"d/x", "1\n")
			_, err := w.Move(ctx, r+"d", r+"e", false)
			must(t, err)
			_, err = w.Move(ctx, r+"e", r+"d", false)
			must(t, err)
		},
		"part of it committed": func(t *testing.T, w *space) {
			w.del(r + "d")
			w.write(r+"d/n", "new\n")
			w.commit("/repos/app", r+"d/n")
			if got := w.read(r + "d/n"); got != "new\n" {
				t.Errorf("what was committed reads %q", got)
			}
			if diff := cmp.Diff([]string{"D d/x", "D d/y"}, w.status("/repos/app")); diff != "" {
				t.Errorf("after a part was committed (-want +got):\n%s", diff)
			}
		},
		"a file becomes a directory, of which a part is committed": func(t *testing.T, w *space) {
			w.del(r + "a.txt")
			w.write(r+"a.txt/q", "q\n")
			w.write(r+"a.txt/p", "p\n")
			c := w.commit("/repos/app", r+"a.txt/q")
			if diff := cmp.Diff([]Path{r + "a.txt", r + "a.txt/q"}, c.Paths); diff != "" {
				t.Errorf("changed paths (-want +got):\n%s", diff)
			}
			if got := w.read(r + "a.txt/q"); got != "q\n" {
				t.Errorf("what was committed reads %q", got)
			}
		},
		"a made directory that is also committed, below one that goes": func(t *testing.T, w *space) {
			_, err := w.Mkdir(ctx, r+"n/m")
			must(t, err)
			w.write(r+"n/m/x", "x\n")
			w.commit("/repos/app")
			w.del(r + "n")
		},
		"a directory becomes a file and is one again": func(t *testing.T, w *space) {
			w.del(r + "d")
			w.write(r+"d", "file\n")
			w.del(r + "d")
			w.write(r+"d/x", "x again\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a.txt": "one\n", "d/x": "x\n", "d/y": "y\n"}})
			w := b.create("/agents/a", nil)
			play(t, w)
			shown := w.walk("/repos/app")
			if len(w.status("/repos/app")) > 0 {
				w.commit("/repos/app")
			}
			if diff := cmp.Diff(shown, w.walk("/repos/app")); diff != "" {
				t.Errorf("the commit changed what is shown (-before +after):\n%s", diff)
			}
			tree := b.git("app", "ls-tree", "-r", "--name-only", "main")
			if got := r + strings.ReplaceAll(tree, "\n", " "+r); got != strings.Join(shown, " ") {
				t.Errorf("committed %s, shown %v", got, shown)
			}
			if left := w.status("/repos/app"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestDirectoryDuringACommit: what is written below a directory while a commit
// takes it away, or puts it there, is dirty afterwards.
func TestDirectoryDuringACommit(t *testing.T) {
	const r = "/repos/app/"
	ctx := context.Background()
	for name, tt := range map[string]struct {
		before, during func(w *space)
		want           []string // what is dirty afterwards
		tree           string   // after a second commit
	}{
		"moved back": {
			func(w *space) { w.Move(ctx, r+"d", r+"e", false) },
			func(w *space) { w.Move(ctx, r+"e", r+"d", false) },
			[]string{"A d/x", "A d/y", "D e/x", "D e/y"}, "a.txt d/x d/y",
		},
		"written as it was": {
			func(w *space) { w.del(r + "d") },
			func(w *space) { w.write(r+"d/x", "x\n") },
			[]string{"A d/x"}, "a.txt d/x",
		},
		"written anew": {
			func(w *space) { w.del(r + "d") },
			func(w *space) { w.write(r+"d/x", "new\n") },
			[]string{"A d/x"}, "a.txt d/x",
		},
		"replaced by a file": {
			func(w *space) { w.write(r+"d/x", "new\n") },
			func(w *space) { w.del(r + "d"); w.write(r+"d", "file\n") },
			[]string{"A d", "D d/x", "D d/y"}, "a.txt d",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a.txt": "one\n", "d/x": "x\n", "d/y": "y\n"}})
			b.create("/agents/a", nil)
			var w *space
			b.cfg.Fault = func(point string) error {
				if point == "intent appended" && tt.during != nil {
					tt.during(w)
					tt.during = nil
				}
				return nil
			}
			b.reopen()
			w = b.open("/agents/a", "s")
			w.t = t
			tt.before(w)
			w.commit("/repos/app")
			shown := w.walk("/repos/app")
			if diff := cmp.Diff(tt.want, w.status("/repos/app")); diff != "" {
				t.Errorf("dirty after the commit (-want +got):\n%s", diff)
			}
			w.commit("/repos/app")
			if diff := cmp.Diff(shown, w.walk("/repos/app")); diff != "" {
				t.Errorf("the second commit changed what is shown (-before +after):\n%s", diff)
			}
			if got := strings.ReplaceAll(b.git("app", "ls-tree", "-r", "--name-only", "main"), "\n", " "); got != tt.tree {
				t.Errorf("committed %q, want %q", got, tt.tree)
			}
		})
	}
}

// TestStaleReadBelowADeletedDirectory: a file that was read in another version is
// not deleted with its directory, nor moved over.
func TestStaleReadBelowADeletedDirectory(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"d/x": "1\n", "d/y": "1\n"}})
	w := b.create("/agents/a", nil)
	w.read("/repos/app/d/x")
	b.outside("app", map[string]string{"d/x": "2\n"})
	w.del("/repos/app/d")
	if _, err := w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	if diff := cmp.Diff([]string{"D d/x !", "D d/y"}, w.status("/repos/app")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if _, err := w.Revert(context.Background(), "/repos/app/d"); err != nil {
		t.Fatal(err)
	}
	if got := w.read("/repos/app/d/x"); got != "2\n" {
		t.Errorf("after the revert: %q", got)
	}
	w.del("/repos/app/d")
	w.write("/repos/app/e", "e\n")
	w.commit("/repos/app")
}

// TestMadeDirectoryAfterACommit: a directory that somebody made stays when its files
// are committed, and whatever is done with it then reaches those files too.
func TestMadeDirectoryAfterACommit(t *testing.T) {
	const r = "/repos/app/"
	ctx := context.Background()
	for name, tt := range map[string]struct {
		play   func(w *space) error
		walk   []string
		status []string
		tree   string // after a second commit
	}{
		"nothing": {func(*space) error { return nil }, []string{r + "a", r + "d/x"}, []string{}, "a d/x"},
		"deleted": {func(w *space) error { w.del(r + "d"); return nil }, []string{r + "a"}, []string{"D d/x"}, "a"},
		"moved": {func(w *space) error {
			_, err := w.Move(ctx, r+"d", r+"e", false)
			return err
		}, []string{r + "a", r + "e/x"}, []string{"D d/x", "A e/x"}, "a e/x"},
		"its file deleted": {func(w *space) error { w.del(r + "d/x"); return nil }, []string{r + "a"}, []string{"D d/x"}, "a"},
		"reverted": {func(w *space) error {
			_, err := w.Revert(ctx, r+"d")
			return err
		}, []string{r + "a", r + "d/x"}, []string{}, "a d/x"},
		"deleted and made again": {func(w *space) error {
			w.del(r + "d")
			_, err := w.Mkdir(ctx, r+"d")
			return err
		}, []string{r + "a"}, []string{"D d/x"}, "a"},
		"replaced by a file": {func(w *space) error { w.del(r + "d"); w.write(r+"d", "file\n"); return nil },
			[]string{r + "a", r + "d"}, []string{"A d", "D d/x"}, "a d"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
			w := b.create("/agents/a", nil)
			if _, err := w.Mkdir(ctx, r+"d"); err != nil {
				t.Fatal(err)
			}
			w.write(r+"d/x", "2\n")
			w.commit("/repos/app")
			if err := tt.play(w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.walk, w.walk("/repos/app")); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.status, w.status("/repos/app")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if len(tt.status) > 0 {
				w.commit("/repos/app")
			}
			if got := strings.ReplaceAll(b.git("app", "ls-tree", "-r", "--name-only", "main"), "\n", " "); got != tt.tree {
				t.Errorf("committed %q, want %q", got, tt.tree)
			}
		})
	}
}

// TestRevertBelowADeletedDirectory: a file that is gone with its directory cannot be
// reverted alone, in a batch as little as by itself, and both say so instead of doing
// nothing.
func TestRevertBelowADeletedDirectory(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "d/x": "1\n"}})
	w := b.create("/agents/a", nil)
	w.del("/repos/app/d")
	ctx := context.Background()
	_, alone := w.Revert(ctx, "/repos/app/d/x")
	for name, err := range map[string]error{"by itself": alone, "in a batch": w.Batch(ctx, []Step{RevertStep("/repos/app/d/x")})} {
		if !errors.Is(err, Conflict) || !strings.Contains(HintOf(err), "/repos/app/d") {
			t.Errorf("%s: %v, want a conflict that names the directory", name, err)
		}
	}
	if diff := cmp.Diff([]string{"D d/x"}, w.status("/repos/app")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
