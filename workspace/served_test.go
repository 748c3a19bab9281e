package workspace_test

import (
	"context"
	"errors"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// served is what a test of what sessions were served plays with: one workspace in
// two sessions of this process and in a session of another one.
type served struct {
	*bench
	w, other, elsewhere *space
}

func newServed(t *testing.T) *served {
	t.Helper()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n", "b": "1\n", "d/x": "1\n"}})
	s := &served{bench: b, w: b.create("/agents/a", nil), other: b.open("/agents/a", "other")}
	w, err := b.process().Workspace(context.Background(), "/agents/a", Caller{Session: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	s.elsewhere = &space{t, w}
	return s
}

// batch applies steps as one change.
func (s *space) batch(steps ...Step) {
	s.t.Helper()
	if err := s.Batch(context.Background(), steps); err != nil {
		s.t.Fatal(err)
	}
}

// revert drops what is changed at and below a path.
func (s *space) revert(p string) {
	s.t.Helper()
	if _, err := s.Revert(context.Background(), Path(p)); err != nil {
		s.t.Fatal(err)
	}
}

// TestNoFalseConflict: what a session was served is no base for a write once it is
// nowhere any more, so that a commit is not refused for versions that nobody else
// ever made.
func TestNoFalseConflict(t *testing.T) {
	const r = "/repos/app/"
	for name, play := range map[string]func(s *served){
		"a file that went with its directory, in a commit": func(s *served) {
			s.w.read(r + "d/x")
			s.w.del(r + "d")
			s.w.commit("/repos/app")
			s.w.write(r+"d/x", "again\n")
		},
		"an addition that another session took back": func(s *served) {
			s.w.write(r+"n", "draft\n")
			s.other.read(r + "n")
			s.w.del(r + "n")
			s.other.write(r+"n", "mine\n")
		},
		"a change that another session took back": func(s *served) {
			s.w.write(r+"a", "draft\n")
			s.other.read(r + "a")
			s.w.write(r+"a", "1\n")
			s.other.write(r+"a", "mine\n")
		},
		"a change that another session reverted": func(s *served) {
			s.w.write(r+"a", "draft\n")
			s.other.revert(r + "a")
			s.w.write(r+"a", "mine\n")
		},
		"a change that another process reverted": func(s *served) {
			s.w.write(r+"a", "draft\n")
			s.elsewhere.revert(r + "a")
			s.w.write(r+"a", "mine\n")
		},
		"a change that another process reverted with its directory": func(s *served) {
			s.w.write(r+"d/x", "draft\n")
			s.elsewhere.revert(r + "d")
			s.w.write(r+"d/x", "mine\n")
		},
		"all changes reset": func(s *served) {
			s.w.write(r+"a", "draft\n")
			if _, err := s.other.Reset(context.Background()); err != nil {
				s.t.Fatal(err)
			}
			s.w.write(r+"a", "mine\n")
		},
		"a change reverted in the batch that made it": func(s *served) {
			s.w.batch(WriteStep(r+"a", []byte("draft\n"), WriteOptions{}), WriteStep(r+"b", []byte("2\n"), WriteOptions{}), RevertStep(r+"a"))
			s.w.write(r+"a", "mine\n")
		},
		"a write of what is there": func(s *served) {
			s.w.read(r + "a")
			s.outside("app", map[string]string{"a": "2\n"})
			s.w.write(r+"a", "2\n")
			s.w.write(r+"a", "3\n")
		},
		"a deletion of what is gone": func(s *served) {
			s.w.read(r + "a")
			s.outside("app", map[string]string{"a": "-"})
			if d := s.w.del(r + "a"); d.Deleted {
				s.t.Errorf("what was gone was deleted: %+v", d)
			}
			s.w.write(r+"a", "new\n")
		},
		"a version that was asked for": func(s *served) {
			s.w.read(r + "a")
			s.outside("app", map[string]string{"a": "2\n"})
			version := s.git("app", "rev-parse", "main:a")
			if _, err := s.w.Write(context.Background(), r+"a", []byte("3\n"), WriteOptions{IfVersion: &version}); err != nil {
				s.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t)
			play(s)
			if _, err := s.w.tryCommit("/repos/app"); err != nil {
				t.Errorf("nobody else changed it, and yet: %v", err)
			}
		})
	}
}

// TestNoMissedConflict: a write that was made without having seen what is there
// now is refused, whatever lies between the read and the write, because the commit
// would undo somebody's work in silence.
func TestNoMissedConflict(t *testing.T) {
	const r = "/repos/app/"
	for name, tt := range map[string]struct {
		play func(s *served)
		want []string // status afterwards
	}{
		"theirs came below a directory that was deleted before": {func(s *served) {
			s.w.del(r + "d")
			s.outside("app", map[string]string{"d/new": "theirs\n"})
			s.w.write(r+"d/new", "mine\n")
		}, []string{"A d/new !", "D d/x"}},
		"another session read it": {func(s *served) {
			s.other.read(r + "a")
			s.outside("app", map[string]string{"a": "2\n"})
			s.w.write(r+"a", "mine\n")
		}, []string{"M a !"}},
		"another session read the newer one": {func(s *served) {
			s.w.read(r + "a")
			s.outside("app", map[string]string{"a": "2\n"})
			s.other.read(r + "a")
			s.w.write(r+"a", "mine\n")
		}, []string{"M a !"}},
		"it was not there when it was read": {func(s *served) {
			s.w.Serve(s.w.snap(), r+"new", Found{})
			s.outside("app", map[string]string{"new": "theirs\n"})
			s.w.write(r+"new", "mine\n")
		}, []string{"A new !"}},
		"another path was reverted": {func(s *served) {
			s.w.read(r + "a")
			s.w.write(r+"b", "draft\n")
			s.outside("app", map[string]string{"a": "2\n"})
			s.w.revert(r + "b")
			s.w.write(r+"a", "mine\n")
		}, []string{"M a !"}},
		"another mount was configured": {func(s *served) {
			s.w.read(r + "a")
			s.outside("app", map[string]string{"a": "2\n"})
			s.w.configure("/x", mount("/repos/app", ReadOnly))
			s.w.write(r+"a", "mine\n")
		}, []string{"M a !"}},
		"the session ended that had read the newer one": {func(s *served) {
			s.w.read(r + "a")
			s.outside("app", map[string]string{"a": "2\n"})
			s.other.read(r + "a")
			s.project.EndSession("other")
			s.w.write(r+"a", "mine\n")
		}, []string{"M a !"}},
		"it was moved away by somebody": {func(s *served) {
			s.w.read(r + "a")
			s.outside("app", map[string]string{"a": "-", "moved": "1\n"})
			s.w.write(r+"a", "mine\n")
		}, []string{"M a !"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServed(t)
			tt.play(s)
			head := s.git("app", "rev-parse", "main")
			if _, err := s.w.tryCommit("/repos/app"); !errors.Is(err, Conflict) {
				t.Errorf("got %v, want a conflict", err)
			}
			if got := s.git("app", "rev-parse", "main"); got != head {
				t.Errorf("the branch moved to %s", got)
			}
			if diff := cmp.Diff(tt.want, s.w.status("/repos/app")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// configure changes one mount.
func (s *space) configure(point string, patch MountPatch) {
	s.t.Helper()
	if _, err := s.Configure(context.Background(), map[string]MountPatch{point: patch}); err != nil {
		s.t.Fatal(err)
	}
}

// TestServedByAnotherRepo: what was read from one repo is no base for a write to
// another one that is mounted in its place.
func TestServedByAnotherRepo(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "app\n"}, "lib": {"a": "lib\n"}})
	w := b.create("/agents/a", map[string]MountPatch{"/x": mount("/repos/app", CommitToMain)})
	w.read("/x/a")
	w.configure("/x", mount("/repos/lib", CommitToMain))
	w.write("/x/a", "mine\n")
	w.commit("/x")
	if got := b.git("app", "show", "main:a") + b.git("lib", "show", "main:a"); got != "appmine" {
		t.Errorf("the repos have %q", got)
	}
}

// TestWritingTheBaseBack: a change that is taken back by writing what it was made
// from is no change: what the branch has got since is read, and status agrees.
func TestWritingTheBaseBack(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	w := b.create("/agents/a", nil)
	w.read("/repos/app/a")
	w.write("/repos/app/a", "draft\n")
	b.outside("app", map[string]string{"a": "2\n"})
	w.write("/repos/app/a", "1\n")
	if got := w.read("/repos/app/a"); got != "2\n" {
		t.Errorf("reads %q, want what the branch has", got)
	}
	if got := w.status("/repos/app"); len(got) != 0 {
		t.Errorf("status: %v", got)
	}
	if n := w.snap().State.Upper.Len(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}
