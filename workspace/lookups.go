package workspace

import (
	"context"
	"errors"
)

// Lookups returns what stands at each of many paths, in order; the zero Found
// for nothing. Each mount's tree is walked once, for the paths that the upper
// does not answer.
func (s *Snapshot) Lookups(ctx context.Context, paths []Path) ([]Found, error) {
	found := make([]Found, len(paths))
	below := map[*Mount][]int{} // what only a lower can answer
	for i, p := range paths {
		m := s.Table.Route(p)
		if m == nil || s.Table.Spans(p) || s.upperAnswers(p, m) {
			f, err := s.Lookup(ctx, p)
			if err != nil && !errors.Is(err, NotExist) {
				return nil, err
			}
			found[i] = f
			continue
		}
		below[m] = append(below[m], i)
	}
	for m, which := range below {
		if err := s.lookupsIn(ctx, m, which, paths, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// upperAnswers reports whether what stands at p does not depend on the lower.
func (s *Snapshot) upperAnswers(p Path, m *Mount) bool {
	_, own := s.entry(p, m)
	return own || s.upperShows(p, m) || s.hidden(p, m)
}

// lookupsIn asks one mount's tree for the paths at some indexes.
func (s *Snapshot) lookupsIn(ctx context.Context, m *Mount, which []int, paths []Path, found []Found) error {
	v, err := s.view(ctx, m)
	if err != nil {
		return err
	}
	rels := make([]string, len(which))
	for j, i := range which {
		rels[j] = paths[i].Rel(m.Point)
	}
	nodes, err := lookups(ctx, v.tree, rels)
	if err != nil {
		return err
	}
	for j, i := range which {
		if !nodes[j].present() {
			continue
		}
		f, err := s.foundLower(ctx, paths[i], m, nodes[j])
		if err != nil && !errors.Is(err, NotExist) {
			return err
		}
		if err == nil {
			found[i] = f
		}
	}
	return nil
}

// lookups asks a tree for many paths, in one walk if it can do that.
func lookups(ctx context.Context, t Tree, paths []string) ([]Node, error) {
	if many, ok := t.(LookupsTree); ok {
		return many.Lookups(ctx, paths)
	}
	nodes := make([]Node, len(paths))
	for i, p := range paths {
		n, err := t.Lookup(ctx, p)
		if err != nil && !errors.Is(err, NotExist) && !errors.Is(err, NotDir) {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}
