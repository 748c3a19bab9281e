package workspace

import (
	"context"
	"errors"
	"sync"
)

// view is one mount of a snapshot.
type view struct {
	once  sync.Once
	mount *Mount
	base  OID // the commit that the mount is read at
	// work is where the work branch stands; zero if there is none.
	work OID
	// lost says that the work branch has lost what was committed here: it was
	// rewritten, or removed without having been merged. base is that commit.
	lost bool
	// behind says that the upstream has commits which the work branch lacks.
	behind bool
	tree   Tree
	err    error
}

// views are those of a snapshot that somebody has asked for: of many mounts, a call
// looks at few.
type views struct {
	mu      sync.Mutex // guards what follows
	byMount map[*Mount]*view
}

func (vs *views) of(m *Mount) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.byMount[m]
	if v == nil {
		if vs.byMount == nil {
			vs.byMount = map[*Mount]*view{}
		}
		v = &view{mount: m}
		vs.byMount[m] = v
	}
	return v
}

// view returns a mount's base and tree.
func (s *Snapshot) view(ctx context.Context, m *Mount) (*view, error) {
	v := s.views.of(m)
	v.once.Do(func() { v.err = v.open(ctx, s.live.host.cfg) })
	if v.err != nil && ctx.Err() == nil && KindOf(v.err) == Canceled {
		// Another reader gave up while it opened the view for both.
		again := &view{mount: m}
		again.once.Do(func() { again.err = again.open(ctx, s.live.host.cfg) })
		return again, again.err
	}
	return v, v.err
}

func (v *view) open(ctx context.Context, cfg *Config) error {
	m := v.mount
	if !m.Pin.IsZero() {
		v.base = m.Pin
	} else if err := v.float(ctx, cfg); err != nil {
		return err
	}
	tree, err := cfg.Trees.Tree(ctx, m.Source, v.base)
	v.tree = tree
	return mountError(m, err)
}

// float finds the commit that a mount is read at: the head of its branch. A work
// branch of which the upstream has everything, or that is gone after it was
// merged, has nothing of its own: the mount follows its upstream again. One that
// lost the last commit made here is read at that commit.
func (v *view) float(ctx context.Context, cfg *Config) error {
	m := v.mount
	if m.Work.IsZero() {
		head, err := cfg.Trees.Head(ctx, m.Source, m.Branch)
		v.base = head
		return mountError(m, err)
	}
	work, err := headOrNone(ctx, cfg, m.Source, m.Branch)
	if err != nil {
		return mountError(m, err)
	}
	up, err := headOrNone(ctx, cfg, m.Source, m.Upstream)
	if err != nil {
		return mountError(m, err)
	}
	ours := m.Work // what must not get lost
	if !work.IsZero() {
		kept, err := contains(ctx, cfg, m.Source, work, m.Work)
		if err != nil {
			return mountError(m, err)
		}
		if !kept {
			v.base, v.lost = m.Work, true
			return nil
		}
		ours = work
	}
	merged, err := contains(ctx, cfg, m.Source, up, ours)
	if err != nil {
		return mountError(m, err)
	}
	switch {
	case merged:
		v.base, v.work = up, work
	case work.IsZero():
		v.base, v.lost = m.Work, true
	default:
		v.base, v.work = work, work
		known, err := contains(ctx, cfg, m.Source, work, up)
		v.behind = !known
		return mountError(m, err)
	}
	return nil
}

// headOrNone is Head with the zero id for a branch that is not there.
func headOrNone(ctx context.Context, cfg *Config, s Source, branch string) (OID, error) {
	head, err := cfg.Trees.Head(ctx, s, branch)
	if errors.Is(err, NotExist) {
		return OID{}, nil
	}
	return head, err
}

// contains reports whether a tip builds on a commit. Trees without ancestry know
// that of a commit and itself only.
func contains(ctx context.Context, cfg *Config, s Source, tip, commit OID) (bool, error) {
	if tip == commit || commit.IsZero() {
		return true, nil
	}
	a, ok := cfg.Trees.(Ancestry)
	if tip.IsZero() || !ok {
		return false, nil
	}
	return a.Contains(ctx, s, tip, commit)
}

// mountError tells which mount could not be read.
func mountError(m *Mount, err error) error {
	if err == nil || KindOf(err) == Canceled {
		return err
	}
	k, hint := KindOf(err), HintOf(err)
	if k == NotExist {
		k = Unavailable // the branch or the commit is gone, not the path that was asked for
	}
	if hint == "" {
		hint = "Bring it back in the repository; `carrel fsck` says what is missing there."
	}
	return (&Error{Kind: k, Err: err, Hint: hint}).At(string(m.Point))
}

// WorkState is how the work branch of a mount stands.
type WorkState struct {
	// Lost: it was rewritten, or removed without having been merged, and the
	// mount is read at the last commit made here.
	Lost bool
	// Behind: the upstream has commits that it lacks.
	Behind bool
}

// WorkBranch returns how the work branch of a mount stands; zero without one.
func (s *Snapshot) WorkBranch(ctx context.Context, m *Mount) (WorkState, error) {
	if m.Work.IsZero() {
		return WorkState{}, nil
	}
	v, err := s.view(ctx, m)
	if err != nil {
		return WorkState{}, err
	}
	return WorkState{Lost: v.lost, Behind: v.behind}, nil
}
