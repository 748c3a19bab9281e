package mounts

import (
	"container/heap"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/mounts/object"
	"carrel.dev/workspace"
)

// visit is a commit that a walk has come to. Its parents are those that the walk
// follows.
type visit struct {
	id      workspace.OID
	commit  *object.Commit
	parents []workspace.OID
	order   int // in which it was found, to break ties of time
}

// newest is a heap of visits, the newest commit first.
type newest []*visit

func (q newest) Len() int { return len(q) }
func (q newest) Less(i, j int) bool {
	a, b := q[i], q[j]
	if c := a.commit.CommitTime.Compare(b.commit.CommitTime); c != 0 {
		return c > 0
	}
	return a.order < b.order
}
func (q newest) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *newest) Push(x any)   { *q = append(*q, x.(*visit)) }
func (q *newest) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// walk goes through a history, newest commits first as far as their dates tell.
type walk struct {
	objects *object.Store
	shallow map[workspace.OID]bool // commits whose parents were not fetched
	queue   newest
	seen    map[workspace.OID]bool
}

func (r *repo) newWalk() (*walk, error) {
	shallow, err := readShallow(filepath.Join(r.dir.Common, "shallow"))
	if err != nil {
		return nil, err
	}
	return &walk{objects: r.objects, shallow: shallow, seen: map[workspace.OID]bool{}}, nil
}

// readShallow reads the ids of the commits at which a shallow clone ends.
func readShallow(name string) (map[workspace.OID]bool, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, workspace.Errorf(workspace.Unavailable, "the repository's shallow boundary cannot be read")
	}
	ends := map[workspace.OID]bool{}
	for line := range strings.Lines(string(text)) {
		id, err := workspace.ParseOID(strings.TrimSpace(line))
		if err != nil {
			return nil, workspace.Errorf(workspace.Corrupt, "the repository's shallow boundary is malformed")
		}
		ends[id] = true
	}
	return ends, nil
}

// add queues a commit, unless it was queued before.
func (w *walk) add(id workspace.OID) error {
	if w.seen[id] {
		return nil
	}
	w.seen[id] = true
	c, err := w.objects.Commit(id)
	if err != nil {
		return err
	}
	v := &visit{id: id, commit: c, parents: c.Parents, order: len(w.seen)}
	if w.shallow[id] {
		v.parents = nil
	}
	heap.Push(&w.queue, v)
	return nil
}

// next takes the newest commit out of the queue, nil at the end. The caller adds
// those of its parents that it wants to see.
func (w *walk) next(ctx context.Context) (*visit, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	if len(w.queue) == 0 {
		return nil, nil
	}
	return heap.Pop(&w.queue).(*visit), nil
}

// addParents queues what a visit follows.
func (w *walk) addParents(v *visit) error {
	for _, p := range v.parents {
		if err := w.add(p); err != nil {
			return lost(v.id, p, err)
		}
	}
	return nil
}

// lost makes the absence of a commit's parent damage.
func lost(child, parent workspace.OID, err error) error {
	if !errors.Is(err, workspace.NotExist) {
		return err
	}
	return workspace.Errorf(workspace.Corrupt, "commit %s, a parent of %s, is not in the repository", parent, child).
		Hinted("The history is damaged: run git fsck in the repository, and fetch what it reports.")
}

// reachable reports whether a commit is head or an ancestor of it. Dates only
// say where to look first; they may be wrong, so that a no costs the whole
// history.
func (r *repo) reachable(ctx context.Context, commit, head workspace.OID) (bool, error) {
	if has, err := r.objects.Has(commit); err != nil || !has {
		return false, err
	}
	w, err := r.newWalk()
	if err != nil {
		return false, err
	}
	if err := w.add(head); err != nil {
		return false, err
	}
	for !w.seen[commit] {
		v, err := w.next(ctx)
		if err != nil || v == nil {
			return false, err
		}
		if err := w.addParents(v); err != nil {
			return false, err
		}
	}
	return true, nil
}
