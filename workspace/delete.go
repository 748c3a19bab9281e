package workspace

import (
	"context"
	"errors"
)

// Deleted is what a deletion did.
type Deleted struct {
	Path    Path
	Deleted bool
	Count   int // files and symlinks that are gone
}

// Delete removes a file or symlink, and a directory with all below it if
// recursive is set. What is not there is no error.
func (w *Workspace) Delete(ctx context.Context, p Path, recursive bool) (Deleted, error) {
	return apply(ctx, w, "deleteFile", func(ctx context.Context, st *stage) (Deleted, error) { return st.delete(ctx, p, recursive) })
}

func (st *stage) delete(ctx context.Context, p Path, recursive bool) (Deleted, error) {
	m, err := st.now.place(p)
	if err != nil {
		return Deleted{}, err
	}
	f, err := st.now.Lookup(ctx, p)
	if errors.Is(err, NotExist) {
		st.knows(p, Node{})
		return Deleted{Path: p}, nil
	}
	if err != nil {
		return Deleted{}, err
	}
	r := Deleted{Path: p, Deleted: true, Count: 1}
	if f.Kind == Dir {
		if !recursive {
			return Deleted{}, Errorf(IsDir, "is a directory").At(p.String()).Hinted("Pass recursive: true to delete it with all below it.")
		}
		r.Count = 0
		for f, err := range st.now.Walk(ctx, p, nil) {
			if err != nil {
				return Deleted{}, err
			}
			st.knows(f.Path, Node{})
			r.Count++
			MeterOf(ctx).Step()
		}
		before := st.now
		err := st.clearBelow(ctx, p, m)
		if err == nil {
			err = st.keepStale(ctx, p, m, before)
		}
		if err != nil {
			return Deleted{}, err
		}
	}
	return r, st.whiteout(ctx, p, m)
}

// clearBelow takes the upper's own entries below a directory away. One whose
// base the lower no longer has stays as a whiteout, so that the commit still
// finds the conflict: what nobody here has seen is not to be deleted.
func (st *stage) clearBelow(ctx context.Context, dir Path, m *Mount) error {
	for p, e := range st.now.State.Upper.Below(dir) {
		if e.Owner != m.Owner() {
			continue
		}
		st.knows(p, Node{})
		n, err := st.now.lowerNode(ctx, p, m)
		if err != nil {
			return err
		}
		fresh := !n.present() || !e.Hides() || (Node{n.Mode.Canonical(), n.OID}) == e.Base.Node
		if fresh && !st.landing(p) {
			st.set(p, nil)
			continue
		}
		st.set(p, &Entry{Kind: Whiteout, Owner: e.Owner, Base: e.Base})
	}
	return nil
}

// keepStale marks the files below a directory that the caller read in another
// version than the lower has now: the deletion is made from what was read, and
// the commit has to find the conflict. What the lower had hidden before, by
// entries of the workspace, is judged by them.
func (st *stage) keepStale(ctx context.Context, dir Path, m *Mount, before *Snapshot) error {
	if m == nil || st.seen[dir] || st.coveredAbove(dir, m) {
		return nil
	}
	head, err := st.now.Base(ctx, m)
	if err != nil {
		return err
	}
	for p, seen := range st.w.live.served.below(st.w.caller.Session, placeOf(dir, m.Owner())) {
		if before.Table.Route(p) != m || before.hidden(p, m) {
			continue
		}
		n, err := st.now.lowerNode(ctx, p, m)
		if err != nil {
			return err
		}
		if n.present() && n.Kind() != Dir && (Node{n.Mode.Canonical(), n.OID}) != seen.Node {
			st.set(p, &Entry{Kind: Whiteout, Owner: m.Owner(), Base: Base{Node: seen.Node, Commit: head}})
		}
	}
	return nil
}

// whiteout makes what stands at p go away: by a mark over what the lower has,
// else by dropping the upper's entry.
func (st *stage) whiteout(ctx context.Context, p Path, m *Mount) error {
	st.knows(p, Node{})
	e, had := st.now.entry(p, m)
	n, err := st.now.lowerNode(ctx, p, m)
	if err != nil {
		return err
	}
	// A file that is only ours: theirs, if any, shows again.
	added := had && e.Kind != Whiteout && e.Hides() && e.Base.Node == Node{}
	if (!n.present() || added || st.coveredAbove(p, m)) && !st.landing(p) {
		st.set(p, nil)
		return nil
	}
	base, err := st.baseFor(ctx, p, m)
	if err != nil {
		return err
	}
	st.set(p, &Entry{Kind: Whiteout, Owner: m.Owner(), Base: base})
	return nil
}
