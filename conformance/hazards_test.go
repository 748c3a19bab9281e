package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// dirt lists what is uncommitted in a mount, as "change path".
func dirt(t *testing.T, w *workspace.Workspace, mount workspace.Path) []string {
	t.Helper()
	s := snapshot(t, w)
	changes, err := s.Changes(t.Context(), s.Table.At(mount))
	must(t, err)
	list := []string{}
	for _, c := range changes {
		line := c.Change + " " + c.Path.Rel(mount)
		if c.Conflict != "" {
			line += " in conflict"
		}
		list = append(list, line)
	}
	return list
}

func commit(t *testing.T, w *workspace.Workspace, mount workspace.Path) error {
	t.Helper()
	_, err := w.Commit(t.Context(), workspace.CommitRequest{Mount: mount, Message: "m"})
	return err
}

// blob is what git has at a path of main.
func (r *rig) blob(name, path string) string {
	r.t.Helper()
	out, err := r.git.Git(r.t.Context(), name, "cat-file", "blob", "main:"+path)
	if err != nil {
		return "absent"
	}
	return string(out)
}

// TestWriteDuringCommit writes, deletes and adds while a commit of the mount is
// under way, before and after it has reached the repository. What was written
// stays, on top of what was committed.
//
// Cases: XT-1
func TestWriteDuringCommit(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"intent appended", "landed"} {
		t.Run(point, func(t *testing.T) {
			var w *workspace.Workspace
			during := func() {
				write(t, w, "/repos/app/a", "later\n")
				write(t, w, "/repos/app/new", "new\n")
				if _, err := w.Delete(t.Context(), "/repos/app/b", false); err != nil {
					t.Error(err)
				}
				write(t, w, "/repos/app/back", "back\n") // what it was before the commit
			}
			r := newRig(t, nil)
			r.open(func(c *workspace.Config) {
				c.Fault = func(at string) error {
					if at == point && during != nil {
						run := during
						during = nil
						run()
					}
					return nil
				}
			})
			r.repo("app", map[string]string{"a": "a\n", "b": "b\n", "back": "back\n"})
			w = r.create("/agents/a", nil)
			for _, name := range []workspace.Path{"a", "b", "back"} {
				write(t, w, "/repos/app/"+name, "first\n")
			}
			must(t, commit(t, w, "/repos/app"))
			for _, name := range []string{"a", "b", "back"} {
				if got := r.blob("app", name); got != "first\n" {
					t.Errorf("committed %s: got %q", name, got)
				}
			}
			want := []string{"modified a", "deleted b", "modified back", "added new"}
			if diff := cmp.Diff(want, dirt(t, w, "/repos/app")); diff != "" {
				t.Errorf("dirt (-want +got):\n%s", diff)
			}
			for p, want := range map[workspace.Path]string{"/repos/app/a": "later\n", "/repos/app/b": "not_exist", "/repos/app/back": "back\n"} {
				if got := read(t, w, p); got != want {
					t.Errorf("%s: got %q, want %q", p, got, want)
				}
			}
			must(t, commit(t, w, "/repos/app"))
			if got := r.blob("app", "back") + r.blob("app", "b") + r.blob("app", "a"); got != "back\nabsentlater\n" {
				t.Errorf("committed at last: %q", got)
			}
		})
	}
}

// TestCrashDuringCommit stops the process before and after the repository has the
// commit. The next one finds nothing lost, nothing twice and nothing hidden.
//
// Cases: XT-2
func TestCrashDuringCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point string
		dirt  []string
		count string
	}{
		{"intent appended", []string{"modified a", "deleted b"}, "1"},
		{"landed", []string{}, "2"},
	} {
		t.Run(c.point, func(t *testing.T) {
			r := newRig(t, nil)
			r.repo("app", map[string]string{"a": "a\n", "b": "b\n"})
			r.open(func(cfg *workspace.Config) {
				cfg.Processes = deadly{self: "first"}
				cfg.Fault = func(at string) error {
					if at == c.point {
						return errBroken
					}
					return nil
				}
			})
			w := r.create("/agents/a", nil)
			write(t, w, "/repos/app/a", "mine\n")
			_, err := w.Delete(t.Context(), "/repos/app/b", false)
			must(t, err)
			if err := commit(t, w, "/repos/app"); err == nil {
				t.Fatal("the commit succeeded although it was stopped")
			}

			r.open(func(cfg *workspace.Config) { cfg.Processes = deadly{self: "second"} })
			w = r.workspace("/agents/a")
			for range 2 { // before and after something decided the commit
				for p, want := range map[workspace.Path]string{"/repos/app/a": "mine\n", "/repos/app/b": "not_exist"} {
					if got := read(t, w, p); got != want {
						t.Errorf("%s: got %q, want %q", p, got, want)
					}
				}
				write(t, w, "/workspace/x", "x")
			}
			if diff := cmp.Diff(c.dirt, dirt(t, w, "/repos/app")); diff != "" {
				t.Errorf("dirt (-want +got):\n%s", diff)
			}
			out, err := r.git.Git(t.Context(), "app", "rev-list", "--count", "main")
			must(t, err)
			if got := strings.TrimSpace(string(out)); got != c.count {
				t.Errorf("%s commits on main, want %s", got, c.count)
			}
			err = commit(t, w, "/repos/app")
			if len(c.dirt) == 0 && workspace.KindOf(err) != workspace.Invalid {
				t.Errorf("the next commit: got %v, want nothing to commit", err)
			}
			if len(c.dirt) > 0 && err != nil {
				t.Errorf("the next commit: %v", err)
			}
			if got := r.blob("app", "a") + r.blob("app", "b"); got != "mine\nabsent" {
				t.Errorf("committed %q", got)
			}
			// What somebody adds again is to be seen.
			must(t, r.git.Commit(t.Context(), "app", "main", "again", []Edit{{Path: "b", Mode: "100644", Content: []byte("again\n")}}))
			if got := read(t, w, "/repos/app/b"); got != "again\n" {
				t.Errorf("b added again: got %q", got)
			}
		})
	}
}

// deadly knows no living process but its own.
type deadly struct{ self string }

func (d deadly) Self() string                    { return d.self }
func (d deadly) Alive(name string) (bool, error) { return name == d.self, nil }

// TestReaderNeverSeesADeletedFileComeBack reads a file without pause while it is
// deleted.
//
// Cases: XT-3
func TestReaderNeverSeesADeletedFileComeBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("f%d", i)] = "repo\n"
	}
	r.repo("app", files)
	w := r.create("/agents/a", nil)
	for name := range files {
		p := workspace.Path("/repos/app/" + name)
		write(t, w, p, "local\n")
		var stop atomic.Bool
		done := make(chan string)
		go func() {
			last, story := "local\n", ""
			for !stop.Load() || last != "not_exist" {
				s, err := w.Snapshot(t.Context())
				if err != nil {
					story = err.Error()
					break
				}
				now := "not_exist"
				if f, err := s.Lookup(t.Context(), p); err == nil {
					b, _ := s.Content(t.Context(), f)
					now = string(b)
				}
				if now != last && (last == "not_exist" || now == "repo\n") {
					story = fmt.Sprintf("%q after %q", now, last)
					break
				}
				last = now
			}
			done <- story
		}()
		_, err := w.Delete(t.Context(), p, false)
		must(t, err)
		stop.Store(true)
		if story := <-done; story != "" {
			t.Fatalf("%s: a reader saw %s", p, story)
		}
	}
}

// TestWhiteoutOfAMountThatReturns takes a repo away, with a whiteout in it, and
// adds it again: what is hidden then is reported.
//
// Cases: XT-6
func TestWhiteoutOfAMountThatReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.repo("app", map[string]string{"a": "a\n", "b": "b\n"})
	w := r.create("/agents/a", nil)
	_, err := w.Delete(t.Context(), "/repos/app/a", false)
	must(t, err)
	must(t, r.project.RemoveRepo(t.Context(), workspace.Caller{}, "/repos/app"))
	if got := read(t, w, "/repos/app/b"); got != "not_exist" {
		t.Errorf("of the repo that is gone: got %q", got)
	}
	must(t, register(t.Context(), r.project, "app", r.git.Path("app")))
	if got := read(t, w, "/repos/app/b"); got != "b\n" {
		t.Errorf("of the repo that came back: got %q", got)
	}
	hidden := read(t, w, "/repos/app/a") == "not_exist"
	if told := slices.Equal(dirt(t, w, "/repos/app"), []string{"deleted a"}); told != hidden {
		t.Errorf("hidden %v, reported %v", hidden, told)
	}
}

// lossy is a Blobs that has lost what it kept, in one of several ways.
type lossy struct {
	workspace.Blobs
	how atomic.Pointer[string]
}

func (l *lossy) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	switch how := l.how.Load(); {
	case how == nil:
		return l.Blobs.Open(ctx, id)
	case *how == "missing":
		return nil, workspace.Errorf(workspace.Corrupt, "content %s is missing", id)
	case *how == "empty":
		return nopCloser{bytes.NewReader(nil)}, nil
	default:
		return nopCloser{bytes.NewReader([]byte("mi"))}, nil
	}
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// TestLostBodyIsAnError loses the content of a private file: whatever needs it
// says so, and nothing takes it for empty.
//
// Cases: XT-9
func TestLostBodyIsAnError(t *testing.T) {
	t.Parallel()
	var blobs *lossy
	r := newRig(t, nil)
	r.repo("app", map[string]string{"a": "a\n"})
	write(t, r.create("/agents/a", nil), "/repos/app/a", "mine\n")
	r.open(func(c *workspace.Config) { // another process, which has nothing in memory
		blobs = &lossy{Blobs: c.Blobs}
		c.Blobs = blobs
	})
	w := r.workspace("/agents/a")
	n := r.records("/agents/a")
	for _, how := range []string{"missing", "empty", "short"} {
		blobs.how.Store(&how)
		if got := read(t, w, "/repos/app/a"); got != "corrupt" {
			t.Errorf("%s: read gives %q, want corrupt", how, got)
		}
		_, err := w.Edit(t.Context(), "/repos/app/a", workspace.WriteOptions{}, func(_ workspace.Found, content []byte) ([]byte, int, error) {
			return append([]byte("x"), content...), 1, nil
		})
		if workspace.KindOf(err) != workspace.Corrupt {
			t.Errorf("%s: edit gives %v, want corrupt", how, err)
		}
		if err := commit(t, w, "/repos/app"); err == nil {
			t.Errorf("%s: commit succeeded", how)
		}
		if got := r.blob("app", "a"); got != "a\n" {
			t.Errorf("%s: committed %q", how, got)
		}
	}
	blobs.how.Store(nil)
	if got := r.records("/agents/a"); got > n+6 {
		t.Errorf("%d records, were %d", got, n)
	}
	if got := read(t, w, "/repos/app/a"); got != "mine\n" {
		t.Errorf("afterwards: got %q", got)
	}
	must(t, commit(t, w, "/repos/app"))
}
