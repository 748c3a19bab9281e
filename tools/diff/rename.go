package diff

import (
	"cmp"
	"context"
	"path"
	"slices"

	"carrel.dev/workspace"
)

// Bounds on renames. The scores are git's: of a rename at least half of the
// larger file is common, and of one found by its name alone three quarters.
const (
	maxScore      = 60_000
	minScore      = maxScore / 2
	minNameScore  = maxScore * 3 / 4
	maxCandidates = 300     // on each side, to compare all with all
	maxCompared   = 8 << 20 // bytes of one content
)

// renamer looks for renames among the removed and added files.
type renamer struct {
	removed, added []*candidate
	work           *work
	found          []pair
}

// candidate is one side of what may be a rename.
type candidate struct {
	*Side
	print *fingerprint // nil until it is asked for
	taken bool
}

func (c *candidate) regular() bool { return c.Mode.Kind() == workspace.File }

// find returns all the removed and added files, as renames where they are: by
// equal content, else by equal name and similar content, else by the most similar
// content. This is git's order.
func (r *renamer) find(ctx context.Context) ([]pair, error) {
	for _, list := range [][]*candidate{r.removed, r.added} {
		slices.SortFunc(list, func(a, b *candidate) int { return cmp.Compare(a.Path, b.Path) })
	}
	r.byContent()
	if err := r.byName(ctx); err != nil {
		return nil, err
	}
	if err := r.bySimilarity(ctx); err != nil {
		return nil, err
	}
	for _, c := range r.rest(r.removed) {
		r.found = append(r.found, pair{Change: Change{Old: c.Side}})
	}
	for _, c := range r.rest(r.added) {
		r.found = append(r.found, pair{Change: Change{New: c.Side}})
	}
	return r.found, nil
}

// rest returns the candidates that are not part of a rename yet.
func (r *renamer) rest(list []*candidate) []*candidate {
	return slices.DeleteFunc(slices.Clone(list), func(c *candidate) bool { return c.taken })
}

// take makes a rename of two files.
func (r *renamer) take(old, new *candidate, score int) {
	old.taken, new.taken = true, true
	r.found = append(r.found, pair{Change{old.Side, new.Side}, score})
}

// byContent takes the files of equal content, those of the same name first.
func (r *renamer) byContent() {
	removed := map[workspace.OID][]*candidate{}
	for _, c := range r.removed {
		removed[c.OID] = append(removed[c.OID], c)
	}
	for _, new := range r.added {
		var best *candidate
		for _, old := range removed[new.OID] {
			fits := old.regular() && new.regular() || old.Mode == new.Mode
			if fits && !old.taken && (best == nil || sameName(old, new) && !sameName(best, new)) {
				best = old
			}
		}
		if best != nil {
			r.take(best, new, maxScore)
		}
	}
}

// byName takes the files that are alone in having their name on both sides, as
// when a directory moved, if they are very similar.
func (r *renamer) byName(ctx context.Context) error {
	removed, added := uniqueNames(r.rest(r.removed)), uniqueNames(r.rest(r.added))
	for _, new := range r.rest(r.added) {
		name := path.Base(new.Path)
		old := removed[name]
		if old == nil || added[name] == nil {
			continue
		}
		score, err := r.score(ctx, old, new, minNameScore)
		if err != nil {
			return err
		}
		if score >= minNameScore {
			r.take(old, new, score)
		}
	}
	return nil
}

// uniqueNames maps the names that one file has to it, and others to nil.
func uniqueNames(list []*candidate) map[string]*candidate {
	names := map[string]*candidate{}
	for _, c := range list {
		name := path.Base(c.Path)
		if _, again := names[name]; again {
			c = nil
		}
		names[name] = c
	}
	return names
}

// bySimilarity compares all with all and takes the most similar ones first.
func (r *renamer) bySimilarity(ctx context.Context) error {
	removed, added := r.rest(r.removed), r.rest(r.added)
	if len(removed)*len(added) > maxCandidates*maxCandidates {
		r.work.renamesBounded = true
		return nil
	}
	type match struct {
		old, new *candidate
		score    int
	}
	var matches []match
	for _, new := range added {
		for _, old := range removed {
			score, err := r.score(ctx, old, new, minScore)
			if err != nil {
				return err
			}
			if score >= minScore {
				matches = append(matches, match{old, new, score})
			}
		}
	}
	named := func(m match) int {
		if sameName(m.old, m.new) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(named(b), named(a)))
	})
	for _, m := range matches {
		if !m.old.taken && !m.new.taken {
			r.take(m.old, m.new, m.score)
		}
	}
	return nil
}

func sameName(a, b *candidate) bool { return path.Base(a.Path) == path.Base(b.Path) }

// score returns how similar two regular files are, or 0 if it is less than
// least or more work than is left.
func (r *renamer) score(ctx context.Context, old, new *candidate, least int) (int, error) {
	if !old.regular() || !new.regular() {
		return 0, nil
	}
	for _, c := range []*candidate{old, new} {
		if c.print != nil {
			continue
		}
		if err := r.fingerprint(ctx, c); err != nil {
			return 0, err
		}
	}
	a, b := old.print, new.print
	if r.work.renameSteps -= len(a.parts) + len(b.parts); r.work.renameSteps < 0 {
		r.work.renamesBounded = true
		return 0, nil
	}
	return a.score(b, least), nil
}

// fingerprint makes the fingerprint of a candidate; if that is too large, or too
// much was read already, one that is like no other.
func (r *renamer) fingerprint(ctx context.Context, c *candidate) error {
	c.print = &fingerprint{}
	if r.work.renameBytes <= 0 {
		r.work.renamesBounded = true
		return nil
	}
	content, err := c.Read(ctx)
	if err != nil {
		return err
	}
	r.work.renameBytes -= max(len(content), smallRead)
	if len(content) > maxCompared {
		r.work.renamesBounded = true
		return nil
	}
	c.print = newFingerprint(content)
	return nil
}

// renamed returns the pair of a change that the caller knows to be a rename.
func (d *differ) renamed(ctx context.Context, c Change) (pair, error) {
	p := pair{Change: c, score: maxScore}
	if c.Old.OID == c.New.OID {
		return p, nil
	}
	r := renamer{work: d.work}
	score, err := r.score(ctx, &candidate{Side: c.Old}, &candidate{Side: c.New}, 0)
	p.score = score
	return p, err
}
