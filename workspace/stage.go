package workspace

import (
	"bytes"
	"context"
	"errors"
	"time"
	"unicode/utf8"
)

// maxBefores is how many changes of one event say what was there before.
const maxBefores = 1000

// maxCarried is how many bytes of small contents one append carries; beyond it
// they are stored before, so that a large copy does not fill the memory.
const maxCarried = 64 << 20

// stage collects the effect of one call on a snapshot, one change after the
// other: each sees what those before it did.
type stage struct {
	w     *Workspace
	first *Snapshot
	now   *Snapshot

	drops  []Path
	order  []Path // the paths that were set, in the order of the first change
	bodies []Body
	held   map[OID][]byte // contents that are, or will be, in the store
	bytes  int64          // of bodies
	bases  []OID          // bodies of what was replaced below
	marks  []mark
	seen   map[Path]bool // paths whose current version the change is made from
	// inFlight are the paths of the commits that are under way.
	inFlight map[Path]bool
}

// mark is a version that the caller knows once the call has succeeded, or, with
// forget set, those at and below a path that it does not know any more.
type mark struct {
	path   Path
	node   Node
	forget bool
}

func newStage(w *Workspace, s *Snapshot) *stage {
	now := s.with(s.State.Upper)
	now.held = map[OID][]byte{}
	inFlight := map[Path]bool{}
	for _, in := range s.State.Intents {
		for _, c := range in.Changes {
			inFlight[c.Path] = true
		}
	}
	return &stage{w: w, first: s, now: now, held: now.held, seen: map[Path]bool{}, inFlight: inFlight}
}

// apply runs one call on a stage and records its effect as one event.
func apply[R any](ctx context.Context, w *Workspace, op string, call func(ctx context.Context, st *stage) (R, error)) (R, error) {
	return mutate(ctx, w, VerbWrite, func(ctx context.Context, s *Snapshot) (decision, R, error) {
		st := newStage(w, s)
		r, err := call(ctx, st)
		if err != nil {
			return decision{}, r, err
		}
		d, err := st.finish(ctx, op)
		return d, r, err
	})
}

// set puts an entry, or takes it away with nil.
func (st *stage) set(p Path, e *Entry) {
	u := st.now.State.Upper
	old, had := u.Get(p)
	if e == nil && !had || e != nil && had && old.Same(*e) {
		return
	}
	if e == nil {
		u = u.Without(p)
	} else {
		u = u.With(p, *e)
	}
	st.now = st.now.with(u)
	st.order = append(st.order, p)
}

// sees notes that a change of p is made from what is there now.
func (st *stage) sees(p Path) { st.seen[p] = true }

// knows notes what stands at a path for the caller from now on.
func (st *stage) knows(p Path, n Node) { st.marks = append(st.marks, mark{path: p, node: n}) }

// forgets notes that what the caller was served at and below a path is nowhere
// from now on.
func (st *stage) forgets(p Path) { st.marks = append(st.marks, mark{path: p, forget: true}) }

// hold makes sure that a content will be in the store when the event names it.
func (st *stage) hold(ctx context.Context, id OID, content []byte) error {
	if content == nil {
		content = []byte{}
	}
	if _, known := st.held[id]; known {
		return nil
	}
	if st.bytes+int64(len(content)) > maxCarried {
		st.held[id] = nil // in the store from here on
		_, err := st.w.live.host.cfg.Blobs.Put(ctx, bytes.NewReader(content), int64(len(content)))
		return err
	}
	st.held[id] = content
	st.bytes += int64(len(content))
	st.bodies = append(st.bodies, Body{id, content})
	return nil
}

// holdBase keeps the content that a first copy-up replaces. One that the
// repository has lost already stays lost; its id is enough to compare with.
func (st *stage) holdBase(ctx context.Context, m *Mount, base Base) error {
	k := base.Kind()
	if m == nil || !base.present() || k != File && k != Symlink {
		return nil
	}
	tree, err := st.now.Lower(ctx, m)
	if err != nil {
		return err
	}
	size, err := tree.Size(ctx, base.OID)
	if err == nil && size > st.w.live.host.cfg.Limits.FileBytes {
		return nil // could not be written here either
	}
	content, err := tree.Read(ctx, base.OID)
	if errors.Is(err, Corrupt) {
		return nil
	}
	if err == nil {
		st.bases = append(st.bases, base.OID)
		err = st.hold(ctx, base.OID, content)
	}
	return err
}

// baseFor returns the base of the entry that is about to be set at p: that of
// the entry that it replaces; below a directory that was deleted or replaced what
// that had there; else the version that the caller was last served, else what the
// lower has now.
func (st *stage) baseFor(ctx context.Context, p Path, m *Mount) (Base, error) {
	if e, ok := st.now.entry(p, m); ok && e.Hides() {
		return e.Base, nil
	}
	if m == nil {
		return Base{}, nil
	}
	commit, err := st.now.Base(ctx, m)
	if err != nil {
		return Base{}, err
	}
	if above, dir, ok := st.now.cover(p, m); ok {
		base, err := st.now.wasIn(ctx, dir, above.Base, p, m)
		return base, errors.Join(err, st.holdBase(ctx, m, base))
	}
	n, err := st.now.lowerNode(ctx, p, m)
	if err != nil {
		return Base{}, err
	}
	base := Base{Node{n.Mode.Canonical(), n.OID}, commit}
	if served, ok := st.w.live.served.last(st.w.caller.Session, placeOf(p, m.Owner())); ok && n.Kind() != Dir && !st.seen[p] {
		base.Node = served.Node
	}
	return base, st.holdBase(ctx, m, base)
}

// finish returns the decision: one event with the whole effect, or none if
// nothing came of it and no repeat can ask for the answer.
func (st *stage) finish(ctx context.Context, op string) (decision, error) {
	if err := st.sweep(ctx); err != nil {
		return decision{}, err
	}
	payload := Changed{Op: op, Drop: st.drops, Changes: st.changes()}
	for _, c := range payload.Changes {
		if !utf8.ValidString(string(c.Path)) {
			return decision{}, Errorf(Invalid, "the name %q is not UTF-8, and cannot be changed here", c.Path.Base()).At(c.Path.Dir().String())
		}
	}
	if len(payload.Changes) == 0 && len(payload.Drop) == 0 && st.w.caller.Key == "" {
		return decision{done: st.note}, nil // else the record keeps the answer
	}
	if err := st.bounded(ctx); err != nil {
		return decision{}, err
	}
	if err := st.disturbs(payload.Changes); err != nil {
		return decision{}, err
	}
	e := encode(WorkspaceChanged, payload)
	e.Bodies = append(e.Bodies, st.bases...)
	return decision{events: []Event{e}, bodies: st.bodies, done: st.note}, nil
}

// changes lists what is different from the first snapshot, once the drops are
// applied to it.
func (st *stage) changes() []PathChange {
	before := st.first.State.Upper
	for _, d := range st.drops {
		before = before.WithoutTree(d)
	}
	seen := map[Path]bool{}
	var changes []PathChange
	for _, p := range st.order {
		was, had := before.Get(p)
		is, has := st.now.State.Upper.Get(p)
		if seen[p] || had == has && was.Same(is) {
			continue
		}
		seen[p] = true
		c := PathChange{Path: p}
		if had {
			c.Before = plain(was)
		}
		if has {
			c.After = plain(is)
		}
		changes = append(changes, c)
	}
	if len(changes) > maxBefores {
		for i := range changes {
			changes[i].Before = nil
		}
	}
	return changes
}

// plain is an entry as events carry it: the record says when.
func plain(e Entry) *Entry {
	e.Modified = time.Time{}
	return &e
}

// disturbs refuses to replace what the caller does not see.
func (st *stage) disturbs(changes []PathChange) error {
	if st.first.unseen == nil {
		return nil
	}
	for _, c := range changes {
		if _, taken := st.first.unseen.Get(c.Path); taken {
			return Errorf(Permission, "is not writable").At(c.Path.String()).Hinted("Choose another path.")
		}
	}
	return nil
}

// bounded refuses an upper that would grow beyond its limits.
func (st *stage) bounded(ctx context.Context) error {
	l, was, is := st.w.live.host.cfg.Limits, st.first.State.Upper, st.now.State.Upper
	const hint = "Commit or revert some of the work first."
	unseen := &Upper{} // counts, and how much it is is not told
	if st.first.unseen != nil {
		unseen = st.first.unseen
	}
	if is.Len() > l.UpperEntries-unseen.Len() && is.Len() > was.Len() {
		return Errorf(Limit, "the workspace would have more than %d uncommitted entries", l.UpperEntries).Hinted(hint)
	}
	if is.Bytes() > l.UpperBytes-unseen.Bytes() && is.Bytes() > was.Bytes() {
		return Errorf(Limit, "the workspace would have more than %d bytes of uncommitted content", l.UpperBytes).Hinted(hint)
	}
	if is.Len() > was.Len() || is.Bytes() > was.Bytes() {
		return st.w.live.mayGrow(ctx, is.usage().plus(unseen.usage()))
	}
	return nil
}

// sweep takes away the whiteouts of the touched mounts below which nothing is
// left: what somebody adds there later is theirs, and to be seen.
func (st *stage) sweep(ctx context.Context) error {
	mounts := map[*Mount]bool{}
	for _, p := range st.order {
		if m := st.now.Table.Route(p); m != nil {
			mounts[m] = true
		}
	}
	for m := range mounts {
		head, err := st.now.Base(ctx, m)
		if err != nil {
			return err
		}
		for p, e := range st.now.State.Upper.Within(m.Point) {
			if e.Kind != Whiteout || e.Owner != m.Owner() || e.Base.Commit == head {
				continue
			}
			n, err := st.now.lowerNode(ctx, p, m)
			if err != nil {
				return err
			}
			if !n.present() {
				st.set(p, nil)
			}
		}
	}
	return nil
}

// note tells what the caller was served by its own call.
func (st *stage) note() {
	for _, m := range st.marks {
		if m.forget {
			st.w.live.served.forget(m.path)
			continue
		}
		st.w.live.served.note(st.w.caller.Session, placeOf(m.path, st.now.Table.Route(m.path).Owner()), version{m.node, true})
	}
}
