package model

import (
	"maps"
	"slices"

	"carrel.dev/workspace"
)

// patch is a change of one deviation: the fields to set, "" to clear one; nil
// clears all.
type patch map[string]string

var reserved = []string{scratch, "/org", "/project", "/agents", "/workspaces", "/.carrel"}

// plan says what deviations patches come to, or why not.
func (w *world) plan(l layers, s *space, patches map[string]patch) (map[string]deviation, workspace.Kind) {
	devs := maps.Clone(s.devs)
	if devs == nil {
		devs = map[string]deviation{}
	}
	for _, p := range sorted(patches) {
		if p == "/" || hasGit(p) || slices.ContainsFunc(reserved, func(r string) bool { return within(p, r) }) {
			return nil, workspace.Invalid
		}
		d := devs[p]
		if patches[p] == nil {
			d = deviation{}
		}
		for field, v := range patches[p] {
			switch field {
			case workspace.FieldRepo:
				d.repo = v
			case workspace.FieldBranch:
				d.branch = v
			case workspace.FieldPolicy:
				d.policy = workspace.Policy(v)
			}
		}
		if refused := w.mountable(p, d); refused != "" {
			return nil, refused
		}
		if d == (deviation{}) {
			delete(devs, p)
		} else {
			devs[p] = d
		}
	}
	next := w.table(devs, l.u, s.work)
	if refused := l.motion(next); refused != "" {
		return nil, refused
	}
	for p := range patches {
		if m := next.mounts[p]; m != nil && m.broken {
			return nil, workspace.Invalid
		}
		if m := next.withheld[p]; m != nil && m.broken {
			return nil, workspace.Invalid
		}
	}
	return devs, ""
}

// mountable says why a deviation cannot be.
func (w *world) mountable(p string, d deviation) workspace.Kind {
	if d == (deviation{}) {
		return ""
	}
	own := w.repos[p]
	derived := own != nil && !own.removed
	r := w.repos[d.repo]
	if d.repo == "" && derived {
		r = own
	}
	switch {
	case !derived && (d.repo == "" || d.policy == ""):
		return workspace.Invalid
	case r == nil || r.removed:
		return workspace.Invalid
	case d.policy != "" && narrower(d.policy, r.policy) != d.policy:
		return workspace.Permission
	}
	return ""
}

// motion refuses a table under which uncommitted work would get another owner, or
// a mount point meet a local file.
func (l layers) motion(next *table) workspace.Kind {
	for p, e := range l.u {
		if e.owner == l.t.route(p).owner() && e.owner != next.route(p).owner() {
			return workspace.Conflict
		}
	}
	for point, m := range next.withheld {
		if was := l.t.withheld[point]; was == nil || was.owner() != m.owner() {
			return workspace.Conflict
		}
	}
	return ""
}
