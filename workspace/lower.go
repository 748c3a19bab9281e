package workspace

import (
	"context"
	"time"
)

// Source says where a repo's objects and refs are. It is durable: it is stored
// in the events that register a repo.
type Source struct {
	// Location is the absolute path of a repository on this machine, or the
	// name of a managed one in the data directory.
	Location string
	Managed  bool
}

// Trees reads a lower layer. A tree at a commit never changes. All methods are
// safe for concurrent use. A repository that cannot be read now is Unavailable,
// one whose content does not match its ids is Corrupt.
type Trees interface {
	// Head returns the commit that a branch points at: the zero id if the branch
	// is unborn, NotExist if the repository does not have it.
	Head(ctx context.Context, s Source, branch string) (OID, error)
	// Tree returns the tree of a commit; the zero id has the empty tree. A commit
	// that is not there any more is NotExist.
	Tree(ctx context.Context, s Source, commit OID) (Tree, error)
}

// Tree is one commit's files. Paths are relative, slash-separated and clean; ""
// is the top. Symlinks are entries and are never followed. All methods are safe
// for concurrent use.
type Tree interface {
	// Lookup returns what stands at a path, or NotExist.
	Lookup(ctx context.Context, path string) (Node, error)
	// ReadDir returns the entries of a directory sorted by name, as bytes.
	// NotExist if nothing is there, NotDir if it is no directory.
	ReadDir(ctx context.Context, path string) ([]DirEntry, error)
	// List calls yield for each file, symlink and submodule that a listing asks
	// for, in the order of their paths as bytes, until it returns false. Where
	// there is no directory there is nothing to list.
	List(ctx context.Context, l Listing, yield func(path string, n Node) bool) error
	// Read returns a blob's content, shared: the caller does not modify it. One
	// that the repository lacks is Corrupt and ErrMissing, as is a directory whose
	// entries it lacks, for every method.
	Read(ctx context.Context, blob OID) ([]byte, error)
	// Size returns a blob's length without reading all of it.
	Size(ctx context.Context, blob OID) (int64, error)
}

// Listing says what of a Tree to list.
type Listing struct {
	Dir   string // the directory to list what is below
	Under string // what each path begins with, in front of its path in the tree
	After string // with Under: only paths that come after this one
	// Name, if not nil, says whether to list a file with a name, the last segment
	// of its path.
	Name func(name string) bool
	// Enter, if not nil, is a hint: it may be asked about a directory, with Under,
	// and false spares a look at what is below it.
	Enter func(dir string) bool
}

// LookupsTree is a Tree that looks up many paths in one walk.
type LookupsTree interface {
	// Lookups returns what stands at each path, in order. The zero Node means
	// that nothing is there.
	Lookups(ctx context.Context, paths []string) ([]Node, error)
}

// Signature says who did something to a repository.
type Signature struct {
	Name, Email string
}

// TreeEdit sets or removes one path of a tree.
type TreeEdit struct {
	Path string // relative to the top
	Node Node   // the zero Node removes what stands at Path, a directory with all below it
}

// Change is one commit to be made: the edits on top of a parent.
type Change struct {
	Source Source
	// Branch is the branch's name without refs/heads/, Expect what it must point
	// at: the zero id if it must not exist yet.
	Branch string
	Expect OID
	// Parent is the new commit's only parent, whose tree the edits apply to; the
	// zero id makes a root commit. It differs from Expect when Branch is new, or
	// is moved on to what has merged it.
	Parent OID
	Edits  []TreeEdit // sorted by path; removals apply before additions
	// Open returns the content of a blob that an edit names and the repository
	// may not have.
	Open func(ctx context.Context, blob OID) ([]byte, error)

	Author, Committer Signature
	Message           string
	When              time.Time
	// Keep is a full ref name outside refs/heads/ that is to hold the commit too,
	// so that it stays readable when the branch is rewritten; "" for none.
	Keep string
}

// Proposal is a commit whose id is known and of which nothing is stored yet.
type Proposal interface {
	Commit() OID
	Tree() OID
	// Land makes the objects durable and moves the branch from Expect to the
	// commit. Conflict if the branch points elsewhere, Permission if a worktree
	// has it checked out (the hint names the worktree), Unavailable if somebody
	// holds its lock; then the branch has not moved. An error of another kind
	// leaves the outcome unknown: ask Settle. Landing twice is harmless.
	Land(ctx context.Context) error
}

// Committer is the lane: the one way in which commits reach a repository. All
// methods are safe for concurrent use.
type Committer interface {
	// Propose computes the commit of a change. What git fsck would complain
	// about is Invalid; a tree equal to the parent's is returned as it is.
	Propose(ctx context.Context, c Change) (Proposal, error)
	// Settle decides a commit whose process died: it removes the lock that the
	// process left on the branch, if that names the commit, and reports whether
	// the commit is reachable from the branch.
	Settle(ctx context.Context, s Source, branch string, commit OID) (landed bool, err error)
}

// LogEntry is one commit of a history.
type LogEntry struct {
	Commit  OID
	Message string
	Author  Signature
	When    time.Time
}

// Historian is a Trees that knows how a commit came to be.
type Historian interface {
	// Log returns up to limit commits from a commit back, newest first; with a
	// path only those that changed what stands there.
	Log(ctx context.Context, s Source, from OID, path string, limit int) ([]LogEntry, error)
}

// Checkouts is a Trees that knows the files on disk around a repository.
type Checkouts interface {
	// Uncommitted counts the files of a checkout that differ from what is
	// committed in it, untracked ones included and ignored ones not. A bare
	// repository has none.
	Uncommitted(ctx context.Context, s Source) (int, error)
}

// Ignorer decides what git would ignore.
type Ignorer interface {
	// Ignored reports whether git ignores an untracked file at path, relative to
	// the top. rules returns the .gitignore of a directory ("" is the top), nil
	// if it has none; it is asked for directories that contain path only.
	Ignored(path string, rules func(dir string) ([]byte, error)) (bool, error)
}

// Processes tells which processes that share the store are alive.
type Processes interface {
	// Self names this process, in a form that stays unique.
	Self() string
	// Alive reports whether a named process still runs.
	Alive(name string) (bool, error)
}

// Ancestry is a Trees that knows which commits a commit builds on.
type Ancestry interface {
	// Contains reports whether commit is tip or an ancestor of it. A commit that
	// the repository does not have is no ancestor.
	Contains(ctx context.Context, s Source, tip, commit OID) (bool, error)
}
