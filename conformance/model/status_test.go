package model

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// change is one uncommitted path.
type change struct {
	path               string
	name               string
	ours, base, theirs node
	conflict, ignored  bool

	entry string // of the upper, that makes it
}

func (c change) String() string {
	flags := ""
	if c.conflict {
		flags += " conflict"
	}
	if c.ignored {
		flags += " ignored"
	}
	return fmt.Sprintf("%s %s: ours %v, base %v, theirs %v%s", c.name, c.path, c.ours, c.base, c.theirs, flags)
}

// status lists a mount's changes, sorted by path.
func (l layers) status(m *mount) []change {
	var list []change
	for p, e := range l.u {
		if e.owner != m.owner() || l.t.route(p) != m || !e.hides() {
			continue
		}
		theirs := l.lower(p)
		if e.base.node.isDir() && theirs.isDir() {
			list = append(list, l.statusTree(m, p, e)...)
			continue
		}
		if c, ok := l.statusFile(m, p, e, theirs); ok {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return list
}

// statusFile is the three-way rule for one path.
func (l layers) statusFile(m *mount, p string, e entry, theirs node) (change, bool) {
	c := change{path: p, ours: e.ours(), base: e.base.node, theirs: theirs, entry: p}
	if c.base.isDir() && !theirs.present() {
		c.base = nothing // the directory that was replaced is gone at head too
	}
	switch {
	case c.ours == theirs, c.ours == c.base && !e.whiteout():
		return c, false
	case c.ours == c.base:
		c.conflict = true // it hides what came since
	case theirs == c.base:
		c.conflict = c.ours.present() && !theirs.present() && l.blocked(m, p)
	default:
		c.conflict = true
	}
	switch {
	case !c.ours.present():
		c.name = workspace.Removed
	case !c.base.isFile():
		c.name = workspace.Added
	case c.base.mode.Kind() != c.ours.mode.Kind():
		c.name = workspace.TypeChange
	default:
		c.name = workspace.Modified
	}
	if c.name == workspace.Added && !theirs.present() {
		c.ignored = l.ignored(m, p)
	}
	return c, true
}

// statusTree is what becomes of a directory that an entry hides: all of it that is
// still at head is deleted, and what differs there is a conflict.
func (l layers) statusTree(m *mount, p string, e entry) []change {
	var list []change
	for r, n := range m.files.under(rel(p, m.point)) {
		q := p + "/" + r
		if l.nearer(m, p, q) {
			continue // judged by that
		}
		was := e.base.files.at(r)
		list = append(list, change{path: q, name: workspace.Removed, base: was, theirs: n, conflict: was != n, entry: p})
	}
	if e.ours().present() {
		list = append(list, change{path: p, name: workspace.Added, ours: e.ours(), ignored: l.ignored(m, p), entry: p})
	}
	return list
}

// nearer reports whether an entry of the mount at q, or between p and q, hides.
// What came to be another mount's since p was deleted was deleted all the same.
func (l layers) nearer(m *mount, p, q string) bool {
	for _, d := range append([]string{q}, above(q)...) {
		if e, ok := l.u[d]; ok && below(d, p) && e.owner == m.owner() && e.hides() {
			return true
		}
	}
	return false
}

// blocked reports whether something above p at head, that the upper did not take
// away, is no directory.
func (l layers) blocked(m *mount, p string) bool {
	for _, d := range above(p) {
		if !below(d, m.point) {
			break
		}
		n := l.lower(d)
		if !n.isFile() {
			continue
		}
		e, ok := l.own(d)
		return !ok || e.ours().present() || e.base.node != n
	}
	return false
}

// ignored knows one rule, *.log, and its opposite, in the .gitignore files as
// merged. What is below an ignored directory is ignored.
func (l layers) ignored(m *mount, p string) bool {
	if !strings.Contains(p, ".log") {
		return false
	}
	v := l.view()
	for _, q := range slices.Backward(append([]string{p}, above(p)...)) {
		if below(q, m.point) && path.Ext(q) == ".log" && l.matches(v, m, q) {
			return true
		}
	}
	return false
}

// matches asks the ignore files above p, of which the nearest has the last word.
func (l layers) matches(v map[string]node, m *mount, p string) bool {
	for _, d := range above(p) {
		if !within(d, m.point) {
			break
		}
		n := v[d+"/.gitignore"]
		if !n.isFile() || n.mode == workspace.ModeSymlink {
			continue
		}
		for _, line := range slices.Backward(strings.Split(n.text, "\n")) {
			if line == "*.log" || line == "!*.log" {
				return line == "*.log"
			}
		}
	}
	return false
}

// unsaved counts what would be lost with the workspace.
func (l layers) unsaved() int {
	n := len(l.unmounted()) + len(l.displaced())
	for _, m := range l.t.mounts {
		n += len(l.status(m))
	}
	return n
}
