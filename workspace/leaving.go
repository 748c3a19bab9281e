package workspace

import "slices"

// leaving says what becomes of each entry once the changes are committed: one of
// which everything is committed leaves, one that deleted a directory of which
// only a part was committed stays. What stands below one that stays does so too,
// on what was committed: without it, it would be hidden.
func leaving(chosen []FileChange, c *collector, commit OID) []PathChange {
	picked, rest := map[Path]bool{}, map[Path]bool{}
	for _, fc := range chosen {
		picked[fc.Path] = true
	}
	for _, fc := range c.changes {
		if !picked[fc.Path] {
			rest[fc.entry] = true
		}
	}
	var gone []Path
	for _, fc := range chosen {
		if !rest[fc.entry] || fc.Path == fc.entry {
			gone = append(gone, fc.entry)
		}
	}
	gone = append(gone, c.settled...)
	slices.Sort(gone)
	gone = slices.Compact(gone)
	var changes []PathChange
	for _, p := range gone {
		e, _ := c.snap.State.Upper.Get(p)
		after := remainder(e)
		if e.Node().present() && c.stillCovered(p, gone) {
			kept := e
			kept.Base = Base{Node: e.Node(), Commit: commit}
			after = plain(kept)
		}
		changes = append(changes, PathChange{Path: p, Before: plain(e), After: after})
	}
	return changes
}

// stillCovered reports whether an entry above p, which is not among those that
// leave, hides what the lower has at p. Leaving is sorted.
func (c *collector) stillCovered(p Path, leaving []Path) bool {
	for d := range p.Ancestors {
		if d == c.mount.Point {
			break
		}
		if e, ok := c.snap.entry(d, c.mount); ok && e.Hides() {
			if _, leaves := slices.BinarySearch(leaving, d); !leaves {
				return true
			}
		}
	}
	return false
}

// remainder is what stays of an entry that was committed: of a directory that
// somebody made, the directory.
func remainder(e Entry) *Entry {
	if e.Kind != Dir {
		return nil
	}
	e.Base = Base{}
	return plain(e)
}
