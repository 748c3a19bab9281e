package workspace

import (
	"context"
)

// Moved is what a copy or move did.
type Moved struct {
	From, To Path
	Count    int  // files and symlinks
	Replaced bool // something was at To
}

// Copy copies a file, a symlink or a directory with all below it, keeping modes
// and links. If something is at the target it is Exist, unless overwrite is set:
// then a file replaces a file and a directory a directory, as a whole.
func (w *Workspace) Copy(ctx context.Context, from, to Path, overwrite bool) (Moved, error) {
	return w.transfer(ctx, from, to, overwrite, false)
}

// Move is Copy that takes the original away, in one event.
func (w *Workspace) Move(ctx context.Context, from, to Path, overwrite bool) (Moved, error) {
	return w.transfer(ctx, from, to, overwrite, true)
}

func (w *Workspace) transfer(ctx context.Context, from, to Path, overwrite, move bool) (Moved, error) {
	op := "cp"
	if move {
		op = "mv"
	}
	return apply(ctx, w, op, func(ctx context.Context, st *stage) (Moved, error) {
		return st.transfer(ctx, from, to, overwrite, move)
	})
}

func (st *stage) transfer(ctx context.Context, from, to Path, overwrite, move bool) (Moved, error) {
	if move {
		if _, err := st.now.place(from); err != nil {
			return Moved{}, err
		}
	}
	r, err := st.copy(ctx, from, to, overwrite)
	if err == nil && move {
		st.sees(from)
		_, err = st.delete(ctx, from, true)
	}
	return r, err
}

func (st *stage) copy(ctx context.Context, from, to Path, overwrite bool) (Moved, error) {
	if from.Contains(to) || to.Contains(from) {
		return Moved{}, Errorf(Invalid, "cannot copy or move %s to %s: one holds the other", from, to).At(from.String())
	}
	src, err := st.now.Lookup(ctx, from)
	if err != nil {
		return Moved{}, err
	}
	nodes, err := st.gather(ctx, src)
	if err != nil {
		return Moved{}, err
	}
	r := Moved{From: from, To: to}
	if r.Replaced, err = st.makeWay(ctx, src, to, overwrite); err != nil {
		return r, err
	}
	meter := MeterOf(ctx)
	meter.Expect(len(nodes))
	for _, n := range nodes {
		meter.Step()
		if err := st.copyNode(ctx, n, to.Join(n.Path.Rel(from))); err != nil {
			return r, err
		}
		if n.Kind != Dir {
			r.Count++
		}
	}
	return r, nil
}

// gather lists what is to be copied: files and symlinks, and the directories
// that stand by themselves.
func (st *stage) gather(ctx context.Context, src Found) ([]Found, error) {
	limit := st.w.live.host.cfg.Limits.TreeEntries
	var nodes []Found
	for f, err := range st.now.Walk(ctx, src.Path, nil) {
		switch {
		case err != nil:
			return nil, err
		case f.Kind == Submodule:
			return nil, Errorf(Invalid, "is a submodule, which cannot be copied or moved").At(f.Path.String())
		case len(nodes) == limit:
			return nil, Errorf(Limit, "more than %d files", limit).At(src.Path.String()).Hinted("Take a part of it at a time.")
		}
		nodes = append(nodes, f)
	}
	for p, e := range st.now.State.Upper.Within(src.Path) {
		if e.Kind == Dir && st.now.Table.Route(p).Owner() == e.Owner {
			nodes = append(nodes, Found{Path: p, Kind: Dir, Mode: ModeDir, Mount: st.now.Table.Route(p)})
		}
	}
	return nodes, nil
}

// makeWay checks the target and takes away what is there.
func (st *stage) makeWay(ctx context.Context, src Found, to Path, overwrite bool) (replaced bool, err error) {
	_, cur, err := st.now.guardNew(ctx, to)
	if err != nil || cur.Path == "" {
		return false, err
	}
	inside := to.Join(src.Path.Base())
	switch {
	case cur.Kind == Dir && src.Kind != Dir:
		return false, Errorf(IsDir, "is a directory").At(to.String()).Hinted("Name the new path itself: did you mean %s?", inside)
	case !overwrite && cur.Kind == Dir:
		return false, Errorf(Exist, "a directory is there").At(to.String()).
			Hinted("Did you mean %s? Pass overwrite: true to replace the whole directory.", inside)
	case !overwrite:
		return false, Errorf(Exist, "a %s is there", cur.Kind).At(to.String()).Hinted("Pass overwrite: true to replace it.")
	case cur.Kind != Dir && src.Kind == Dir:
		return false, Errorf(NotDir, "is a %s, which a directory cannot replace", cur.Kind).At(to.String())
	case cur.Kind != Dir:
		return true, writableKind(cur)
	}
	gone, err := st.delete(ctx, to, true)
	return gone.Deleted, err
}

// copyNode sets one node at its new path.
func (st *stage) copyNode(ctx context.Context, n Found, to Path) error {
	m, cur, err := st.now.guardNew(ctx, to)
	if err != nil {
		return err
	}
	if n.Kind == Dir {
		if cur.Path != "" {
			return nil
		}
		return st.setDir(ctx, to, m)
	}
	content, err := st.now.Content(ctx, n)
	if err != nil {
		return err
	}
	_, err = st.setContent(ctx, m, cur, to, content, n.Mode)
	return err
}
