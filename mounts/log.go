package mounts

import (
	"container/heap"
	"context"

	"carrel.dev/workspace"
)

// Log implements workspace.Historian. When is the time of the commit, not that
// of its author, since the commits are sorted by it; a parent never stands
// before its child, whatever their dates. With a path, the history is simplified
// as git log simplifies it: a merge that agrees with one of its parents is left
// out, and only that parent is followed.
func (r *Repos) Log(ctx context.Context, s workspace.Source, from workspace.OID, path string, limit int) ([]workspace.LogEntry, error) {
	if from.IsZero() || limit <= 0 {
		return nil, alive(ctx)
	}
	repo, err := r.repo(s)
	if err != nil {
		return nil, err
	}
	w, err := repo.newWalk()
	if err != nil {
		return nil, err
	}
	if err := w.add(from); err != nil {
		return nil, err
	}
	l := &history{walk: w, path: path, at: map[workspace.OID]workspace.Node{}}
	if err := l.collect(ctx, limit); err != nil {
		return nil, err
	}
	var entries []workspace.LogEntry
	for _, v := range l.sorted() {
		if l.shown[v.id] && len(entries) < limit {
			entries = append(entries, workspace.LogEntry{
				Commit: v.id, Message: v.commit.Message, Author: v.commit.Author, When: v.commit.CommitTime,
			})
		}
	}
	return entries, nil
}

// history is the part of a history that a log looks at.
type history struct {
	*walk
	path   string
	at     map[workspace.OID]workspace.Node // what stands at path, by tree
	visits []*visit
	shown  map[workspace.OID]bool
}

// collect walks until limit commits are to be shown.
func (l *history) collect(ctx context.Context, limit int) error {
	l.shown = map[workspace.OID]bool{}
	for len(l.shown) < limit {
		v, err := l.next(ctx)
		if err != nil || v == nil {
			return err
		}
		show, err := l.simplify(v)
		if err != nil {
			return err
		}
		if show {
			l.shown[v.id] = true
		}
		l.visits = append(l.visits, v)
		if err := l.addParents(v); err != nil {
			return err
		}
	}
	return nil
}

// simplify reports whether a commit is to be shown, and reduces its parents to
// the first that has the same at the path, if one has.
func (l *history) simplify(v *visit) (show bool, err error) {
	if l.path == "" {
		return true, nil
	}
	here, err := l.node(v.commit.Tree)
	if err != nil {
		return false, err
	}
	if len(v.parents) == 0 {
		return here != workspace.Node{}, nil
	}
	for _, p := range v.parents {
		c, err := l.objects.Commit(p)
		if err != nil {
			return false, lost(v.id, p, err)
		}
		there, err := l.node(c.Tree)
		if err != nil {
			return false, err
		}
		if here == there {
			v.parents = []workspace.OID{p}
			return false, nil
		}
	}
	return true, nil
}

// node returns what stands at the path in a tree, the zero Node for nothing.
func (l *history) node(id workspace.OID) (workspace.Node, error) {
	if n, ok := l.at[id]; ok {
		return n, nil
	}
	top, err := l.objects.Tree(id)
	if err != nil {
		return workspace.Node{}, err
	}
	n, err := (&tree{objects: l.objects, id: id, top: top}).node(l.path, nil)
	if err != nil {
		return n, err
	}
	l.at[id] = n
	return n, nil
}

// sorted returns the visits by date, but each after all of its children. Dates
// alone do not suffice: clocks are wrong, and many commits are made in a second.
func (l *history) sorted() []*visit {
	byID := make(map[workspace.OID]*visit, len(l.visits))
	for _, v := range l.visits {
		byID[v.id] = v
	}
	children := map[workspace.OID]int{} // that are not out yet
	for _, v := range l.visits {
		for _, p := range v.parents {
			children[p]++
		}
	}
	var ready newest
	for i, v := range l.visits {
		v.order = i
		if children[v.id] == 0 {
			heap.Push(&ready, v)
		}
	}
	out := make([]*visit, 0, len(l.visits))
	for len(ready) > 0 {
		v := heap.Pop(&ready).(*visit)
		out = append(out, v)
		for _, p := range v.parents {
			if children[p]--; children[p] == 0 && byID[p] != nil {
				heap.Push(&ready, byID[p])
			}
		}
	}
	return out
}
