package model

import (
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// space is a workspace.
type space struct {
	id            string
	born, deleted bool
	devs          map[string]deviation
	upper         upper
	work          map[string]work // by repo
	pending       *landing        // a commit whose end was not recorded
}

// deviation is a stored difference from the derived mounts; empty fields are as
// derived.
type deviation struct {
	repo, branch string
	policy       workspace.Policy
}

// work is the work branch of a workspace in a repo.
type work struct {
	branch, upstream string
	last             *commit
}

// owner is the mount that an entry was written in; zero for scratch.
type owner struct{ point, repo string }

// entry is what the upper has at a path: nothing (a whiteout), a file, a link, or
// a directory that stands by itself.
type entry struct {
	node  node
	owner owner
	base  base
}

// base is what the lower had at the path when the upper first took it.
type base struct {
	node  node
	files files   // what was below, if it was a directory
	at    *commit // where it was seen
}

// hides: a whiteout, a non-directory and a directory with a base hide everything
// below them.
func (e entry) hides() bool { return !e.node.isDir() || e.base.node.present() }

func (e entry) whiteout() bool { return !e.node.present() }

// ours is the entry as a commit holds it: git keeps no directories.
func (e entry) ours() node {
	if e.node.isDir() {
		return nothing
	}
	return e.node
}

func (e entry) same(o entry) bool {
	return e.node == o.node && e.owner == o.owner && e.base.node == o.base.node && e.base.at == o.base.at
}

type upper map[string]entry

// holds reports whether there is content of an owner at or below a path.
func (u upper) holds(p string, o owner) bool {
	for q, e := range u {
		if within(q, p) && !e.whiteout() && e.owner == o {
			return true
		}
	}
	return false
}

// foreign reports whether there is content of another owner at or below a point,
// or a file above it. What belongs to a mount further down is not in the way.
func (u upper) foreign(point string, o owner) bool {
	for q, e := range u {
		if below(point, q) && e.node.isFile() {
			return true
		}
		further := below(e.owner.point, point) && within(q, e.owner.point)
		if within(q, point) && !e.whiteout() && e.owner != o && !further {
			return true
		}
	}
	return false
}

// mount is one row of a workspace's table.
type mount struct {
	point    string
	repo     *repo
	upstream string
	policy   workspace.Policy
	removed  bool
	work     *work // the work branch that it reads, if it does

	base   *commit // what it is read at
	files  files   // of base
	tip    *commit // where the work branch stands
	lost   bool
	behind bool
	broken bool // the repo has no such branch
}

func (m *mount) owner() owner {
	if m == nil {
		return owner{}
	}
	return owner{m.point, m.repo.path}
}

// table is the mounts of a workspace, and those that wait.
type table struct {
	mounts   map[string]*mount
	withheld map[string]*mount
}

// table derives the mounts: every repo at its own path, changed by the
// deviations, which may add others.
func (w *world) table(devs map[string]deviation, u upper, works map[string]work) *table {
	rows := map[string]*mount{}
	for _, r := range w.repos {
		m := &mount{point: r.path, repo: r}
		if !r.removed || u.holds(m.point, m.owner()) {
			rows[r.path] = m
		}
	}
	for p, d := range devs {
		m := rows[p]
		if m == nil && d.repo != "" && d.policy != "" {
			m = &mount{point: p, repo: w.repos[d.repo]}
			rows[p] = m
		}
		if m == nil {
			continue
		}
		if d.repo != "" {
			m.repo = w.repos[d.repo]
		}
		m.upstream, m.policy = d.branch, d.policy
	}
	t := &table{map[string]*mount{}, map[string]*mount{}}
	for p, m := range rows {
		if m.removed = m.repo.removed; m.removed && !u.holds(p, m.owner()) {
			continue
		}
		if m.upstream == "" {
			m.upstream = m.repo.branch
		}
		if m.policy == "" {
			m.policy = m.repo.policy
		}
		m.policy = narrower(m.policy, m.repo.policy)
		if has, ok := works[m.repo.path]; ok && m.policy != workspace.CommitToMain && has.upstream == m.upstream {
			m.work = &has
		}
		m.float()
		if u.foreign(p, m.owner()) {
			t.withheld[p] = m
		} else {
			t.mounts[p] = m
		}
	}
	return t
}

// float finds the commit that a mount is read at: the head of its branch. A work
// branch that was merged gives way to its upstream; one that lost our last commit
// is read at that.
func (m *mount) float() {
	up, ok := m.repo.branches[m.upstream]
	m.broken = !ok
	m.base = up
	if m.work != nil {
		tip := m.repo.branches[m.work.branch]
		mine := m.work.last
		if tip.has(mine) && tip != nil {
			mine = tip
		}
		switch {
		case tip != nil && !tip.has(m.work.last):
			m.base, m.lost = m.work.last, true
		case up.has(mine):
			m.tip = tip
		case tip == nil:
			m.base, m.lost = m.work.last, true
		default:
			m.base, m.tip, m.behind = tip, tip, !tip.has(up)
		}
	}
	m.files = m.base.tree()
}

// route is the mount with the longest point that contains p; nil for none.
func (t *table) route(p string) *mount {
	for d := p; ; d = parent(d) {
		if m := t.mounts[d]; m != nil || d == "/" {
			return m
		}
	}
}

// spans reports whether p is a mount point or leads to one.
func (t *table) spans(p string) bool {
	if p == "/" {
		return true
	}
	for point := range t.mounts {
		if within(point, p) {
			return true
		}
	}
	return false
}

const (
	scratch = "/workspace"
	private = "/workspace/.carrel"
)

// layers are an upper over the mounts of a table.
type layers struct {
	u upper
	t *table
}

// own is the upper's entry at a path, if it belongs to the path's owner.
func (l layers) own(p string) (entry, bool) {
	e, ok := l.u[p]
	return e, ok && e.owner == l.t.route(p).owner()
}

// cover is the nearest own entry strictly above p, in the same mount, that hides
// what the lower has there.
func (l layers) cover(p string) (at string, e entry, ok bool) {
	m := l.t.route(p)
	if m == nil {
		return "", entry{}, false
	}
	for _, d := range above(p) {
		if !below(d, m.point) {
			break
		}
		if e, ok := l.own(d); ok && e.hides() {
			return d, e, true
		}
	}
	return "", entry{}, false
}

func (l layers) covered(p string) bool { _, _, ok := l.cover(p); return ok }

// lower is what the mount's tree has at p, whatever the upper says.
func (l layers) lower(p string) node {
	m := l.t.route(p)
	if m == nil {
		return nothing
	}
	return m.files.at(rel(p, m.point))
}

// view is all that a reader sees.
func (l layers) view() map[string]node {
	v := map[string]node{}
	for point, m := range l.t.mounts {
		for r, n := range m.files {
			p := point + "/" + r
			if _, own := l.own(p); l.t.route(p) == m && !l.t.spans(p) && !own && !l.covered(p) {
				v[p] = n
			}
		}
	}
	for _, p := range sorted(v) {
		lead(v, p)
	}
	for p, e := range l.u {
		if !e.whiteout() && e.owner == l.t.route(p).owner() && !l.t.spans(p) {
			v[p] = e.node
			lead(v, p) // over a file of the lower too
		}
	}
	v["/"], v[scratch] = folder, folder
	for point := range l.t.mounts {
		v[point] = folder
		lead(v, point)
	}
	return v
}

// lead makes the directories that lead to a path.
func lead(v map[string]node, p string) {
	for _, d := range above(p) {
		v[d] = folder
	}
}

// unmounted lists the scratch files.
func (l layers) unmounted() []string {
	var list []string
	for _, p := range sorted(l.u) {
		if below(p, scratch) && !within(p, private) && l.u[p].node.isFile() {
			list = append(list, p)
		}
	}
	return list
}

// displaced lists what belongs to a mount that is not at its path any more.
func (l layers) displaced() []string {
	var list []string
	for _, p := range sorted(l.u) {
		if l.u[p].owner != l.t.route(p).owner() {
			list = append(list, p)
		}
	}
	return list
}

// hasGit reports whether git reserves a segment of p.
func hasGit(p string) bool { return slices.Contains(strings.Split(p, "/"), ".git") }
