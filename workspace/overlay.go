package workspace

import (
	"slices"
	"strings"
)

// overlay is what the upper does to a mount's list of files, or to nothing, at
// and below a directory: what it shows, and which paths of the lower are not
// seen because of it.
type overlay struct {
	shown []Found // files and symlinks, by path
	spans []span  // by path, none touching another
	at    int     // where hides is: it goes through the spans once
}

// span is a range of paths, without its end.
type span struct{ from, to string }

// overlay collects what the upper does for a mount, nil for scratch, at and
// below a directory.
func (s *Snapshot) overlay(top Path, m *Mount) *overlay {
	over := &overlay{}
	within := top
	switch {
	case m == nil && top == Root:
		within = Scratch
	case m != nil && m.Point.Below(top):
		within = m.Point
	}
	owner := m.Owner()
	var last Path
	for p, e := range s.State.Upper.Within(within) {
		if e.Owner != owner || s.Table.Route(p) != m || p == within {
			continue // what stands at the directory itself is for its readers to judge
		}
		over.hide(p, e.Hides())
		if e.Kind == Whiteout {
			continue
		}
		over.hideAbove(p, within, last)
		last = p
		if e.Kind == File || e.Kind == Symlink {
			over.shown = append(over.shown, foundUpper(p, m, e))
		}
	}
	if m != nil {
		for inner := range s.Table.below(within) {
			over.hide(inner.Point, true)
			over.hideAbove(inner.Point, within, "")
		}
	}
	over.join()
	return over
}

// hide notes that nothing of the lower is seen at a path, and perhaps below it.
func (o *overlay) hide(p Path, below bool) {
	o.spans = append(o.spans, span{string(p), string(p) + "\x00"})
	if below {
		o.spans = append(o.spans, span{p.inside(), string(p) + "0"}) // "0" follows the slash
	}
}

// hideAbove hides the files that stand where directories between within and a
// path have to be, but for those above the path that it was last done for.
func (o *overlay) hideAbove(p, within, last Path) {
	for d := range p.Ancestors {
		if d == within || d.Contains(last) {
			return
		}
		o.hide(d, false)
	}
}

// join sorts the spans and makes one of those that touch.
func (o *overlay) join() {
	slices.SortFunc(o.spans, func(a, b span) int { return strings.Compare(a.from, b.from) })
	joined := o.spans[:0]
	for _, s := range o.spans {
		if last := len(joined) - 1; last >= 0 && s.from <= joined[last].to {
			joined[last].to = max(joined[last].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	o.spans = joined
}

// hides reports whether a path of the lower is not seen. It is asked about paths
// in order.
func (o *overlay) hides(path string) bool {
	for o.at < len(o.spans) && o.spans[o.at].to <= path {
		o.at++
	}
	return o.at < len(o.spans) && o.spans[o.at].from <= path
}
