package workspace

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// What a caller is granted is applied in two places, below everything that asks:
// here, to the state that its handle shows, and in may, to what it does. A repo
// that is not granted is taken out of a snapshot before anything looks at it: its
// mounts, wherever they are, with the deviations that make them, and what the upper
// has for them. What it mounts in the place of a granted repo hides that one for the
// caller no more.
//
// Three things are not as if it did not exist, so that nobody's work is lost: a write
// in the place of an unseen entry and a mount point over unseen work are refused, in
// words that name nothing of it, and unseen work counts to the limits of a workspace
// and where it is deleted. A mount that the caller makes in the place of an unseen one
// without work replaces it.

// may refuses what the caller was not granted.
func (c Caller) may(v Verb) error {
	if c.Grants.May(v) {
		return nil
	}
	var allowed []string
	for _, v := range c.Grants.Verbs {
		allowed = append(allowed, string(v))
	}
	return Errorf(Permission, "this client may not %s: it is allowed to %s", v, strings.Join(allowed, ", ")).
		Hinted("Whoever runs this server can give it a token that allows %s.", v)
}

// Unborn is the error of a workspace that was never created, and of one that the
// caller is not granted.
func Unborn(id ID) error {
	return Errorf(NotExist, "the workspace does not exist").At(string(id)).Hinted("Create it with `workspace.create`.")
}

// limitsRepos reports whether a repo may be less than the project allows.
func (g *Grants) limitsRepos() bool { return g != nil && len(g.Repos) > 0 }

// sameRepos reports whether two grants show a workspace alike.
func (g *Grants) sameRepos(other *Grants) bool {
	if !g.limitsRepos() || !other.limitsRepos() {
		return g.limitsRepos() == other.limitsRepos()
	}
	return slices.Equal(g.Repos, other.Repos)
}

// granted returns the catalog as a caller may know it.
func (c *Catalog) granted(g *Grants) *Catalog {
	if g == nil {
		return c
	}
	seen := *c
	seen.grants = g
	if !g.limitsRepos() {
		return &seen
	}
	seen.Repos = map[RepoPath]Repo{}
	for p, r := range c.Repos {
		if policy, ok := g.Repo(p); ok {
			r.Policy = narrower(r.Policy, policy)
			seen.Repos[p] = r
		}
	}
	return &seen
}

// granted is what a snapshot is made of for callers of some grants.
type granted struct {
	grants  *Grants
	of      *State // whose part it is
	reposAt Seq
	state   *State
	table   *Table
	unseen  *Upper
	masked  map[Path]Deviation
}

// granted returns the snapshot as callers of some grants see it. The caller holds
// no lock.
func (s *Snapshot) granted(g *Grants) *Snapshot {
	if !g.limitsRepos() {
		return s
	}
	l, c := s.live, s.live.project.published.Load()
	l.mu.Lock()
	seen := l.granted
	l.mu.Unlock()
	if seen == nil || seen.of != s.State || seen.reposAt != c.reposAt || !seen.grants.sameRepos(g) {
		seen = s.State.granted(g, c)
		l.mu.Lock()
		l.granted = seen
		l.mu.Unlock()
	}
	snap := newSnapshot(l, seen.state, seen.table)
	snap.grants, snap.unseen, snap.masked = g, seen.unseen, seen.masked
	return snap
}

// granted takes out what belongs to repos that are not granted.
func (s *State) granted(g *Grants, c *Catalog) *granted {
	shown, unseen := s.Upper.split(func(e Entry) bool {
		_, ok := g.Repo(e.Owner.Repo)
		return ok || e.Owner == Owner{}
	})
	seen := *s
	seen.Upper = shown
	seen.Intents = maps.Clone(s.Intents)
	maps.DeleteFunc(seen.Intents, func(_ string, in Committing) bool { _, ok := g.Repo(in.Repo); return !ok })
	seen.Deviations = map[Path]Deviation{}
	masked := map[Path]Deviation{}
	for p, d := range s.Deviations {
		if _, ok := g.Repo(cmp.Or(d.Repo, RepoPath(p))); ok {
			seen.Deviations[p] = d
		} else {
			masked[p] = d
		}
	}
	return &granted{
		grants: g, of: s, reposAt: c.reposAt,
		state: &seen, table: derive(c.Repos, &seen, g), unseen: unseen, masked: masked,
	}
}

// unmasked returns a patch that makes a deviation where the caller sees none and one
// may be, and whether there is anything to change: what the caller takes back there
// is none of its own.
func (s *Snapshot) unmasked(point Path, d Deviation, patch MountPatch) (MountPatch, bool) {
	if _, seen := s.State.Deviations[point]; seen || !s.grants.limitsRepos() {
		return patch, true
	}
	if d == (Deviation{}) {
		return nil, false
	}
	all := MountPatch{}
	if _, masked := s.masked[point]; masked {
		all = MountPatch{FieldRepo: nil, FieldBranch: nil, FieldPolicy: nil, FieldPin: nil}
	}
	maps.Copy(all, patch)
	return all, true
}

// split returns the entries that are to be shown, and the others, nil if there are
// none.
func (u *Upper) split(show func(Entry) bool) (shown, others *Upper) {
	shown = u
	for p, e := range u.Within(Root) {
		if show(e) {
			continue
		}
		if others == nil {
			shown, others = u.copy(), &Upper{}
		}
		shown.remove(p)
		others.set(p, e)
	}
	return shown, others
}

// usurps reports whether a mount at a point would take over work that the caller is
// kept from seeing: what belongs to a mount further down stays with that.
func (s *Snapshot) usurps(point Path) bool {
	if s.unseen == nil {
		return false
	}
	for _, e := range s.unseen.Within(point) {
		if !e.Owner.Mount.Below(point) {
			return true
		}
	}
	return false
}

// hides reports whether the caller is kept from seeing something at or below a
// path.
func (s *Snapshot) hides(p Path) bool {
	if s.unseen == nil {
		return false
	}
	for range s.unseen.Within(p) {
		return true
	}
	return false
}

// Visible returns the project's repos and workspaces as a caller may know them, who
// may read.
func (p *Project) Visible(ctx context.Context, g *Grants) (*Catalog, error) {
	if err := (Caller{Grants: g}).may(VerbRead); err != nil {
		return nil, err
	}
	c, err := p.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	return c.granted(g), nil
}
