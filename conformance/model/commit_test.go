package model

import (
	"maps"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// landing is a commit on its way.
type landing struct {
	mount    *mount
	branch   string
	upstream string // set if branch is a work branch
	made     *commit
	paths    []string
	upper    upper // what stays once it has landed
}

// commit decides what a commit of a mount is, or why there is none. Where more
// than one thing is wrong, each is a good answer.
func (w *world) commit(l layers, s *space, o op) (*landing, []workspace.Kind) {
	if o.text == "" {
		return nil, []workspace.Kind{workspace.Invalid}
	}
	m := l.t.mounts[o.path]
	if m == nil {
		return nil, []workspace.Kind{workspace.Invalid}
	}
	var wrong []workspace.Kind
	in := &landing{mount: m, branch: m.upstream}
	switch {
	case m.removed, m.policy == workspace.ReadOnly:
		wrong = append(wrong, workspace.Permission)
	case m.lost:
		wrong = append(wrong, workspace.Conflict)
	case m.policy == workspace.WorkBranch:
		in.upstream = m.upstream
		in.branch = "" // a new one
		if m.work != nil {
			in.branch = m.work.branch
		} else if _, taken := s.work[m.repo.path]; taken {
			wrong = append(wrong, workspace.Conflict)
		}
	}
	all := l.status(m)
	chosen, refused := choose(all, o)
	if refused != "" {
		wrong = append(wrong, refused)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	next := maps.Clone(m.files)
	if next == nil {
		next = files{}
	}
	for _, c := range chosen {
		if !c.ours.present() {
			delete(next, rel(c.path, m.point))
		}
	}
	for _, c := range chosen {
		r := rel(c.path, m.point)
		if !c.ours.present() {
			continue
		}
		for _, d := range relAbove(r) {
			if next[d].present() {
				return nil, []workspace.Kind{workspace.Conflict} // below what stays a file
			}
		}
		if next.at(r).isDir() {
			return nil, []workspace.Kind{workspace.Conflict} // what stays a directory
		}
		next[r] = c.ours
		if c.ours.mode == workspace.ModeSymlink && (r == ".gitignore" || rel(r, relDir(r)) == ".gitignore") {
			return nil, []workspace.Kind{workspace.Invalid}
		}
	}
	if len(next) == 0 && !o.flag {
		return nil, []workspace.Kind{workspace.Invalid}
	}
	in.made = &commit{files: next}
	if m.base != nil {
		in.made.parents = []*commit{m.base}
	}
	for _, c := range chosen {
		in.paths = append(in.paths, c.path)
	}
	in.upper = l.left(m, all, chosen, in.made)
	return in, nil
}

func relDir(r string) string {
	if dirs := relAbove(r); len(dirs) > 0 {
		return dirs[0]
	}
	return ""
}

// choose picks the changes that are asked for.
func choose(all []change, o op) ([]change, workspace.Kind) {
	named := func(p string) bool {
		return o.paths == nil || slices.ContainsFunc(o.paths, func(q string) bool { return within(p, q) })
	}
	for _, q := range o.paths {
		if !slices.ContainsFunc(all, func(c change) bool { return within(c.path, q) }) {
			return nil, workspace.Invalid
		}
	}
	var chosen []change
	for _, c := range all {
		switch {
		case !named(c.path):
		case c.conflict:
			return nil, workspace.Conflict
		case c.ignored && (o.paths == nil || !o.force):
		default:
			chosen = append(chosen, c)
		}
	}
	picked := map[string]bool{}
	for _, c := range chosen {
		picked[c.path] = true
	}
	for _, c := range all { // what has to go to make room
		makesRoom := func(in change) bool { return in.ours.present() && below(in.path, c.path) }
		if picked[c.path] || c.ours.present() || !slices.ContainsFunc(chosen, makesRoom) {
			continue
		}
		if c.conflict {
			return nil, workspace.Conflict
		}
		chosen = append(chosen, c)
	}
	if len(chosen) == 0 {
		return nil, workspace.Invalid
	}
	slices.SortFunc(chosen, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return chosen, ""
}

// left is the upper after a commit. What was committed, and what makes no change,
// leaves; a directory that stands by itself stays. An entry of which a part is
// still to be committed stays, and so does what would disappear below it.
func (l layers) left(m *mount, all, chosen []change, made *commit) upper {
	u := maps.Clone(l.u)
	open := map[string]bool{}   // entries that have something left to commit
	picked := map[string]bool{} // paths
	for _, c := range chosen {
		picked[c.path] = true
	}
	for _, c := range all {
		if !picked[c.path] {
			open[c.entry] = true
		}
	}
	for p, e := range l.u {
		if e.owner != m.owner() || l.t.route(p) != m || !e.hides() {
			continue
		}
		if open[p] {
			if l.uncovered(m, p, open) {
				u[p] = e.rebased(rel(p, m.point), m.base, made)
			}
			continue
		}
		stays := false
		for _, d := range above(p) {
			own, ok := l.own(d)
			stays = stays || below(d, m.point) && ok && own.hides() && open[d]
		}
		switch {
		case stays && e.node.isFile():
			u[p] = entry{e.node, e.owner, base{node: e.node, at: made}}
		case e.node.isDir():
			u[p] = entry{folder, e.owner, base{}}
		default:
			delete(u, p)
		}
	}
	return u
}

// uncovered reports whether something above p that hides it leaves.
func (l layers) uncovered(m *mount, p string, open map[string]bool) bool {
	for _, d := range above(p) {
		if e, ok := l.own(d); ok && below(d, m.point) && e.hides() && !open[d] {
			return true
		}
	}
	return false
}

// rebased is an entry on what a commit has at its path, if it stood on what the
// commit's parent had there.
func (e entry) rebased(r string, parent, made *commit) entry {
	was, is := parent.tree(), made.files
	if e.base.node != was.at(r) || e.base.node.isDir() && !maps.Equal(e.base.files, was.under(r)) {
		return e
	}
	if was.at(r) == is.at(r) && maps.Equal(was.under(r), is.under(r)) {
		return e
	}
	e.base = base{is.at(r), is.under(r), made}
	return e
}

// finish records the end of a commit.
func (w *world) finish(s *space, in *landing) {
	for p, e := range s.upper {
		now, stays := in.upper[p]
		for _, h := range w.hosts {
			switch {
			case !stays:
				h.sessions(s).committed(place{p, e.owner}, e.ours())
			case !now.same(e):
				h.sessions(s).committed(place{p, now.owner}, now.base.node)
			}
		}
	}
	s.upper = in.upper
	if in.upstream != "" {
		if s.work == nil {
			s.work = map[string]work{}
		}
		s.work[in.mount.repo.path] = work{in.branch, in.upstream, in.made}
	}
}

// settle decides a commit whose process died: what is on the branch has landed.
func (w *world) settle(s *space) {
	in := s.pending
	if in == nil {
		return
	}
	s.pending = nil
	if tip := in.mount.repo.branches[in.branch]; tip != nil && tip.has(in.made) {
		w.finish(s, in)
	}
}
