package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// maxPlans is how often a configuration is planned again because the workspace
// changed meanwhile.
const maxPlans = 5

// Configure changes the workspace's deviations and returns the snapshot that
// they are in force in. What would move uncommitted work to another owner is
// Conflict.
func (w *Workspace) Configure(ctx context.Context, mounts map[string]MountPatch) (*Snapshot, error) {
	plans := 0
	_, err := mutate(ctx, w, VerbCreate, func(ctx context.Context, s *Snapshot) (decision, bool, error) {
		if plans++; plans > maxPlans {
			return decision{}, false, Errorf(Conflict, "the workspace kept changing while it was configured").Hinted("Try again.")
		}
		patches, err := plan(s, w.live.project.published.Load(), mounts)
		if err != nil || len(patches) == 0 && w.caller.Key == "" {
			return decision{}, false, err
		}
		if err := s.checkBranches(ctx, patches); err != nil {
			return decision{}, false, err
		}
		return decision{events: []Event{encode(WorkspaceConfigured, Configured{patches})}}, true, nil
	})
	if err != nil {
		return nil, err
	}
	return w.Snapshot(ctx)
}

// plan checks patches against a snapshot and returns them in canonical form.
func plan(s *Snapshot, c *Catalog, mounts map[string]MountPatch) (map[string]MountPatch, error) {
	patches, seen := map[string]MountPatch{}, c.granted(s.grants)
	next := *s.State
	next.Deviations = maps.Clone(s.State.Deviations)
	if next.Deviations == nil {
		next.Deviations = map[Path]Deviation{}
	}
	for _, key := range slices.Sorted(maps.Keys(mounts)) {
		point, err := checkPoint(key)
		if err != nil {
			return nil, err
		}
		if _, twice := patches[string(point)]; twice {
			return nil, Errorf(Invalid, "%s is named twice, in two spellings", point).At(key)
		}
		patch := normal(mounts[key])
		d, err := patch.apply(next.Deviations[point])
		if err == nil {
			err = s.checkDeviation(seen, point, d, patch)
		}
		if err != nil {
			return nil, named(key, err)
		}
		patch, changes := s.unmasked(point, d, patch)
		if !changes {
			continue
		}
		if s.usurps(point) {
			return nil, Errorf(Conflict, "uncommitted work would change its owner").At(key)
		}
		patches[string(point)] = patch
		next.Deviations[point] = d
		if d == (Deviation{}) {
			delete(next.Deviations, point)
		}
	}
	return patches, s.checkMotion(derive(c.Repos, &next, s.grants), patches)
}

// named adds which mount an error is about.
func named(key string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	about := *e
	about.Path = key
	return &about
}

// normal returns a patch with its repo path absolute and clean, which callers
// often spell without the leading slash.
func normal(m MountPatch) MountPatch {
	v := m[FieldRepo]
	if v == nil || *v == "" {
		return m
	}
	m = maps.Clone(m)
	full := path.Clean("/" + strings.TrimPrefix(*v, "/"))
	m[FieldRepo] = &full
	return m
}

// checkDeviation refuses what could not be mounted, and what allows more than
// the project does.
func (s *Snapshot) checkDeviation(c *Catalog, point Path, d Deviation, patch MountPatch) error {
	if _, pinned := patch[FieldPin]; pinned {
		return Errorf(Invalid, "a mount cannot be pinned yet").Hinted("Leave pin out: the mount follows its branch.")
	}
	repo := d.Repo
	derived, isDerived := c.Repos[RepoPath(point)]
	if repo == "" && isDerived && !derived.Removed {
		repo = derived.Path
	}
	switch {
	case d == (Deviation{}):
		return nil
	case repo == "" || d.Policy == "" && !(isDerived && !derived.Removed):
		return Errorf(Invalid, "an incomplete mount: a path that no repo is at needs repoPath and policy")
	}
	r, ok := c.Repos[repo]
	if !ok || r.Removed {
		return Errorf(Invalid, "the project has no repo %s", repo).
			Hinted("Create it first, with `carrel repo create` or `carrel repo add`.")
	}
	if d.Policy != "" && narrower(d.Policy, r.Policy) != d.Policy {
		return Errorf(Permission, "the repo allows %s, and a workspace can only narrow that, not widen it to %s", r.Policy, d.Policy).
			Hinted("Whoever administers the project can, with `carrel repo configure`.")
	}
	return nil
}

// checkBranches refuses a mount of a branch that its repo does not have.
func (s *Snapshot) checkBranches(ctx context.Context, patches map[string]MountPatch) error {
	c := s.live.project.published.Load()
	for key, patch := range patches {
		d, err := patch.apply(s.State.Deviations[Path(key)])
		if err != nil || d.Branch == "" {
			continue
		}
		repo := d.Repo
		if repo == "" {
			repo = RepoPath(key)
		}
		if _, err := s.live.host.cfg.Trees.Head(ctx, c.Repos[repo].Source, d.Branch); err != nil {
			if errors.Is(err, NotExist) {
				err = Errorf(Invalid, "the repo %s has no branch %q", repo, d.Branch)
			}
			return named(key, err)
		}
	}
	return nil
}

// checkMotion refuses a table under which uncommitted work would belong to
// another owner, or a mount point meet a local file.
func (s *Snapshot) checkMotion(next *Table, patches map[string]MountPatch) error {
	for _, in := range s.State.Intents {
		if _, touched := patches[string(in.Mount)]; touched {
			return inFlight(in, s.grants)
		}
	}
	moved, err := s.withheldBy(next)
	if err != nil {
		return err
	}
	for p, e := range s.State.Upper.Within(Root) {
		if e.Owner == s.Table.Route(p).Owner() && e.Owner != next.Route(p).Owner() {
			moved = append(moved, p)
		}
	}
	if len(moved) > 0 {
		slices.Sort(moved)
		return Errorf(Conflict, "uncommitted work would change its owner: %s", some(slices.Compact(moved))).
			Hinted("Commit it with `git.commit` or drop it with `revert` first.")
	}
	return nil
}

// withheldBy lists the uncommitted content because of which a table withholds
// mounts that the workspace's own does not: asked for, they are refused. A local
// file that a mount point would come to lie under is Conflict.
func (s *Snapshot) withheldBy(next *Table) (paths []Path, err error) {
	for _, m := range next.Withheld {
		if slices.ContainsFunc(s.Table.Withheld, func(w *Mount) bool { return w.Owner() == m.Owner() }) {
			continue
		}
		for _, p := range s.State.Upper.inTheWay(m) {
			if m.Point.Below(p) {
				return nil, Errorf(Conflict, "the mount point collides with the local file %s", p).At(string(m.Point)).
					Hinted("Move or revert the file first.")
			}
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// some lists up to five paths.
func some(paths []Path) string {
	const most = 5
	var names []string
	for _, p := range paths[:min(most, len(paths))] {
		names = append(names, p.String())
	}
	if len(paths) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(paths)-most)
}
