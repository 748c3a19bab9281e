// Package refs reads a repository's refs and moves them exactly as git moves
// them, so that git and this program may work on one repository at once.
//
// # The protocol
//
// A ref moves under the file <ref>.lock, which git honours. The lock is made by
// linking a file that already holds the new id, durable: the lock is exclusive,
// never empty, and says what whoever made it was about to do. Under it the ref
// is read again, the loose file first, then packed-refs, and compared; then the
// lock is renamed over the ref and the directory synced. A lock of somebody else
// is waited for with growing, random pauses and never removed.
//
// The file that is linked is made in the objects directory under a name that
// git's own garbage collection clears away, should this process die before it
// does. Where hard links do not work the lock is created empty, exclusively, and
// then written, which is what git does.
//
// # Decisions
//
// Symbolic branches are read, and not written: which of the two names a commit
// was meant for is for a person to say.
//
// A reflog is written when git would write it. A failure to write one does not
// stop a ref from moving: the log is a convenience, the commit is not.
package refs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// Store is the refs of one repository. It is safe for concurrent use.
type Store struct {
	dir string // the common git directory

	mu     sync.Mutex // guards both
	seen   map[string]seen
	packed packed
}

// Open returns the refs below a common git directory.
func Open(dir string) *Store {
	return &Store{dir: dir, seen: map[string]seen{}}
}

// Value is what a ref says: an id, or the name of another ref.
type Value struct {
	ID     workspace.OID
	Target string
}

// maxSymbolic is how many symbolic refs git follows.
const maxSymbolic = 5

// Resolve returns the commit that a ref stands for, and the name of the ref that
// says so, which differs for a symbolic one. NotExist if there is no such ref.
func (s *Store) Resolve(ref string) (workspace.OID, string, error) {
	for range maxSymbolic + 1 {
		v, err := s.Read(ref)
		if err != nil || v.Target == "" {
			return v.ID, ref, err
		}
		if err := Check(v.Target); err != nil {
			return workspace.OID{}, ref, broken(ref)
		}
		ref = v.Target
	}
	return workspace.OID{}, ref, workspace.Errorf(workspace.Corrupt, "symbolic refs lead from %s in a circle", ref)
}

// Direct returns what a ref says for somebody who wants to move it: the zero id
// if it does not exist, Invalid if it is symbolic.
func (s *Store) Direct(ref string) (workspace.OID, error) {
	v, err := s.Read(ref)
	return direct(ref, v, err)
}

func direct(ref string, v Value, err error) (workspace.OID, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return workspace.OID{}, nil
	case err == nil && v.Target != "":
		return workspace.OID{}, workspace.Errorf(workspace.Invalid, "%s is a symbolic ref to %s and is not written through", ref, v.Target).
			Hinted("Use the branch that it stands for.")
	}
	return v.ID, err
}

// seen is what a ref said when its file looked like stamp. A zero stamp means
// that it was in packed-refs.
type seen struct {
	loose, packed stamp
	id            workspace.OID
}

// stamp tells the states of a file apart.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
}

// settled is how long a file must not have changed for its stamp to be trusted:
// longer than the coarsest clock of a file system, since of two changes within
// one tick the second may look like the first.
const settled = 2500 * time.Millisecond

func (t stamp) settledAt(now time.Time) bool {
	limit := now.Add(-settled)
	return time.Unix(t.mtime.Unix()).Before(limit) && time.Unix(t.ctime.Unix()).Before(limit)
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim, ctime: st.Ctim}
}

// stat returns the stamp of a file, zero if there is none.
func stat(name string) (stamp, error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(name, &st)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ENOENT || err == unix.ENOTDIR:
			return stamp{}, nil
		case err != nil:
			return stamp{}, err
		}
		return stampOf(&st), nil
	}
}

// Read returns what a ref says. NotExist if there is no such ref, Corrupt if its
// file is not one that git wrote.
func (s *Store) Read(ref string) (Value, error) {
	name := filepath.Join(s.dir, ref)
	loose, err := stat(name)
	if err != nil {
		return Value{}, unavailable(err)
	}
	if id, ok := s.remembered(ref, loose); ok {
		return Value{ID: id}, nil
	}
	now := time.Now()
	if loose != (stamp{}) {
		v, err := readLoose(name, ref)
		if err == nil && v.Target == "" && loose.settledAt(now) {
			s.remember(ref, seen{loose: loose, id: v.ID})
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return v, err
		}
	}
	return s.readPacked(ref, now)
}

// remembered returns the id of a ref whose file looks as it did, or that had
// none and has none while packed-refs looks as it did.
func (s *Store) remembered(ref string, loose stamp) (workspace.OID, bool) {
	s.mu.Lock()
	was, ok := s.seen[ref]
	s.mu.Unlock()
	if !ok || was.loose != loose {
		return workspace.OID{}, false
	}
	if loose == (stamp{}) {
		now, err := stat(s.packedPath())
		if err != nil || now != was.packed {
			return workspace.OID{}, false
		}
	}
	return was.id, true
}

// maxSeen bounds the memory for refs; work branches come and go.
const maxSeen = 10_000

func (s *Store) remember(ref string, v seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[ref] = v
}

// readLoose reads a ref's own file. A directory counts as absent.
func readLoose(name, ref string) (Value, error) {
	if target, err := os.Readlink(name); err == nil { // a symbolic ref as git once wrote it
		return Value{Target: target}, nil
	}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENOTDIR), errors.Is(err, fs.ErrNotExist):
		return Value{}, absent(ref)
	case err != nil:
		return Value{}, unavailable(err)
	}
	line := strings.TrimRight(string(text), " \t\r\n")
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		return Value{Target: strings.TrimSpace(target)}, nil
	}
	// Git takes an id that is followed by a space and anything.
	hex, _, _ := strings.Cut(line, " ")
	id, err := workspace.ParseOID(hex)
	if err != nil || id.IsZero() {
		return Value{}, broken(ref)
	}
	return Value{ID: id}, nil
}

func absent(ref string) error {
	return workspace.Errorf(workspace.NotExist, "the repository has no %s", ref)
}

func broken(ref string) error {
	return workspace.Errorf(workspace.Corrupt, "the file of %s does not name a commit", ref).
		Hinted("A crash may have left it: look at git reflog, and set it with git update-ref.")
}

// unavailable is a repository that cannot be read or written now. The path of
// the host stays out of the message.
func unavailable(err error) error {
	return workspace.Errorf(workspace.Unavailable, "the repository's refs cannot be used: %w", durable.Cause(err)).
		Hinted("%s", durable.Hint(err))
}
