package object

import (
	"bytes"
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

// writer is a Writer that nothing stops.
func writer(keep string) *Writer {
	fine := func() error { return nil }
	return &Writer{Keep: keep, Share: func(string) error { return nil }, Written: fine, Named: fine, Stopped: func(error) bool { return false }}
}

// pending are n blobs of all sizes, and what they hold.
func pending(t testing.TB, pool *Pool, n int) (objects []Pending, contents map[workspace.OID][]byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 5))
	contents = map[workspace.OID][]byte{}
	for i := range n {
		content := bytes.Repeat(fmt.Append(nil, "line ", i, "\n"), rng.IntN(1<<rng.IntN(12)))
		id, err := pool.ID(TypeBlob, content)
		if err != nil {
			t.Fatal(err)
		}
		contents[id] = content
		objects = append(objects, Pending{ID: id, Type: TypeBlob, Content: func(context.Context) ([]byte, error) { return content, nil }})
	}
	return objects, contents
}

func TestGitReadsWhatIsWritten(t *testing.T) {
	for _, n := range []int{0, 1, looseMost, looseMost + 1, 700} {
		git := gittest.Init(t)
		s := open(git)
		objects, contents := pending(t, s.pool, n)
		objects = append(objects, objects...) // each twice
		release, err := s.Write(context.Background(), objects, writer("a test"))
		if err != nil {
			t.Fatal(err)
		}
		keeps, _ := filepath.Glob(filepath.Join(git.Dir, ".git/objects/pack/*.keep"))
		if packed := len(contents) > looseMost; packed != (len(keeps) == 1) {
			t.Errorf("%d objects: .keep files %v", n, keeps)
		}
		git.Git("repack", "-adq") // nothing refers to the objects yet
		release(true)
		for id, want := range contents {
			if got, err := git.Try("", "cat-file", "blob", id.String()); err != nil || got != string(want) {
				t.Errorf("%d objects: git reads %d bytes, %v, want %d", n, len(got), err, len(want))
			}
			forget(s)
			if got, err := s.Blob(id); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d objects: %d bytes, %v, want %d", n, len(got), err, len(want))
			}
		}
		packs, _ := filepath.Glob(filepath.Join(git.Dir, ".git/objects/pack/*"))
		for _, name := range packs {
			if strings.HasSuffix(name, ".idx") {
				git.Git("verify-pack", name)
			} else if !strings.HasSuffix(name, ".pack") {
				t.Errorf("%d objects: %s is left", n, filepath.Base(name))
			}
		}
		git.Fsck()
	}
}

// TestNothingIsWrittenTwice writes objects that a repository has, in a pack, in a
// file of their own, or in an alternate.
func TestNothingIsWrittenTwice(t *testing.T) {
	git := gittest.Init(t)
	history(t, git, 2)
	blobs := func() (objects []Pending) {
		for id, o := range oracle(t, git) {
			objects = append(objects, Pending{ID: id, Type: o.typ, Content: func(context.Context) ([]byte, error) { return nil, errors.New("asked for") }})
		}
		return objects
	}
	objects := blobs()
	old := time.Now().Add(-240 * time.Hour)
	for _, packed := range []bool{false, true} {
		if packed {
			git.Git("repack", "-adq")
		}
		var files []string
		filepath.WalkDir(filepath.Join(git.Dir, ".git/objects"), func(path string, e os.DirEntry, _ error) error {
			if strings.HasSuffix(path, ".pack") || len(e.Name()) == 38 {
				files = append(files, path)
			}
			return os.Chtimes(path, old, old)
		})
		if _, err := open(git).Write(context.Background(), objects, writer("a test")); err != nil {
			t.Errorf("packed %v: %v", packed, err)
		}
		for _, name := range files {
			if info, err := os.Stat(name); err != nil || time.Since(info.ModTime()) > time.Hour {
				t.Errorf("packed %v: %s is of %v, %v", packed, filepath.Base(name), info.ModTime(), err)
			}
		}
	}
	clone := git.At(filepath.Join(t.TempDir(), "clone"))
	git.Git("clone", "-q", "--shared", git.Dir, clone.Dir)
	if _, err := open(clone).Write(context.Background(), objects, writer("a test")); err != nil {
		t.Errorf("in an alternate: %v", err)
	}
}

// TestUnmovedPackIsNotTrusted writes the same objects again after their ref did
// not move: git repack may be about to remove the first pack.
func TestUnmovedPackIsNotTrusted(t *testing.T) {
	git := gittest.Init(t)
	s := open(git)
	objects, _ := pending(t, s.pool, 5)
	for i, moved := range []bool{false, false, true, true} {
		release, err := s.Write(context.Background(), objects, writer("a test"))
		if err != nil {
			t.Fatal(err)
		}
		release(moved)
		packs := glob(t, git, "*.pack")
		if want := min(i+1, 3); len(packs) != want {
			t.Errorf("write %d: %d packs, want %d", i, len(packs), want)
		}
	}
}

// TestPrunedFileIsNotTrusted: git removes the file of an object that a pack has as
// well, and then the pack, which no ref leads to.
func TestPrunedFileIsNotTrusted(t *testing.T) {
	git := gittest.Init(t)
	s := open(git)
	objects, contents := pending(t, s.pool, 5)
	id := objects[0].ID
	write := func(objects []Pending, moved bool) {
		t.Helper()
		release, err := s.Write(context.Background(), objects, writer("a test"))
		if err != nil {
			t.Fatal(err)
		}
		release(moved)
	}
	file := loosePath(filepath.Join(git.Dir, ".git/objects"), id)
	write(objects[:1], false)
	os.Rename(file, file+".away")
	write(objects, false)
	os.Rename(file+".away", file)
	dropped := glob(t, git, "*.pack")
	write(objects[:1], true)
	git.Git("prune-packed")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("git prune-packed has left the file, so that this shows nothing")
	}
	for _, pack := range dropped {
		os.Remove(pack)
		os.Remove(indexPath(pack))
	}
	if got, err := open(git).Blob(id); err != nil || !bytes.Equal(got, contents[id]) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRemoveKeep(t *testing.T) {
	git := gittest.Init(t)
	s := open(git)
	objects, _ := pending(t, s.pool, 10)
	for i, keep := range []string{"one", "two"} {
		if _, err := s.Write(context.Background(), objects[5*i:5*i+5], writer(keep)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RemoveKeep("one"); err != nil {
		t.Fatal(err)
	}
	left := glob(t, git, "*.keep")
	if text, err := os.ReadFile(left[0]); len(left) != 1 || err != nil || string(text) != "two\n" {
		t.Errorf("left: %v, %q, %v", left, text, err)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	wrong := errors.New("wrong")
	for _, n := range []int{1, 10} {
		git := gittest.Init(t)
		s := open(git)
		objects, _ := pending(t, s.pool, n)
		spoil := map[string]func(w *Writer, last *Pending){
			"content": func(_ *Writer, last *Pending) {
				last.Content = func(context.Context) ([]byte, error) { return nil, wrong }
			},
			"other content": func(_ *Writer, last *Pending) {
				last.Content = func(context.Context) ([]byte, error) { return []byte("other"), nil }
			},
			"written": func(w *Writer, _ *Pending) { w.Written = func() error { return wrong } },
			"share":   func(w *Writer, _ *Pending) { w.Share = func(string) error { return wrong } },
		}
		for name, spoil := range spoil {
			w, some := writer("a test"), append([]Pending(nil), objects...)
			spoil(w, &some[n-1])
			if _, err := s.Write(context.Background(), some, w); err == nil {
				t.Errorf("%d objects: %s: no error", n, name)
			}
			left, err := os.ReadDir(filepath.Join(git.Dir, ".git/objects/pack"))
			if err != nil || len(left) > 0 {
				t.Errorf("%d objects: %s: left %v, %v", n, name, left, err)
			}
		}
		git.Fsck()
	}
}
