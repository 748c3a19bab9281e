package model

import (
	"maps"
	"slices"

	"carrel.dev/workspace"
)

// stage is one call, whose effect is seen as a whole or not at all. The mounts
// are those of its beginning.
type stage struct {
	layers
	served served
	caller string

	touched map[string]bool // points of mounts in which something was set
	seen    map[string]bool // paths whose current version the call is made from
	marks   []mark
}

// mark is a version that the caller knows once the call has succeeded, or, with
// forget, a path at and below which it knows no draft any more.
type mark struct {
	path   string
	node   node
	forget bool
}

func (st *stage) set(p string, e entry) {
	if old, had := st.u[p]; !had || !old.same(e) {
		st.u[p] = e
		st.touch(p)
	}
}

func (st *stage) drop(p string) {
	if _, had := st.u[p]; had {
		delete(st.u, p)
		st.touch(p)
	}
}

func (st *stage) touch(p string) {
	if m := st.t.route(p); m != nil {
		st.touched[m.point] = true
	}
}

func (st *stage) knows(p string, n node) { st.marks = append(st.marks, mark{path: p, node: n}) }

// place says in which mount a path may be changed.
func (st *stage) place(p string) (*mount, workspace.Kind) {
	m := st.t.route(p)
	switch {
	case p == "/", hasGit(p):
		return nil, workspace.Permission
	case st.t.spans(p), p == scratch:
		return nil, workspace.IsDir
	case m == nil && (!below(p, scratch) || within(p, private)):
		return nil, workspace.Permission
	}
	if e, ok := st.u[p]; ok && e.owner != m.owner() {
		return nil, workspace.Conflict // work of a mount that is not here any more
	}
	return m, ""
}

// guard says whether a node may stand at p, and what is there now.
func (st *stage) guard(p string) (*mount, node, workspace.Kind) {
	m, refused := st.place(p)
	if refused != "" {
		return nil, nothing, refused
	}
	v := st.view()
	for _, d := range above(p) {
		if v[d].isFile() {
			return nil, nothing, workspace.NotDir
		}
	}
	return m, v[p], ""
}

// baseOf is the base of the entry that is about to be set at p: that of the one
// there, else of what hides p already, else what the caller was last served, else
// the lower.
func (st *stage) baseOf(p string) base {
	if e, ok := st.own(p); ok && e.hides() {
		return e.base
	}
	m := st.t.route(p)
	if m == nil {
		return base{}
	}
	if at, e, ok := st.cover(p); ok {
		r := rel(p, at)
		b := base{at: e.base.at}
		if e.base.node.isDir() {
			b.node = e.base.files.at(r)
			b.files = e.base.files.under(r)
		}
		return b
	}
	b := base{node: st.lower(p), at: m.base}
	if b.node.isDir() {
		b.files = m.files.under(rel(p, m.point))
		return b
	}
	if n, ok := st.served.last(st.caller, place{p, m.owner()}); ok && !st.seen[p] {
		b.node = n
	}
	return b
}

// put sets a file or link. One that is as the lower that it is read over drops
// the entry.
func (st *stage) put(m *mount, p string, n node) {
	b := st.baseOf(p)
	st.knows(p, n)
	if (st.lower(p) == n || m != nil && b.node == n) && !st.covered(p) {
		st.drop(p) // nothing is changed here, and theirs wins
		return
	}
	st.set(p, entry{n, m.owner(), b})
}

// result is what a call says of itself.
type result struct {
	did      bool // created, deleted or replaced
	count    int
	replaced workspace.OID
}

// write sets a file's content by what edit makes of the old one.
func (st *stage) write(o op) (result, workspace.Kind) {
	m, cur, refused := st.guard(o.path)
	switch {
	case refused != "":
		return result{}, refused
	case cur.isDir():
		return result{}, workspace.IsDir
	case o.version != "" && o.asked != st.current(cur):
		return result{}, workspace.Conflict
	case o.kind == "edit" && !cur.present():
		return result{}, workspace.NotExist
	}
	n := node{workspace.ModeFile, o.text}
	if o.kind == "edit" && cur.mode.Kind() == workspace.File {
		n.text = cur.text + o.text
	}
	if cur.mode == workspace.ModeExecutable && o.exec == "" || o.exec == "yes" {
		n.mode = workspace.ModeExecutable
	}
	if o.kind == "edit" || o.version != "" {
		st.seen[o.path] = true
	}
	st.put(m, o.path, n)
	return result{did: !cur.present(), replaced: cur.id()}, ""
}

// current is a version as ifVersion names it.
func (st *stage) current(cur node) string {
	if !cur.present() {
		return ""
	}
	return cur.id().String()
}

// version is the ifVersion of a write, once it is known what is there.
func (l layers) version(o op) string {
	switch o.version {
	case "current":
		if n := l.view()[o.path]; n.isFile() {
			return n.id().String()
		}
		return ""
	case "none":
		return ""
	}
	return o.version
}

// resolve fills in the versions that a step asks for.
func (l layers) resolve(o op) op {
	o.asked = l.version(o)
	o.steps = slices.Clone(o.steps)
	for i := range o.steps {
		o.steps[i] = l.resolve(o.steps[i])
	}
	return o
}

func (st *stage) symlink(o op) (result, workspace.Kind) {
	if o.text == "" {
		return result{}, workspace.Invalid
	}
	m, cur, refused := st.guard(o.path)
	if refused == "" && cur.isDir() {
		refused = workspace.IsDir
	}
	if refused != "" {
		return result{}, refused
	}
	st.put(m, o.path, node{workspace.ModeSymlink, o.text})
	return result{did: !cur.present(), replaced: cur.id()}, ""
}

func (st *stage) mkdir(p string) (result, workspace.Kind) {
	if st.view()[p].isDir() {
		return result{}, ""
	}
	m, cur, refused := st.guard(p)
	if refused == "" && cur.present() {
		refused = workspace.Exist
	}
	if refused != "" {
		return result{}, refused
	}
	st.setDir(m, p)
	return result{did: true}, ""
}

// setDir makes a directory that stands by itself; in the place of a whiteout it
// goes on hiding what that hid.
func (st *stage) setDir(m *mount, p string) {
	var b base
	if _, is := st.own(p); is || st.covered(p) {
		b = st.baseOf(p)
	}
	st.set(p, entry{folder, m.owner(), b})
}

func (st *stage) delete(p string, recursive bool) (result, workspace.Kind) {
	_, refused := st.place(p)
	if refused != "" {
		return result{}, refused
	}
	v := st.view()
	switch {
	case !v[p].present():
		st.knows(p, nothing)
		return result{}, ""
	case v[p].isDir() && !recursive:
		return result{}, workspace.IsDir
	}
	r := result{did: true}
	for q, n := range v {
		if within(q, p) && n.isFile() {
			st.knows(q, nothing)
			r.count++
		}
	}
	if v[p].isDir() {
		before := layers{maps.Clone(st.u), st.t}
		st.deleteBelow(p)
		st.deleteStale(p, before)
	}
	st.whiteout(p, v[p].isDir())
	return r, ""
}

// deleteBelow takes the own entries below a directory away. One whose base is not
// what the lower has stays as a whiteout, so that the commit finds the conflict.
func (st *stage) deleteBelow(dir string) {
	o := st.t.route(dir).owner()
	for _, p := range sorted(st.u) {
		e := st.u[p]
		if !below(p, dir) || e.owner != o {
			continue
		}
		st.knows(p, nothing)
		n := nothing
		if m := st.t.mounts[o.point]; m != nil {
			n = m.files.at(rel(p, m.point))
		}
		if !n.present() || n == e.base.node && st.asBase(p, e, n) {
			st.drop(p)
			continue
		}
		if e.node.isDir() && !e.base.node.present() {
			st.drop(p) // made here, and shown with all that the lower has in it
			continue
		}
		st.set(p, entry{nothing, e.owner, e.base})
	}
}

// deleteStale marks what the caller read below the directory in another version
// than there is now, and what no entry hid before.
func (st *stage) deleteStale(dir string, before layers) {
	m := st.t.route(dir)
	if m == nil || st.seen[dir] || st.covered(dir) {
		return
	}
	for at, v := range st.served.known(st.caller) {
		p := at.path
		own, is := before.own(p)
		if at.owner != m.owner() || !below(p, dir) || st.t.route(p) != m || is && own.hides() || before.covered(p) {
			continue
		}
		if is := st.lower(p); is.isFile() && is != v.node {
			st.set(p, entry{nothing, m.owner(), base{node: v.node, at: m.base}})
		}
	}
}

// asBase reports whether the lower is still what an entry was made from: of a
// directory, with all below it.
func (st *stage) asBase(p string, e entry, lower node) bool {
	if !lower.isDir() {
		return true
	}
	m := st.t.route(p)
	return maps.Equal(m.files.under(rel(p, m.point)), e.base.files)
}

// whiteout makes what stands at p go away. Of a file that is only ours nothing is
// left: theirs, if there is one by now, shows.
func (st *stage) whiteout(p string, dir bool) {
	st.knows(p, nothing)
	e, had := st.own(p)
	added := had && !e.base.node.present() && !dir
	if !st.lower(p).present() || added || st.covered(p) {
		st.drop(p)
		return
	}
	b := st.baseOf(p)
	if had && e.node.isDir() && !e.base.node.present() {
		// A directory that we made and that the lower has by now as well.
		st.drop(p)
		b = st.baseOf(p)
	}
	st.set(p, entry{nothing, st.t.route(p).owner(), b})
}

func (st *stage) transfer(o op) (result, workspace.Kind) {
	if o.kind == "move" {
		if _, refused := st.place(o.path); refused != "" {
			return result{}, refused
		}
	}
	r, refused := st.copy(o.path, o.to, o.flag)
	if refused == "" && o.kind == "move" {
		st.seen[o.path] = true
		_, refused = st.delete(o.path, true)
	}
	return r, refused
}

// copy sets at the target what is read at the source: first the files, then the
// directories that stand by themselves.
func (st *stage) copy(from, to string, overwrite bool) (result, workspace.Kind) {
	v := st.view()
	src := v[from]
	switch {
	case within(from, to), within(to, from):
		return result{}, workspace.Invalid
	case !src.present():
		return result{}, workspace.NotExist
	}
	var r result
	_, cur, refused := st.guard(to)
	switch {
	case refused != "":
		return r, refused
	case cur.isDir() && !src.isDir():
		return r, workspace.IsDir
	case cur.present() && !overwrite:
		return r, workspace.Exist
	case cur.isFile() && src.isDir():
		return r, workspace.NotDir
	case cur.isDir():
		st.delete(to, true)
	}
	r.did = cur.present()
	dirs := map[string]bool{}
	for p, e := range st.u {
		if within(p, from) && e.node.isDir() && e.owner == st.t.route(p).owner() {
			dirs[p] = true
		}
	}
	for _, p := range sorted(v) {
		if !within(p, from) || !v[p].isFile() {
			continue
		}
		if refused := st.copyFile(v[p], to+p[len(from):]); refused != "" {
			return r, refused
		}
		r.count++
	}
	for _, p := range sorted(dirs) {
		target := to + p[len(from):]
		m, cur, refused := st.guard(target)
		if refused != "" {
			return r, refused
		}
		if !cur.present() {
			st.setDir(m, target)
		}
	}
	return r, ""
}

func (st *stage) copyFile(n node, to string) workspace.Kind {
	m, _, refused := st.guard(to)
	if refused == "" {
		st.put(m, to, n)
	}
	return refused
}

// revert drops the upper at and below a path; what Carrel keeps for itself only
// if the path names it. In vain, if p went with a directory above it.
func (st *stage) revert(p string, alone bool) (result, workspace.Kind) {
	n := 0
	for _, q := range sorted(st.u) {
		if within(q, p) && (!within(q, private) || within(p, private)) {
			st.drop(q)
			n++
		}
	}
	if alone {
		clear(st.touched) // it is one record that names the top
	}
	switch {
	case n > 0:
		st.marks = append(st.marks, mark{path: p, forget: true})
	case st.t.mounts[p] == nil && st.covered(p):
		return result{}, workspace.Conflict
	}
	return result{count: n}, ""
}

// sweep drops the whiteouts, in the mounts that were touched, below which nothing
// is left: what comes there later is theirs.
func (st *stage) sweep() {
	for point := range st.touched {
		m := st.t.mounts[point]
		for _, p := range sorted(st.u) {
			if e := st.u[p]; e.whiteout() && e.owner == m.owner() && !m.files.at(rel(p, point)).present() {
				delete(st.u, p)
			}
		}
	}
}

// apply runs a call, or an item of a batch.
func (st *stage) apply(o op, alone bool) (result, workspace.Kind) {
	switch o.kind {
	case "write", "edit":
		return st.write(o)
	case "symlink":
		return st.symlink(o)
	case "mkdir":
		return st.mkdir(o.path)
	case "delete":
		return st.delete(o.path, o.flag)
	case "copy", "move":
		return st.transfer(o)
	case "revert":
		return st.revert(o.path, alone)
	case "batch":
		for _, item := range o.steps {
			if _, refused := st.apply(item, false); refused != "" {
				return result{}, refused
			}
		}
		return result{}, ""
	}
	panic("no such call: " + o.kind)
}
