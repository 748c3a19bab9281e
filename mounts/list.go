package mounts

import (
	"context"

	"carrel.dev/mounts/object"
	"carrel.dev/workspace"
)

// List implements workspace.Tree.
func (t *tree) List(ctx context.Context, l workspace.Listing, yield func(path string, n workspace.Node) bool) error {
	n, err := t.node(l.Dir, nil)
	if err != nil || n.Kind() != workspace.Dir {
		return err
	}
	w := lister{objects: t.objects, Listing: l, yield: yield}
	prefix := l.Under
	if l.Dir != "" {
		prefix += l.Dir + "/"
	}
	_, err = w.tree(ctx, n.OID, prefix)
	return err
}

// lister lists the files below a tree: in pieces that are kept for all who list
// the same tree at the same place, and entry by entry where a piece would be too
// large. After a commit only the pieces that it changed are made anew.
type lister struct {
	objects *object.Store
	workspace.Listing
	yield func(path string, n workspace.Node) bool
}

// tree reports whether the walk goes on after a tree whose paths begin with
// prefix.
func (w *lister) tree(ctx context.Context, id workspace.OID, prefix string) (bool, error) {
	if err := alive(ctx); err != nil {
		return false, err
	}
	// Damage in a piece is met again where it belongs, after what comes before.
	if f, err := w.objects.Flat(id, prefix); err == nil && f != nil {
		return w.flat(f), nil
	}
	t, err := w.objects.Tree(id)
	if err != nil {
		return false, err
	}
	for e := range t.All() {
		on := true
		switch {
		case e.Mode != workspace.ModeDir:
			on = w.file(prefix, e)
		case w.enters(prefix + e.Name):
			on, err = w.tree(ctx, e.ID, prefix+e.Name+"/")
		}
		if !on || err != nil {
			return false, err
		}
	}
	return true, nil
}

// enters reports whether a directory may have something to list.
func (w *lister) enters(dir string) bool {
	const afterSlash = "0" // the byte that follows it
	return dir+afterSlash > w.After && (w.Enter == nil || w.Enter(dir))
}

// flat reports whether the walk goes on after a piece.
func (w *lister) flat(f *object.Flat) bool {
	i := 0
	if w.After != "" {
		i = f.After(w.After)
	}
	for ; i < f.Len(); i++ {
		if w.Name != nil && !w.Name(f.Name(i)) {
			continue
		}
		if !w.yield(f.Path(i), f.Node(i)) {
			return false
		}
	}
	return true
}

// file reports whether the walk goes on after a file that is in no piece.
func (w *lister) file(prefix string, e object.Entry) bool {
	if w.Name != nil && !w.Name(e.Name) {
		return true
	}
	path := prefix + e.Name
	return path <= w.After || w.yield(path, e.Node())
}
