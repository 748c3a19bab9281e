package workspace

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Layer says where a node comes from.
type Layer string

// The layers of a merged view. Virtual are the directories that exist because
// something is mounted at or below them.
const (
	LayerUpper   Layer = "upper"
	LayerLower   Layer = "lower"
	LayerVirtual Layer = "virtual"
)

// Found is what a snapshot has at a path.
type Found struct {
	Path     Path
	Kind     NodeKind // File, Symlink, Dir or Submodule
	Mode     Mode
	OID      OID // of a file's content, a link's target, a submodule's commit; zero for a directory
	Layer    Layer
	Mount    *Mount    // nil in scratch and above the mounts
	Modified time.Time // zero for what the lower has
	size     int64     // of an upper entry
}

// Snapshot is one state of a workspace with the trees that its mounts are read
// at. It never changes and is safe for concurrent use. A mount's base is fixed
// when the snapshot first looks at it, so that a mount nobody asks for costs
// nothing.
type Snapshot struct {
	State *State
	Table *Table
	live  *live
	views map[*Mount]*view
}

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

func newSnapshot(l *live, s *State, t *Table) *Snapshot {
	snap := &Snapshot{State: s, Table: t, live: l, views: make(map[*Mount]*view, len(t.Mounts))}
	for _, m := range t.Mounts {
		snap.views[m] = &view{mount: m}
	}
	return snap
}

// with returns the snapshot with another upper, on the same bases.
func (s *Snapshot) with(u *Upper) *Snapshot {
	state := *s.State
	state.Upper = u
	return &Snapshot{State: &state, Table: s.Table, live: s.live, views: s.views}
}

// AtBase returns the lower alone: what a reader would see without the upper.
func (s *Snapshot) AtBase() *Snapshot { return s.with(&Upper{}) }

// view returns a mount's base and tree.
func (s *Snapshot) view(ctx context.Context, m *Mount) (*view, error) {
	v := s.views[m]
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
	k := KindOf(err)
	if k == NotExist {
		k = Unavailable // the branch or the commit is gone, not the path that was asked for
	}
	return (&Error{Kind: k, Err: err, Hint: HintOf(err)}).At(string(m.Point))
}

// Lookup returns what stands at a path, or NotExist.
func (s *Snapshot) Lookup(ctx context.Context, p Path) (Found, error) {
	m := s.Table.Route(p)
	if s.Table.Spans(p) || p == Scratch {
		return Found{Path: p, Kind: Dir, Mode: ModeDir, Layer: LayerVirtual, Mount: m}, nil
	}
	if m == nil && !Scratch.Contains(p) {
		return Found{}, absent(p)
	}
	if e, ok := s.entry(p, m); ok && e.Kind != Whiteout {
		return foundUpper(p, m, e), nil
	}
	if s.upperShows(p, m) {
		return Found{Path: p, Kind: Dir, Mode: ModeDir, Layer: LayerUpper, Mount: m}, nil
	}
	if m == nil || s.hidden(p, m) {
		return Found{}, absent(p)
	}
	n, err := s.lower(ctx, p, m)
	if err != nil {
		return Found{}, err
	}
	return s.foundLower(ctx, p, m, n)
}

func absent(p Path) error {
	return Errorf(NotExist, "there is no such file or directory").At(p.String())
}

func foundUpper(p Path, m *Mount, e Entry) Found {
	return Found{Path: p, Kind: e.Kind, Mode: e.Mode, OID: e.OID, Layer: LayerUpper, Mount: m, Modified: e.Modified, size: e.Size}
}

func (s *Snapshot) foundLower(ctx context.Context, p Path, m *Mount, n Node) (Found, error) {
	f := Found{Path: p, Kind: n.Kind(), Mode: n.Mode.Canonical(), OID: n.OID, Layer: LayerLower, Mount: m}
	if f.Kind != Dir {
		return f, nil
	}
	f.OID = OID{}
	shown, err := s.lowerShows(ctx, p, m)
	if err == nil && !shown {
		err = absent(p)
	}
	return f, err
}

// entry returns the upper's entry at a path if it belongs to the path's owner.
func (s *Snapshot) entry(p Path, m *Mount) (Entry, bool) {
	e, ok := s.State.Upper.Get(p)
	return e, ok && e.Owner == m.Owner()
}

// hidden reports whether an entry at or above p, of the same owner, hides what
// the lower has at p.
func (s *Snapshot) hidden(p Path, m *Mount) bool {
	if e, ok := s.entry(p, m); ok && e.Hides() {
		return true
	}
	for d := range p.Ancestors {
		if !m.Point.Contains(d) || d == m.Point {
			return false
		}
		if e, ok := s.entry(d, m); ok && e.Hides() {
			return true
		}
	}
	return false
}

// upperShows reports whether the upper has something to see strictly below p.
func (s *Snapshot) upperShows(p Path, m *Mount) bool {
	owner := m.Owner()
	for q, e := range s.State.Upper.Below(p) {
		if e.Kind != Whiteout && e.Owner == owner && s.Table.Route(q) == m {
			return true
		}
	}
	return false
}

// lowerShows reports whether a directory of the lower has something to see:
// something that no whiteout covers.
func (s *Snapshot) lowerShows(ctx context.Context, dir Path, m *Mount) (bool, error) {
	touched := false
	for range s.State.Upper.Below(dir) {
		touched = true
		break
	}
	if !touched {
		return true, nil
	}
	v, err := s.view(ctx, m)
	if err != nil {
		return false, err
	}
	entries, err := v.tree.ReadDir(ctx, dir.Rel(m.Point))
	if err != nil {
		return false, err
	}
	for _, d := range entries {
		p := dir.Join(d.Name)
		if e, ok := s.entry(p, m); ok && e.Hides() {
			continue
		}
		if d.Kind() != Dir {
			return true, nil
		}
		if shown, err := s.lowerShows(ctx, p, m); shown || err != nil {
			return shown, err
		}
	}
	return false, nil
}

// lower returns what a mount's tree has at a path, whatever the upper says.
func (s *Snapshot) lower(ctx context.Context, p Path, m *Mount) (Node, error) {
	v, err := s.view(ctx, m)
	if err != nil {
		return Node{}, err
	}
	n, err := v.tree.Lookup(ctx, p.Rel(m.Point))
	if errors.Is(err, NotExist) || errors.Is(err, NotDir) {
		return Node{}, absent(p)
	}
	return n, err
}

// lowerNode is lower with the zero Node for what is absent.
func (s *Snapshot) lowerNode(ctx context.Context, p Path, m *Mount) (Node, error) {
	if m == nil {
		return Node{}, nil
	}
	n, err := s.lower(ctx, p, m)
	if errors.Is(err, NotExist) {
		return Node{}, nil
	}
	return n, err
}

// Base returns the commit that a mount is read at.
func (s *Snapshot) Base(ctx context.Context, m *Mount) (OID, error) {
	v, err := s.view(ctx, m)
	if err != nil {
		return OID{}, err
	}
	return v.base, nil
}

// Lower returns the tree that a mount is read at, without the upper.
func (s *Snapshot) Lower(ctx context.Context, m *Mount) (Tree, error) {
	v, err := s.view(ctx, m)
	if err != nil {
		return nil, err
	}
	return v.tree, nil
}

// Content returns a file's bytes or a link's target. They are shared: the caller
// does not modify them.
func (s *Snapshot) Content(ctx context.Context, f Found) ([]byte, error) {
	switch {
	case f.Kind == Dir:
		return nil, Errorf(IsDir, "is a directory").At(f.Path.String())
	case f.Kind == Submodule:
		return nil, Errorf(Invalid, "is a submodule at commit %s, whose files are in a repository of their own", f.OID).At(f.Path.String())
	case f.Layer == LayerUpper:
		return s.live.host.body(ctx, f.OID, f.size)
	}
	v, err := s.view(ctx, f.Mount)
	if err != nil {
		return nil, err
	}
	b, err := v.tree.Read(ctx, f.OID)
	if errors.Is(err, NotExist) {
		err = &Error{Kind: Corrupt, Path: f.Path.String(), Err: errors.New("the repository has lost this file's object " + f.OID.String())}
	}
	return b, err
}

// Size returns the length of a file's content or a link's target in bytes; 0 for
// a directory and a submodule.
func (s *Snapshot) Size(ctx context.Context, f Found) (int64, error) {
	switch {
	case f.Kind == Dir || f.Kind == Submodule:
		return 0, nil
	case f.Layer == LayerUpper:
		return f.size, nil
	}
	v, err := s.view(ctx, f.Mount)
	if err != nil {
		return 0, err
	}
	return v.tree.Size(ctx, f.OID)
}

// body reads a content of the upper and checks that it is whole.
func (h *Host) body(ctx context.Context, id OID, size int64) ([]byte, error) {
	b, err := h.content(ctx, id)
	if err == nil && int64(len(b)) != size {
		err = Errorf(Corrupt, "content %s has %d bytes instead of %d", id, len(b), size)
	}
	return b, err
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
	v, err := s.view(ctx, m)
	if err != nil {
		return WorkState{}, err
	}
	return WorkState{Lost: v.lost, Behind: v.behind}, nil
}

// Log returns up to limit commits of a mount from its base back, newest first;
// with a path only those that changed what stands there.
func (s *Snapshot) Log(ctx context.Context, m *Mount, p Path, limit int) ([]LogEntry, error) {
	h, ok := s.live.host.cfg.Trees.(Historian)
	if !ok {
		return nil, Errorf(Unavailable, "the repository has no readable history").At(string(m.Point))
	}
	v, err := s.view(ctx, m)
	if err != nil || v.base.IsZero() {
		return nil, err
	}
	return h.Log(ctx, m.Source, v.base, p.Rel(m.Point), limit)
}

// Blob returns a content that a mount's repository or the upper has.
func (s *Snapshot) Blob(ctx context.Context, m *Mount, id OID) ([]byte, error) {
	v, err := s.view(ctx, m)
	if err != nil {
		return nil, err
	}
	b, err := v.tree.Read(ctx, id)
	if errors.Is(err, NotExist) {
		return s.live.host.content(ctx, id)
	}
	return b, err
}
