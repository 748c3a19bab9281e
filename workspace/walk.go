package workspace

import (
	"context"
	"iter"
	"slices"
	"sort"
	"strings"
)

// WalkOptions narrow a walk.
type WalkOptions struct {
	After Path // only what comes after this path
	// Name, if not nil, says whether to yield a file with a name, the last
	// segment of its path.
	Name func(name string) bool
	// Enter, if not nil, is a hint: it may be asked about a directory, and false
	// spares a look at what a lower has below it. What is in a list that is kept is
	// yielded all the same.
	Enter func(dir Path) bool
	// Mount, if not nil, is asked about each mount below the top: false leaves it
	// out.
	Mount func(m *Mount) bool
}

// Walk yields the files, symlinks and submodules at and below a path, sorted by
// path as bytes, or one error. Nil options narrow nothing. What the lower has is
// yielded from lists that are kept, and what the upper has is merged into them,
// so that a walk costs what it looks through.
func (s *Snapshot) Walk(ctx context.Context, top Path, o *WalkOptions) iter.Seq2[Found, error] {
	if o == nil {
		o = &WalkOptions{}
	}
	return func(yield func(Found, error) bool) {
		w := &walker{ctx: ctx, snap: s, top: top, o: o, yield: func(f Found) bool { return yield(f, nil) }}
		if err := w.all(); err != nil && !w.ended {
			yield(Found{}, err)
		}
	}
}

// walker is one walk.
type walker struct {
	ctx   context.Context // of the walk, which is one call
	snap  *Snapshot
	top   Path
	o     *WalkOptions
	yield func(Found) bool
	ended bool // yield wants no more
}

// all walks what is at and below the top.
func (w *walker) all() error {
	f, err := w.snap.Lookup(w.ctx, w.top)
	if err != nil {
		return err
	}
	if f.Kind != Dir {
		w.emit(f)
		return nil
	}
	points := w.points()
	m := w.snap.Table.Route(w.top)
	if m != nil {
		return w.mount(m, &points)
	}
	if Scratch.Contains(w.top) {
		return w.scratch()
	}
	return w.disjoint(&points)
}

// points lists the mounts below the top in the order of what they hold.
func (w *walker) points() []*Mount {
	points := slices.Collect(w.snap.Table.below(w.top))
	slices.SortFunc(points, func(a, b *Mount) int { return strings.Compare(a.Point.inside(), b.Point.inside()) })
	return points
}

// inside is what the paths below p begin with.
func (p Path) inside() string {
	if p == Root {
		return "/"
	}
	return string(p) + "/"
}

// disjoint walks mounts that are in no other one, and scratch among them.
func (w *walker) disjoint(points *[]*Mount) error {
	scratch := w.top == Root
	for len(*points) > 0 && !w.ended {
		m := (*points)[0]
		if scratch && m.Point.inside() > Scratch.inside() {
			scratch = false
			if err := w.scratch(); err != nil {
				return err
			}
			continue
		}
		*points = (*points)[1:]
		if err := w.mount(m, points); err != nil {
			return err
		}
	}
	if scratch && !w.ended {
		return w.scratch()
	}
	return nil
}

func (w *walker) scratch() error { return w.between(&layers{over: w.snap.overlay(w.top, nil)}, "", "") }

// layers are a mount, nil for scratch, and what the upper does to it.
type layers struct {
	mount *Mount
	over  *overlay
}

// mount walks a mount and, where they belong, those in it, which it takes from
// the head of points.
func (w *walker) mount(m *Mount, points *[]*Mount) error {
	entered := !m.Point.Below(w.top) || w.o.Mount == nil || w.o.Mount(m)
	var both *layers
	if entered {
		both = &layers{m, w.snap.overlay(w.top, m)}
	}
	after := ""
	for len(*points) > 0 && (*points)[0].Point.Below(m.Point) && !w.ended {
		inner := (*points)[0]
		*points = (*points)[1:]
		if entered {
			if err := w.between(both, after, inner.Point.inside()); err != nil || w.ended {
				return err
			}
		}
		if err := w.mount(inner, points); err != nil {
			return err
		}
		after = inner.Point.inside()
	}
	if !entered || w.ended {
		return nil
	}
	return w.between(both, after, "")
}

// between walks what is in both layers after one path and before another; "" is
// no bound. Neither bound is a file.
func (w *walker) between(both *layers, after, before string) error {
	over := both.over
	after = max(after, string(w.o.After))
	shown := over.shown[sort.Search(len(over.shown), func(i int) bool { return string(over.shown[i].Path) > after }):]
	next := func(before string) bool { // yields what the upper shows before a path
		for len(shown) > 0 && !w.ended && (before == "" || string(shown[0].Path) < before) {
			if w.o.Name == nil || w.o.Name(shown[0].Path.Base()) {
				w.emit(shown[0])
			}
			shown = shown[1:]
		}
		return !w.ended
	}
	err := w.lower(both.mount, after, func(f Found) bool {
		if before != "" && string(f.Path) >= before {
			return false
		}
		if over.hides(string(f.Path)) {
			return true
		}
		return next(string(f.Path)) && w.emit(f)
	})
	if err == nil {
		next(before)
	}
	return err
}

// lower walks what a mount's tree has below the top, whatever covers it.
func (w *walker) lower(m *Mount, after string, yield func(Found) bool) error {
	if m == nil {
		return nil
	}
	dir := ""
	if w.top.Below(m.Point) {
		if w.snap.hidden(w.top, m) {
			return nil
		}
		dir = w.top.Rel(m.Point)
	}
	v, err := w.snap.view(w.ctx, m)
	if err != nil {
		return err
	}
	l := Listing{Dir: dir, Under: m.Point.inside(), After: after, Name: w.o.Name}
	if enter := w.o.Enter; enter != nil {
		l.Enter = func(dir string) bool { return enter(Path(dir)) }
	}
	return v.tree.List(w.ctx, l, func(path string, n Node) bool {
		return yield(Found{Path: Path(path), Kind: n.Kind(), Mode: n.Mode.Canonical(), OID: n.OID, Layer: LayerLower, Mount: m})
	})
}

func (w *walker) emit(f Found) bool {
	if f.Path > w.o.After && !w.yield(f) {
		w.ended = true
	}
	return !w.ended
}
