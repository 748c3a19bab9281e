package model

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// generator invents the steps of an episode: mostly what could succeed, on few
// paths with few contents, so that everything meets.
type generator struct {
	*rand.Rand
	w     *world
	names int // workspaces so far
}

var (
	segments = []string{"a", "b", "c", "d", "x.log"}
	texts    = []string{"", "1\n", "2\n", "3\n", "4\n", "5\n"}
	targets  = []string{"a", "../b", "/etc"}
	points   = []string{"/m", "/m/a", "/repos/a/c", "/repos/b/a", "/repos/a", "/repos/b", "/workspace/m", "/repos/a/b", "/m/a/b"}
	births   = []string{"/repos/c", "/repos/a/b", "/repos/a/d", "/repos/b/a/b"}
)

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// begin begins an episode: two repos, one of them with a second branch, and three
// workspaces, of which the first has many records.
func (g *generator) begin() []op {
	seed := func(repo string) op {
		o := op{kind: "repo", repo: repo, policy: string(workspace.CommitToMain)}
		for _, p := range []string{"a/a", "a/b", "b", "c/d/a", "d"} {
			o.edits = append(o.edits, edit{p, g.file()})
		}
		return o
	}
	ops := []op{seed("/repos/a"), seed("/repos/b")}
	ops = append(ops, op{kind: "outside", repo: "/repos/a", branch: "dev", edits: []edit{{"b", node{workspace.ModeFile, "dev\n"}}}})
	for range 3 {
		ops = append(ops, g.create())
	}
	age := op{kind: "age", space: ops[3].space, session: "s", path: scratch + "/age", count: 300 + g.IntN(250)}
	return append(ops, age)
}

func (g *generator) create() op {
	g.names++
	o := op{kind: "create", space: fmt.Sprintf("/agents/w%d", g.names), host: g.IntN(2), session: "s"}
	switch g.IntN(4) {
	case 0:
		o.mounts = map[string]patch{"/repos/a": {workspace.FieldPolicy: string(workspace.WorkBranch)}}
	case 1:
		o.mounts = map[string]patch{pick(g, points): g.patch()}
	}
	return o
}

// next is another step.
func (g *generator) next() op {
	switch n := g.IntN(1000); {
	case n < 120:
		return g.beside()
	case n < 135:
		return op{kind: "snapshot", space: g.space().id, host: g.IntN(2)}
	case n < 138:
		return op{kind: "restart", host: g.IntN(2)}
	case n < 142:
		if g.chance(50) && g.alive() > 2 {
			return g.on(g.space(), op{kind: "end", flag: g.chance(50)})
		}
		if g.alive() < 4 {
			return g.create()
		}
	}
	s := g.space()
	return g.on(s, g.call(s))
}

func (g *generator) on(s *space, o op) op {
	o.space, o.host, o.session = s.id, g.IntN(2), pick(g, []string{"s", "s", "t", ""})
	return o
}

// space is a workspace, now and then one that is gone; the first of those that
// are there is used most, so that its records pass the interval of checkpoints.
func (g *generator) space() *space {
	var open, gone []*space
	for _, id := range sorted(g.w.spaces) {
		if s := g.w.spaces[id]; s.born && !s.deleted {
			open = append(open, s)
		} else {
			gone = append(gone, s)
		}
	}
	switch {
	case len(open) == 0 || len(gone) > 0 && g.chance(1):
		if len(gone) == 0 {
			return &space{id: "/agents/none"}
		}
		return pick(g, gone)
	case g.chance(40):
		return open[0]
	}
	return pick(g, open)
}

func (g *generator) alive() int {
	n := 0
	for _, s := range g.w.spaces {
		if s.born && !s.deleted {
			n++
		}
	}
	return n
}

func (g *generator) call(s *space) op {
	l := g.w.layers(s)
	switch n := g.IntN(100); {
	case n < 6:
		return g.commit(l)
	case n < 9:
		return op{kind: "configure", mounts: g.patches()}
	case n < 16:
		o := op{kind: "serve", path: g.existing(l, node.isFile)}
		if g.chance(25) {
			o.path = g.path(l) // where most likely nothing is
		}
		return o
	case n < 23:
		return op{kind: "batch", steps: g.items(l)}
	case n < 24:
		return op{kind: "reset"}
	}
	return g.change(l)
}

func (g *generator) items(l layers) []op {
	var items []op
	for range 1 + g.IntN(5) {
		items = append(items, g.change(l))
	}
	return items
}

// change is a call that changes the upper, also as a part of a batch.
func (g *generator) change(l layers) op {
	switch n := g.IntN(100); {
	case n < 38:
		o := op{kind: "write", path: g.path(l), text: pick(g, texts)}
		if g.chance(15) {
			o.exec = pick(g, []string{"yes", "no"})
		}
		if g.chance(15) {
			o.version = pick(g, []string{"none", "current", "current", node{workspace.ModeFile, "1\n"}.id().String()})
		}
		return o
	case n < 46:
		return op{kind: "edit", path: g.existing(l, node.isFile), text: pick(g, texts)}
	case n < 51:
		return op{kind: "symlink", path: g.path(l), text: pick(g, targets)}
	case n < 58:
		return op{kind: "mkdir", path: g.path(l)}
	case n < 75:
		o := op{kind: "delete", path: g.existing(l, node.present), flag: g.chance(80)}
		if g.chance(10) {
			o.path = g.path(l)
		}
		return o
	case n < 82:
		return op{kind: "copy", path: g.existing(l, node.present), to: g.path(l), flag: g.chance(50)}
	case n < 92:
		return op{kind: "move", path: g.existing(l, node.present), to: g.path(l), flag: g.chance(50)}
	}
	return op{kind: "revert", path: g.touched(l)}
}

// existing is a path of the view that matters.
func (g *generator) existing(l layers, is func(node) bool) string {
	v := l.view()
	paths := slices.DeleteFunc(sorted(v), func(p string) bool { return !is(v[p]) })
	if len(paths) == 0 || g.chance(3) {
		return g.path(l)
	}
	return pick(g, paths)
}

// touched is the path of an entry, or a directory above one.
func (g *generator) touched(l layers) string {
	if len(l.u) == 0 || g.chance(20) {
		return g.path(l)
	}
	p := pick(g, sorted(l.u))
	for g.chance(25) {
		p = path.Dir(p)
	}
	return p
}

// path is where something may be made: over something, beside it, in the place of
// what is hidden, or where nothing may be.
func (g *generator) path(l layers) string {
	v := l.view()
	switch n := g.IntN(100); {
	case n < 25:
		return pick(g, sorted(v))
	case n < 35 && len(l.u) > 0:
		return pick(g, sorted(l.u))
	case n < 45 && len(l.t.mounts) > 0:
		m := l.t.mounts[pick(g, sorted(l.t.mounts))]
		if len(m.files) > 0 {
			return m.point + "/" + pick(g, sorted(m.files))
		}
	case n < 47:
		return pick(g, births) + "/" + pick(g, segments)
	case n < 49:
		return pick(g, []string{
			"/", "/x", "/repos", "/repos/x/a", scratch, private + "/a", "/repos/a/.git/x", "/repos/b", "/m/x", "/workspaces/a",
		})
	case n < 53:
		var homes []string
		for _, p := range sorted(v) {
			if v[p].isDir() && (l.t.route(p) != nil || p == scratch) {
				homes = append(homes, p)
			}
		}
		return pick(g, homes) + "/.gitignore"
	}
	dirs := slices.DeleteFunc(sorted(v), func(p string) bool {
		return !v[p].isDir() || l.t.route(p) == nil && !within(p, scratch) || len(above(p)) > 6
	})
	p := pick(g, append(dirs, scratch))
	for p += "/" + pick(g, segments); g.chance(30); p += "/" + pick(g, segments) {
	}
	return p
}

func (g *generator) file() node {
	switch g.IntN(8) {
	case 0:
		return node{workspace.ModeExecutable, pick(g, texts)}
	case 1:
		return node{workspace.ModeSymlink, pick(g, targets)}
	}
	return node{workspace.ModeFile, pick(g, texts)}
}

func (g *generator) commit(l layers) op {
	o := op{kind: "commit", path: "/repos/a", text: "work\n", flag: g.chance(10), force: g.chance(20)}
	var dirty []string
	for _, p := range sorted(l.t.mounts) {
		if len(l.status(l.t.mounts[p])) > 0 {
			dirty = append(dirty, p)
		}
	}
	if len(dirty) > 0 && g.chance(97) {
		o.path = pick(g, dirty)
	} else if g.chance(30) {
		o.path = "/repos/x"
	}
	if m := l.t.mounts[o.path]; m != nil && g.chance(50) {
		for _, c := range l.status(m) {
			p := c.path
			for g.chance(15) {
				p = path.Dir(p)
			}
			if g.chance(40) && within(p, m.point) {
				o.paths = append(o.paths, p)
			}
		}
		if g.chance(4) {
			o.paths = append(o.paths, m.point+"/nope")
		}
	}
	if g.chance(2) {
		o.text = ""
	}
	if g.chance(5) {
		o.fault = pick(g, []string{"intent appended", "landed"})
	}
	return o
}

func (g *generator) patches() map[string]patch {
	p := map[string]patch{}
	for range 1 + g.IntN(2) {
		p[pick(g, points)] = g.patch()
	}
	return p
}

func (g *generator) patch() patch {
	if g.chance(25) {
		return nil
	}
	p := patch{}
	if g.chance(65) {
		p[workspace.FieldRepo] = pick(g, []string{"/repos/a", "/repos/b", "/repos/b", "/repos/c", "/repos/a/b", ""})
	}
	if g.chance(75) {
		p[workspace.FieldPolicy] = pick(g, []string{"commit-to-main", "commit-to-main", "branch", "branch", "read-only", ""})
	}
	if g.chance(25) {
		p[workspace.FieldBranch] = pick(g, []string{"main", "dev", "dev", "dev", "nope", ""})
	}
	return p
}

// beside is what happens beside the workspaces.
func (g *generator) beside() op {
	r := g.w.repos[pick(g, sorted(g.w.repos))]
	o := op{kind: "outside", host: g.IntN(2), repo: r.path, branch: pick(g, sorted(r.branches))}
	switch n := g.IntN(100); {
	case n < 5:
		o.kind, o.repo, o.branch = "repo", pick(g, births), ""
		o.policy = string(pick(g, policies[:2]))
		if old := g.w.repos[o.repo]; old == nil && g.chance(70) {
			o.edits = g.edits(&repo{path: o.repo})
		}
	case n < 7:
		o.kind, o.branch, o.policy = "policy", "", string(pick(g, policies))
		if g.chance(60) {
			o.policy = string(workspace.CommitToMain)
		}
	case n < 9:
		o.kind, o.branch = "remove", ""
	case n < 17:
		o.kind, o.branch = "merge", g.workBranch(r)
	case n < 19:
		o.kind = "reset-branch"
	case n < 21:
		o.kind, o.branch = "delete-branch", g.workBranch(r)
	case n < 22:
		o.kind, o.branch = "repack", ""
	default:
		o.edits = g.edits(r)
		if g.chance(50) {
			o.branch = "main"
		}
	}
	return o
}

// workBranch is a branch of a repo, most likely one that a workspace made.
func (g *generator) workBranch(r *repo) string {
	names := sorted(r.branches)
	if i := slices.IndexFunc(names, func(b string) bool { return strings.HasPrefix(b, "carrel/") }); i >= 0 {
		return pick(g, names[i:])
	}
	return pick(g, names)
}

// edits change a tree: mostly what is in it, or what a workspace has changed.
func (g *generator) edits(r *repo) []edit {
	known := slices.Concat(sorted(r.branches["main"].tree()), g.changed(r))
	var edits []edit
	for range 1 + g.IntN(3) {
		p := pick(g, segments)
		for g.chance(50) {
			p += "/" + pick(g, segments)
		}
		if len(known) > 0 && g.chance(75) {
			p = pick(g, known)
			if g.chance(20) && path.Dir(p) != "." {
				p = path.Dir(p)
			}
		}
		e := edit{p, g.file()}
		if g.chance(35) {
			e.node = nothing
		}
		if g.chance(3) {
			e.path = ".gitignore"
		}
		if path.Base(e.path) == ".gitignore" && e.node.present() {
			e.node = node{workspace.ModeFile, pick(g, []string{"*.log\n", "!*.log\n", ""})}
		}
		edits = append(edits, e)
	}
	return edits
}

// changed lists the paths of a repo that workspaces have entries of.
func (g *generator) changed(r *repo) []string {
	var list []string
	for _, id := range sorted(g.w.spaces) {
		s := g.w.spaces[id]
		for _, p := range sorted(s.upper) {
			if e := s.upper[p]; e.owner.repo == r.path {
				list = append(list, rel(p, e.owner.point))
			}
		}
	}
	return list
}
