package workspace

import (
	"context"
	"errors"
	"strings"
)

// place returns the mount that a path may be changed in, nil for scratch. It
// refuses what no mutation may touch: the root and names that git reserves
// (Permission), mount points and what leads to them (IsDir), and whatever is
// neither in a mount nor in scratch (Permission).
func (s *Snapshot) place(p Path) (*Mount, error) {
	if p == Root {
		return nil, s.notWritable(p)
	}
	if err := p.checkSegments(); err != nil {
		return nil, err
	}
	if s.Table.Spans(p) {
		return nil, Errorf(IsDir, "is a mount point or leads to one").At(p.String()).
			Hinted("Name a file below it, for example %s.", p.Join("notes.md"))
	}
	if p == Scratch {
		return nil, Errorf(IsDir, "is the private directory itself").At(p.String()).
			Hinted("Name a file below it, for example %s.", p.Join("notes.md"))
	}
	m := s.Table.Route(p)
	if m == nil && (!Scratch.Contains(p) || Private.Contains(p)) {
		return nil, s.notWritable(p)
	}
	if e, ok := s.State.Upper.Get(p); ok && e.Owner != m.Owner() {
		return nil, Errorf(Conflict, "holds uncommitted work of the mount %s, which is no longer here", e.Owner.Mount).At(p.String()).
			Hinted("Use `revert` on the path to drop that work first.")
	}
	return m, nil
}

// notWritable teaches the two places where something can be written.
func (s *Snapshot) notWritable(p Path) error {
	const most = 5
	var points []string
	for _, m := range s.Table.Mounts {
		points = append(points, string(m.Point))
	}
	mounted := strings.Join(points[:min(most, len(points))], ", ")
	switch {
	case len(points) == 0:
		mounted = "none so far"
	case len(points) > most:
		mounted += ", …"
	}
	return Errorf(Permission, "is not writable").At(p.String()).
		Hinted("Write below %s, which is private and never committed, or below a mounted repo: %s.", Scratch, mounted)
}

// guardNew checks that a node may stand at p: its parents are directories. It
// returns the mount and what is there now, with Path "" if nothing is.
func (s *Snapshot) guardNew(ctx context.Context, p Path) (*Mount, Found, error) {
	m, err := s.place(p)
	if err != nil {
		return nil, Found{}, err
	}
	if err := s.CheckAbove(ctx, p); err != nil {
		return nil, Found{}, err
	}
	f, err := s.Lookup(ctx, p)
	if errors.Is(err, NotExist) {
		return m, Found{}, nil
	}
	return m, f, err
}

// CheckAbove is NotDir if something above p is no directory, so that nothing can
// stand at p. What a link points to is in the hint; links are not followed.
func (s *Snapshot) CheckAbove(ctx context.Context, p Path) error {
	for d := range p.Ancestors {
		f, err := s.Lookup(ctx, d)
		if errors.Is(err, NotExist) {
			continue
		}
		if err == nil && f.Kind != Dir {
			err = s.below(ctx, p, f)
		}
		return err
	}
	return nil
}

// below is why nothing can stand below a node that is no directory.
func (s *Snapshot) below(ctx context.Context, p Path, f Found) error {
	e := Errorf(NotDir, "%s is a %s, not a directory", f.Path, f.Kind).At(p.String())
	if f.Kind != Symlink {
		return e
	}
	target, err := s.Content(ctx, f)
	if err != nil {
		return err
	}
	return e.Hinted("The link points to %q and is not followed: name the file itself.", clip(string(target)))
}
