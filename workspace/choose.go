package workspace

import (
	"fmt"
	"slices"
	"strings"
)

// choose picks the changes that a request asks for and refuses conflicts.
func choose(c *collector, r CommitRequest) ([]FileChange, error) {
	named := func(p Path) bool {
		return r.Paths == nil || slices.ContainsFunc(r.Paths, func(q Path) bool { return q.Contains(p) })
	}
	for _, q := range r.Paths {
		if !slices.ContainsFunc(c.changes, func(fc FileChange) bool { return q.Contains(fc.Path) }) {
			return nil, Errorf(Invalid, "nothing is changed at %s", q).At(string(c.mount.Point)).
				Hinted("`git.status` lists what is.")
		}
	}
	var chosen, conflicts []FileChange
	ignored := 0
	for _, fc := range c.changes {
		switch {
		case !named(fc.Path):
		case fc.Conflict != "":
			conflicts = append(conflicts, fc)
		case fc.Ignored && (r.Paths == nil || !r.Force):
			ignored++
		default:
			chosen = append(chosen, fc)
		}
	}
	chosen, blocked := c.withParents(chosen)
	if conflicts = append(conflicts, blocked...); len(conflicts) > 0 {
		return nil, conflictError(c.mount, conflicts)
	}
	if len(chosen) == 0 {
		e := Errorf(Invalid, "nothing to commit").At(string(c.mount.Point))
		if ignored > 0 {
			e = e.Hinted("Left out because git ignores them: %d. Name them in paths and pass force: true to commit them.", ignored)
		}
		return nil, e
	}
	return chosen, nil
}

// withParents adds the deletions without which a chosen path cannot be committed:
// of files that stand where it needs a directory. It returns those that conflict
// apart.
func (c *collector) withParents(chosen []FileChange) (all, conflicts []FileChange) {
	picked := map[Path]bool{}
	for _, fc := range chosen {
		picked[fc.Path] = true
	}
	all = chosen
	for _, fc := range c.changes {
		if picked[fc.Path] || fc.Ours.present() {
			continue
		}
		needed := slices.ContainsFunc(chosen, func(in FileChange) bool { return in.Ours.present() && in.Path.Below(fc.Path) })
		switch {
		case needed && fc.Conflict != "":
			conflicts = append(conflicts, fc)
		case needed:
			all = append(all, fc)
		}
	}
	slices.SortFunc(all, func(a, b FileChange) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return all, conflicts
}

// conflictError lists conflicts with what each side has.
func conflictError(m *Mount, conflicts []FileChange) error {
	const most = 20
	var b strings.Builder
	fmt.Fprintf(&b, "nothing was committed, because of conflicts: %d", len(conflicts))
	for i, fc := range conflicts {
		if i == most {
			fmt.Fprintf(&b, "\nand %d more", len(conflicts)-most)
			break
		}
		fmt.Fprintf(&b, "\n%s: %s (base %s, ours %s, theirs %s)", fc.Path, fc.Conflict, side(fc.Base), side(fc.Ours), side(fc.Theirs))
	}
	return Errorf(Conflict, "%s", b.String()).At(string(m.Point)).
		Hinted("For each path: keep your change as `git.diff` shows it, see theirs with `readFile` at \"base\", `revert` the path, and edit again.")
}

func side(n Node) string {
	switch {
	case !n.present():
		return "absent"
	case n.Mode == ModeFile:
		return n.OID.String()
	}
	return fmt.Sprintf("%s mode %06o", n.OID, n.Mode)
}

// checkHistory refuses to begin a new history on a branch that had commits when
// the work began: somebody removed it, with everything that it had.
func (c *collector) checkHistory(change Change, chosen []FileChange) error {
	if !change.Parent.IsZero() {
		return nil
	}
	for _, fc := range chosen {
		if e, _ := c.snap.State.Upper.Get(fc.entry); !e.Base.Commit.IsZero() {
			return Errorf(Conflict, "the branch %s is gone, which was at %s when %s was changed", change.Branch, e.Base.Commit, fc.Path).
				At(string(c.mount.Point)).Hinted("Put it back with `git branch %s %s` in the repository.", change.Branch, e.Base.Commit)
		}
	}
	return nil
}
