package workspace

import (
	"context"
	"errors"
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
	views *views
	held  map[OID][]byte // contents that a call has set and not stored yet

	// grants are those of whom it is for. Of repos that they leave out, unseen is what
	// the upper has, nil if there is nothing, and masked are the deviations.
	grants *Grants
	unseen *Upper
	masked map[Path]Deviation
}

func newSnapshot(l *live, s *State, t *Table) *Snapshot {
	return &Snapshot{State: s, Table: t, live: l, views: &views{}}
}

// with returns the snapshot with another upper, on the same bases.
func (s *Snapshot) with(u *Upper) *Snapshot {
	state := *s.State
	state.Upper = u
	next := *s
	next.State = &state
	return &next
}

// AtBase returns the lower alone: what a reader would see without the upper.
func (s *Snapshot) AtBase() *Snapshot { return s.with(&Upper{}) }

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
	_, _, covered := s.cover(p, m)
	return covered
}

// cover returns the nearest entry strictly above p, of the same owner, that hides
// what the lower has at p, and where it is.
func (s *Snapshot) cover(p Path, m *Mount) (Entry, Path, bool) {
	if m == nil || p == m.Point {
		return Entry{}, "", false
	}
	for d := range p.Ancestors {
		if d == m.Point {
			break
		}
		if e, ok := s.entry(d, m); ok && e.Hides() {
			return e, d, true
		}
	}
	return Entry{}, "", false
}

// wasIn returns what a directory had at p when an entry took its place.
func (s *Snapshot) wasIn(ctx context.Context, dir Path, base Base, p Path, m *Mount) (Base, error) {
	nothing := Base{Commit: base.Commit}
	if base.Kind() != Dir || !base.present() {
		return nothing, nil
	}
	nodes, err := s.nodesAt(ctx, m.Source, base.Commit, m.Point, []Path{p})
	if errors.Is(err, NotExist) || errors.Is(err, ErrMissing) {
		return nothing, nil // the commit is gone, or a part of it: nothing matches it
	}
	if err != nil {
		return nothing, err
	}
	return Base{Node: nodes[0], Commit: base.Commit}, nil
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
		if b := s.held[f.OID]; b != nil {
			return b, nil
		}
		b, err := s.live.host.body(ctx, f.OID, f.size)
		return b, lostAt(f.Path, err)
	}
	v, err := s.view(ctx, f.Mount)
	if err != nil {
		return nil, err
	}
	b, err := v.tree.Read(ctx, f.OID)
	if errors.Is(err, ErrMissing) {
		err = Errorf(Corrupt, "the repository has lost this file's object %s", f.OID).At(f.Path.String()).
			Hinted("Run git fsck in the repository, and fetch what it reports.")
	}
	return b, err
}

// lostAt names the file whose content a store has lost, and what can be done.
func lostAt(p Path, err error) error {
	if !errors.Is(err, Corrupt) {
		return err
	}
	return (&Error{Kind: Corrupt, Err: err}).At(p.String()).
		Hinted("Write the file again or `revert` it, or restore the data directory from a backup; `carrel fsck` says what else is lost.")
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
	if errors.Is(err, ErrMissing) {
		return s.live.host.content(ctx, id)
	}
	return b, err
}
