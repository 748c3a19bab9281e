package mounts

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/object"
	"carrel.dev/mounts/refs"
	"carrel.dev/workspace"
)

// Config says how repositories are used. The zero value of a field means its
// default.
type Config struct {
	// ManagedRoot is the directory of the managed repositories, each a bare one
	// called NAME.git. Without it there are none.
	ManagedRoot string
	// Committer stands in commits whose change names none.
	Committer workspace.Signature
	// CacheBytes bounds the memory for trees, lists of files, small blobs, delta
	// bases and commits of all repositories together. Default 128 MiB.
	CacheBytes int64
	// MaxObject is the size in bytes of the largest object that is read; a
	// larger one is Limit. Default 1 GiB.
	MaxObject int64
	// LockWait is how long a commit waits for somebody else's lock on a ref
	// before it is Unavailable. Default 2 s.
	LockWait time.Duration
	// PacksFrom is how many small packs of commits make it worth while to fold
	// them into one. Default object.DefaultFrom; negative means never.
	PacksFrom int
	// PacksGrace is how long packs that were folded stay. Default 5 s.
	PacksGrace time.Duration
	// Fault, if not nil, is called at each of FaultPoints and ConsolidationPoints.
	// An error makes the operation stop there as if the process had died: nothing
	// is cleaned up. It is for tests.
	Fault func(point string) error
}

// Repos are the repositories of one process. Each is opened once, when it is
// first needed. All methods are safe for concurrent use.
type Repos struct {
	config Config
	pool   *object.Pool

	mu      sync.Mutex // guards both maps, not what they hold
	sources map[workspace.Source]*slot
	shared  map[string]*shared

	background background
}

var (
	_ workspace.Trees     = (*Repos)(nil)
	_ workspace.Committer = (*Repos)(nil)
	_ workspace.Historian = (*Repos)(nil)
	_ workspace.Checkouts = (*Repos)(nil)
	_ workspace.Ignorer   = (*Repos)(nil)
)

// New returns the repositories of a process. A nil config means all defaults.
func New(config *Config) *Repos {
	r := &Repos{sources: map[workspace.Source]*slot{}, shared: map[string]*shared{}}
	if config != nil {
		r.config = *config
	}
	if r.config.LockWait == 0 {
		r.config.LockWait = 2 * time.Second
	}
	if r.config.PacksFrom == 0 {
		r.config.PacksFrom = object.DefaultFrom
	}
	r.background.end = make(chan struct{})
	r.pool = object.NewPool(r.config.CacheBytes, r.config.MaxObject)
	return r
}

// slot is a source that is open or being opened.
type slot struct {
	mu   sync.Mutex // held while it is opened
	repo *repo
}

// repo is an open source: one git directory of a repository.
type repo struct {
	*shared
	path string // where it was opened
	dir  *gitdir.Dir
}

// shared is what the worktrees of one repository have in common.
type shared struct {
	objects  *object.Store
	refs     *refs.Store
	lanes    lanes
	ancestry ancestry
	upkeep   upkeep
}

// path returns where a source is on this machine.
func (r *Repos) path(s workspace.Source) (string, error) {
	if !s.Managed {
		if !filepath.IsAbs(s.Location) {
			return "", workspace.Errorf(workspace.Invalid, "the location of a repository must be an absolute path")
		}
		return s.Location, nil
	}
	if err := checkManaged(s.Location); err != nil {
		return "", err
	}
	if r.config.ManagedRoot == "" {
		return "", workspace.Errorf(workspace.Unavailable, "no directory for managed repositories is configured")
	}
	return filepath.Join(r.config.ManagedRoot, s.Location+".git"), nil
}

// repo returns a source, open. A repository that is not where it was is
// Unavailable: it was there when it was registered.
func (r *Repos) repo(s workspace.Source) (*repo, error) {
	r.mu.Lock()
	at, ok := r.sources[s]
	if !ok {
		at = &slot{}
		r.sources[s] = at
	}
	r.mu.Unlock()

	at.mu.Lock()
	defer at.mu.Unlock()
	if at.repo != nil {
		return at.repo, nil
	}
	path, err := r.path(s)
	if err != nil {
		return nil, err
	}
	dir, err := gitdir.Open(path)
	if err != nil {
		return nil, gone(err)
	}
	at.repo = &repo{path: path, dir: dir, shared: r.share(dir.Common)}
	return at.repo, nil
}

// share returns what belongs to a common git directory, one for all spellings.
func (r *Repos) share(common string) *shared {
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.shared[common]
	if !ok {
		s = &shared{
			objects: object.Open(filepath.Join(common, "objects"), r.pool),
			refs:    refs.Open(common),
		}
		r.shared[common] = s
	}
	return s
}

// gone makes the absence of a registered repository Unavailable.
func gone(err error) error {
	if !errors.Is(err, workspace.NotExist) {
		return err
	}
	return workspace.Errorf(workspace.Unavailable, "the repository is not where it was").
		Hinted("Put it back, or remove the repo and add it again from where it is now.")
}

// fault calls the test's function for a point, and marks its error.
func (r *Repos) fault(point string) error {
	if r.config.Fault == nil {
		return nil
	}
	if err := r.config.Fault(point); err != nil {
		return &stopped{err}
	}
	return nil
}

// stopped is an error after which nothing is cleaned up.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }
func (s *stopped) Unwrap() error { return s.err }

func isStopped(err error) bool {
	var s *stopped
	return errors.As(err, &s)
}

// alive reports the end of a context as Canceled.
func alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &workspace.Error{Kind: workspace.Canceled, Err: err}
	}
	return nil
}
