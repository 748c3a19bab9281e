package workspace

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// ReadDir returns what a directory holds, sorted by name as bytes. NotExist if
// nothing is at the path, NotDir if it is no directory.
func (s *Snapshot) ReadDir(ctx context.Context, dir Path) ([]Found, error) {
	f, err := s.Lookup(ctx, dir)
	if err != nil {
		return nil, err
	}
	if f.Kind != Dir {
		return nil, Errorf(NotDir, "is a %s, not a directory", f.Kind).At(dir.String())
	}
	return s.readDir(ctx, dir)
}

// readDir merges a directory that is known to be visible.
func (s *Snapshot) readDir(ctx context.Context, dir Path) ([]Found, error) {
	m := s.Table.Route(dir)
	names := map[string]Found{}
	s.addVirtual(names, dir)
	s.addUpper(names, dir, m)
	if m != nil && (dir == m.Point || !s.hidden(dir, m)) {
		if err := s.addLower(ctx, names, dir, m); err != nil {
			return nil, err
		}
	}
	found := make([]Found, 0, len(names))
	for _, f := range names {
		if f.Kind != Whiteout {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Found) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return found, nil
}

// addVirtual adds the directories that lead to mounts, and scratch.
func (s *Snapshot) addVirtual(names map[string]Found, dir Path) {
	add := func(p Path, m *Mount) {
		name, _, _ := strings.Cut(p.Rel(dir), "/")
		child := dir.Join(name)
		if child != p {
			m = s.Table.Route(child)
		}
		names[name] = Found{Path: child, Kind: Dir, Mode: ModeDir, Layer: LayerVirtual, Mount: m}
	}
	for m := range s.Table.below(dir) {
		add(m.Point, m)
	}
	if dir == Root {
		add(Scratch, nil)
	}
}

// addUpper adds the upper's entries directly in dir, whiteouts among them, and
// the directories that its deeper ones imply.
func (s *Snapshot) addUpper(names map[string]Found, dir Path, m *Mount) {
	owner := m.Owner()
	if m == nil && !Scratch.Contains(dir) {
		return
	}
	for p, e := range s.State.Upper.Below(dir) {
		rel := p.Rel(dir)
		name, _, deeper := strings.Cut(rel, "/")
		old, known := names[name]
		if e.Owner != owner || known && old.Kind != Whiteout {
			continue
		}
		child := dir.Join(name)
		switch {
		case !deeper:
			names[name] = foundUpper(child, m, e)
		case e.Kind != Whiteout && s.Table.Route(p) == m:
			names[name] = Found{Path: child, Kind: Dir, Mode: ModeDir, Layer: LayerUpper, Mount: m}
		}
	}
}

// addLower adds what the mount's tree has in dir and nothing above covers.
func (s *Snapshot) addLower(ctx context.Context, names map[string]Found, dir Path, m *Mount) error {
	v, err := s.view(ctx, m)
	if err != nil {
		return err
	}
	entries, err := v.tree.ReadDir(ctx, dir.Rel(m.Point))
	if errors.Is(err, NotExist) || errors.Is(err, NotDir) {
		return nil // the directory is the upper's alone
	}
	if err != nil {
		return err
	}
	for _, d := range entries {
		if _, covered := names[d.Name]; covered {
			continue
		}
		f, err := s.foundLower(ctx, dir.Join(d.Name), m, d.Node)
		if errors.Is(err, NotExist) {
			continue
		}
		if err != nil {
			return err
		}
		names[d.Name] = f
	}
	return nil
}
