package tools

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"

	"carrel.dev/workspace"
)

// Sight is as much of what stands at a URI as it takes to see that it changed.
// Two that are equal look the same.
type Sight struct {
	Digest string
	// Repo is the only repo that it is read from. Many says that it may be any.
	Repo  workspace.RepoPath
	Many  bool
	Upper bool // it shows what the workspace itself has at that path
}

// Look returns what a resource looks like now. That it cannot be read is a sight
// like any other; the only error is that of ctx. Generated documents look different
// after everything that happens to the workspace or to the commits that it is read
// at: to make them at every look would cost more than to read one in vain.
func Look(ctx context.Context, w *workspace.Workspace, u URI) (Sight, error) {
	s, err := w.Snapshot(ctx)
	if err == nil {
		s, err = past(s, u.At)
	}
	sight, grants := Sight{Many: true}, w.Caller().Grants
	all := grants == nil || len(grants.Repos) == 0
	switch {
	case err != nil:
		sight.Digest = string(workspace.KindOf(err))
	case u.isGenerated():
		sight.Digest = bases(ctx, s, all)
	default:
		sight, err = lookAt(ctx, s, u.Path)
		if err != nil {
			sight.Digest = string(workspace.KindOf(err))
		}
		sight.Upper = sight.Upper && u.At == ""
	}
	return sight, ctx.Err()
}

// bases are the state of a workspace and the commits that it is read at. Who does
// not see all of a workspace is not to know either that something else happens to it.
func bases(ctx context.Context, s *workspace.Snapshot, all bool) string {
	h := sha256.New()
	if all {
		fmt.Fprintln(h, s.State.Seq)
	} else {
		for p, e := range s.State.Upper.Within(workspace.Root) {
			fmt.Fprintf(h, "%q %s %o %s %d\n", p, e.Kind, e.Mode, e.OID, e.Modified.UnixNano())
		}
	}
	for _, m := range s.Table.Mounts {
		base, err := s.Base(ctx, m)
		if err != nil {
			fmt.Fprintf(h, "%q %s\n", m.Point, workspace.KindOf(err))
			continue
		}
		fmt.Fprintf(h, "%q %s\n", m.Point, base)
	}
	return sum(h)
}

// lookAt is Look for a path. The repo is known also when there is an error.
func lookAt(ctx context.Context, s *workspace.Snapshot, p workspace.Path) (Sight, error) {
	sight := Sight{Many: s.Table.Spans(p), Upper: workspace.Scratch.Contains(p)}
	if m := s.Table.Route(p); m != nil {
		sight.Repo, sight.Upper = m.Repo, true
	}
	f, err := s.Lookup(ctx, p)
	if err != nil {
		return sight, err
	}
	if f.Kind != workspace.Dir {
		sight.Digest = fmt.Sprintf("%o %s", f.Mode, f.OID)
		return sight, nil
	}
	names, err := s.ReadDir(ctx, p)
	if err != nil {
		return sight, err
	}
	h := sha256.New()
	for _, f := range names {
		fmt.Fprintf(h, "%q %s\n", f.Path.Base(), f.Kind)
	}
	sight.Digest = sum(h)
	return sight, nil
}

func sum(h hash.Hash) string { return fmt.Sprintf("%x", h.Sum(nil)) }

// LookAtMounts returns what a workspace's list of mounts looks like.
func LookAtMounts(ctx context.Context, w *workspace.Workspace) (Sight, error) {
	sight := Sight{Many: true}
	s, err := w.Snapshot(ctx)
	if err != nil {
		sight.Digest = string(workspace.KindOf(err))
		return sight, ctx.Err()
	}
	h := sha256.New()
	for _, m := range s.Table.Mounts {
		fmt.Fprintf(h, "%q\n", m.Point)
	}
	sight.Digest = sum(h)
	return sight, ctx.Err()
}
