package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// How many steps lie between the more expensive checks.
const (
	deepEvery   = 20
	replayEvery = 300
	keptMost    = 6
)

// expected is what a snapshot is to show.
type expected struct {
	view      map[string]node
	mounts    map[string]string
	status    map[string][]string
	withheld  []string
	unmounted []string
	displaced []string
}

func (l layers) expect() *expected {
	e := &expected{
		view: l.view(), mounts: map[string]string{}, status: map[string][]string{},
		withheld: sorted(l.t.withheld), unmounted: l.unmounted(), displaced: l.displaced(),
	}
	for p, m := range l.t.mounts {
		e.mounts[p] = m.String()
		for _, c := range l.status(m) {
			c.ours, c.base, c.theirs = c.ours.byID(), c.base.byID(), c.theirs.byID()
			e.status[p] = append(e.status[p], c.String())
		}
	}
	return e
}

func (m *mount) String() string {
	branch := m.upstream
	if m.work != nil {
		branch = m.work.branch
	}
	s := fmt.Sprintf("%s of %s, %s", branch, m.repo.path, m.policy)
	for _, is := range []struct {
		so   bool
		name string
	}{{m.removed, "removed"}, {m.lost, "lost"}, {m.behind, "behind"}} {
		if is.so {
			s += ", " + is.name
		}
	}
	if m.base != nil {
		s += " at " + m.base.id.Short()
	}
	return s
}

// kept is a snapshot from before.
type kept struct {
	space string
	host  int
	snap  *workspace.Snapshot
	want  *expected
}

// keep takes a snapshot that is asked again later.
func (w *world) keep(ctx context.Context, o op) error {
	s := w.spaces[o.space]
	if s == nil || !s.born || s.deleted {
		return nil
	}
	snap, err := w.snapshot(ctx, w.hosts[o.host], s)
	if err != nil {
		return err
	}
	k := kept{s.id, o.host, snap, w.layers(s).expect()}
	w.kept = append(w.kept, k)
	if len(w.kept) > keptMost {
		w.kept = w.kept[1:]
	}
	return k.want.holds(ctx, snap, true)
}

func (w *world) snapshot(ctx context.Context, h *host, s *space) (*workspace.Snapshot, error) {
	ws, err := h.project.Workspace(ctx, workspace.ID(s.id), workspace.Caller{})
	if err != nil {
		return nil, differ("view", "%s cannot be opened: %v", s.id, err)
	}
	return ws.Snapshot(ctx)
}

// look holds the product against the model after a step on a workspace, or on
// something that all of them see.
func (w *world) look(ctx context.Context, changed *space) error {
	if w.check == none {
		return nil
	}
	deep := w.check == all || w.steps%deepEvery == 0
	for _, id := range sorted(w.spaces) {
		s := w.spaces[id]
		if !s.born || s.deleted || !deep && changed != nil && changed != s {
			continue
		}
		want := w.layers(s).expect()
		for i, h := range w.hosts {
			if !deep && i != w.steps%len(w.hosts) {
				continue
			}
			if err := w.checkSpace(ctx, h, s, want, deep); err != nil {
				return fmt.Errorf("%s on host %d: %w", id, i, err)
			}
		}
	}
	if deep {
		for _, k := range w.kept {
			if err := k.want.holds(ctx, k.snap, true); err != nil {
				return fmt.Errorf("an old snapshot of %s: %w", k.space, err)
			}
		}
	}
	if w.check == all || w.steps%replayEvery == 0 {
		return w.replay(ctx)
	}
	return nil
}

func (w *world) checkSpace(ctx context.Context, h *host, s *space, want *expected, deep bool) error {
	snap, err := w.snapshot(ctx, h, s)
	if err != nil {
		return err
	}
	return want.holds(ctx, snap, deep)
}

// replay holds hosts that begin now against the model: one that reads all records
// and one that may start from a checkpoint.
func (w *world) replay(ctx context.Context) error {
	for _, plain := range []bool{true, false} {
		s := w.stores
		if plain {
			s = withoutCheckpoints(s)
		}
		h, err := w.start(ctx, s)
		if err != nil {
			return err
		}
		err = w.checkReplay(ctx, h)
		if err := errors.Join(err, h.close()); err != nil {
			return fmt.Errorf("replayed, all records %v: %w", plain, err)
		}
	}
	return nil
}

func (w *world) checkReplay(ctx context.Context, h *host) error {
	var want []string
	for _, id := range sorted(w.spaces) {
		s := w.spaces[id]
		if !s.born || s.deleted {
			continue
		}
		want = append(want, id)
		if err := w.checkSpace(ctx, h, s, w.layers(s).expect(), false); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	c, err := h.project.Catalog(ctx)
	if err != nil {
		return err
	}
	var got []string
	for l := range c.List("/", "") {
		got = append(got, string(l.ID))
	}
	if !slices.Equal(got, want) {
		return differ("catalog", "want the workspaces %q, got %q", want, got)
	}
	return nil
}

// storeOnly hides what a store can do besides.
type storeOnly struct{ workspace.StoreWithFeed }

func withoutCheckpoints(s stores) stores {
	return func(ctx context.Context, dir string) (workspace.StoreWithFeed, workspace.Blobs, func() error, error) {
		store, blobs, done, err := s(ctx, dir)
		return storeOnly{store}, blobs, done, err
	}
}

// holds holds a snapshot against what is expected of it.
func (e *expected) holds(ctx context.Context, s *workspace.Snapshot, deep bool) error {
	if err := e.holdsMounts(ctx, s); err != nil {
		return err
	}
	if err := e.holdsWalk(ctx, s, deep); err != nil {
		return err
	}
	if err := e.holdsStatus(ctx, s); err != nil || !deep {
		return err
	}
	if err := e.holdsLookups(ctx, s); err != nil {
		return err
	}
	return e.holdsDirs(ctx, s)
}

func (e *expected) holdsMounts(ctx context.Context, s *workspace.Snapshot) error {
	got := map[string]string{}
	for _, m := range s.Table.Mounts {
		base, err := s.Base(ctx, m)
		if err != nil {
			return differ("mounts", "%s: %v", m.Point, err)
		}
		state, err := s.WorkBranch(ctx, m)
		if err != nil {
			return err
		}
		mine := &mount{
			upstream: m.Branch, repo: &repo{path: string(m.Repo)}, policy: m.Policy,
			removed: m.Removed, lost: state.Lost, behind: state.Behind,
		}
		if !base.IsZero() {
			mine.base = &commit{id: base}
		}
		got[string(m.Point)] = mine.String()
	}
	var withheld []string
	for _, m := range s.Table.Withheld {
		withheld = append(withheld, string(m.Point))
	}
	if !maps.Equal(got, e.mounts) || !slices.Equal(withheld, e.withheld) {
		return differ("mounts", "want %q, withheld %q; got %q, withheld %q", e.mounts, e.withheld, got, withheld)
	}
	return nil
}

// shown is a node as the product finds it; its text is that of the id, unless it
// has been read.
func shown(f workspace.Found) node {
	n := node{mode: f.Mode}
	if f.Kind != workspace.Dir {
		n.text = f.OID.String()
	}
	return n
}

// byID is n as shown shows it.
func (n node) byID() node {
	if n.isFile() {
		n.text = n.id().String()
	}
	return n
}

func (e *expected) holdsWalk(ctx context.Context, s *workspace.Snapshot, deep bool) error {
	want, got := map[string]node{}, map[string]node{}
	var order []string
	for p, n := range e.view {
		if n.isFile() {
			want[p] = n.byID()
		}
	}
	for f, err := range s.Walk(ctx, workspace.Root, nil) {
		if err != nil {
			return differ("view", "walk: %v", err)
		}
		order = append(order, string(f.Path))
		got[string(f.Path)] = shown(f)
		if !deep {
			continue
		}
		text, err := s.Content(ctx, f)
		if n := e.view[string(f.Path)]; n.isFile() && (err != nil || string(text) != n.text) {
			return differ("view", "%s: want %v, got %q, %v", f.Path, n, text, err)
		}
	}
	if !maps.Equal(want, got) {
		return differ("view", "walk:%s", compare(want, got))
	}
	if !slices.IsSorted(order) || len(order) != len(got) {
		return differ("view", "walk is not in order: %q", order)
	}
	return nil
}

func (e *expected) holdsStatus(ctx context.Context, s *workspace.Snapshot) error {
	for _, m := range s.Table.Mounts {
		changes, err := s.Changes(ctx, m)
		if err != nil {
			return differ("status", "%s: %v", m.Point, err)
		}
		var got []string
		for _, c := range changes {
			got = append(got, spelled(c))
		}
		if want := e.status[string(m.Point)]; !slices.Equal(got, want) {
			return differ("status", "%s:\n  want %s\n  got  %s", m.Point, strings.Join(want, "\n       "), strings.Join(got, "\n       "))
		}
	}
	if got := spell(s.Unmounted()); !slices.Equal(got, e.unmounted) {
		return differ("status", "want unmounted %q, got %q", e.unmounted, got)
	}
	if got := spell(s.Displaced()); !slices.Equal(got, e.displaced) {
		return differ("status", "want displaced %q, got %q", e.displaced, got)
	}
	return nil
}

func spell(list []workspace.Path) []string {
	var s []string
	for _, p := range list {
		s = append(s, string(p))
	}
	return s
}

// holdsLookups asks for each path by itself and for all at once, those that are
// not there too.
func (e *expected) holdsLookups(ctx context.Context, s *workspace.Snapshot) error {
	asked := map[string]bool{}
	for p := range e.view {
		asked[p] = true
		asked[path.Join(p, "a")] = true
		asked[path.Join(path.Dir(p), "nope")] = true
	}
	var all []workspace.Path
	for _, p := range sorted(asked) {
		all = append(all, workspace.Path(p))
	}
	many, err := s.Lookups(ctx, all)
	if err != nil {
		return differ("view", "lookups: %v", err)
	}
	for i, p := range all {
		f, err := s.Lookup(ctx, p)
		want, kind := e.view[string(p)].byID(), workspace.Kind("")
		if !want.present() {
			kind = workspace.NotExist
		}
		if workspace.KindOf(err) != kind || shown(f) != want && err == nil {
			return differ("view", "lookup of %s: want %v, got %v, %v", p, want, shown(f), err)
		}
		if kind != "" {
			f = workspace.Found{}
		}
		if many[i] != f {
			return differ("view", "lookups of %s: got %+v, alone %+v", p, many[i], f)
		}
	}
	return nil
}

func (e *expected) holdsDirs(ctx context.Context, s *workspace.Snapshot) error {
	children := map[string]map[string]node{}
	for p, n := range e.view {
		if n.isDir() && children[p] == nil {
			children[p] = map[string]node{}
		}
		if d := path.Dir(p); p != "/" {
			if children[d] == nil {
				children[d] = map[string]node{}
			}
			children[d][p] = n.byID()
		}
	}
	for p, n := range e.view {
		found, err := s.ReadDir(ctx, workspace.Path(p))
		if n.isFile() && workspace.KindOf(err) == workspace.NotDir {
			continue
		}
		got := map[string]node{}
		for _, f := range found {
			got[string(f.Path)] = shown(f)
		}
		if err != nil || !maps.Equal(got, children[p]) || len(found) != len(got) {
			return differ("view", "readDir of %s: %v:%s", p, err, compare(children[p], got))
		}
	}
	return nil
}

// spelled is a product's change as the model writes it.
func spelled(c workspace.FileChange) string {
	mine := change{
		path: string(c.Path), name: c.Change, conflict: c.Conflict != "", ignored: c.Ignored,
		ours: told(c.Ours), base: told(c.Base), theirs: told(c.Theirs),
	}
	return mine.String()
}

func told(n workspace.Node) node {
	if n.Mode == workspace.ModeDir || n.Mode == 0 {
		return node{mode: n.Mode}
	}
	return node{n.Mode, n.OID.String()}
}
