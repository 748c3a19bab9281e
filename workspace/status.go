package workspace

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// The ways in which a path differs from what is committed.
const (
	Added      = "added"
	Modified   = "modified"
	Removed    = "deleted"
	TypeChange = "typechange"
)

// FileChange is one uncommitted path of a mount.
type FileChange struct {
	Path   Path
	Change string // Added, Modified, Removed or TypeChange
	// Ours is what the workspace has, Base what it was made from, Theirs what the
	// branch has now; the zero Node for nothing.
	Ours, Base, Theirs Node
	// Conflict says in a clause why the change cannot be committed, or is empty.
	Conflict string
	// Ignored says that git ignores the path: it is committed only by force.
	Ignored bool

	entry Path // of the upper, that makes the change
}

// verdict is the three-way rule's answer.
type verdict int

const (
	clean    verdict = iota // ours and theirs are the same
	noChange                // we changed nothing: theirs wins
	ours                    // they changed nothing: ours is to be committed
	conflict
)

// judge is the three-way rule.
func judge(mine, base, theirs Node) verdict {
	switch {
	case mine == theirs:
		return clean
	case mine == base:
		return noChange
	case theirs == base:
		return ours
	}
	return conflict
}

// collector gathers the changes of one mount.
type collector struct {
	snap    *Snapshot
	mount   *Mount
	head    *view
	rules   map[string][]byte // .gitignore by directory
	changes []FileChange
	// settled are the entries that make no change: as at head, or not ours.
	settled []Path
}

// Changes lists what a mount's part of the upper would commit, sorted by path,
// the ignored and the conflicting among it. It costs what the upper has there.
func (s *Snapshot) Changes(ctx context.Context, m *Mount) ([]FileChange, error) {
	c, err := s.collect(ctx, m)
	if err != nil {
		return nil, err
	}
	return c.changes, nil
}

func (s *Snapshot) collect(ctx context.Context, m *Mount) (*collector, error) {
	c := &collector{snap: s, mount: m, rules: map[string][]byte{}}
	var rels []string // of the mount's entries
	for p := range s.entries(m) {
		rels = append(rels, p.Rel(m.Point))
	}
	if len(rels) == 0 {
		return c, nil
	}
	c.changes = make([]FileChange, 0, len(rels))
	var err error
	if c.head, err = s.view(ctx, m); err != nil {
		return nil, err
	}
	theirs, err := lookups(ctx, c.head.tree, rels)
	if err != nil {
		return nil, err
	}
	for p, e := range s.entries(m) {
		if err := c.add(ctx, p, e, theirs[0]); err != nil {
			return nil, err
		}
		theirs = theirs[1:]
	}
	slices.SortFunc(c.changes, func(a, b FileChange) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return c, nil
}

// entries yields what the upper has of a mount, in order.
func (s *Snapshot) entries(m *Mount) iter.Seq2[Path, Entry] {
	owner := m.Owner()
	return func(yield func(Path, Entry) bool) {
		for p, e := range s.State.Upper.Within(m.Point) {
			if e.Owner == owner && s.Table.Route(p) == m && !yield(p, e) {
				return
			}
		}
	}
}

// add judges one entry, given what the branch has at its path.
func (c *collector) add(ctx context.Context, p Path, e Entry, theirs Node) error {
	theirs.Mode = theirs.Mode.Canonical()
	before := len(c.changes)
	if e.Hides() && theirs.Kind() == Dir && theirs.present() && e.Base.Kind() == Dir && e.Base.present() {
		if err := c.addTree(ctx, p, e.Base, theirs); err != nil {
			return err
		}
		if e.Node().present() {
			ignored, err := c.ignored(ctx, p)
			if err != nil {
				return err
			}
			c.append(FileChange{Path: p, Change: Added, Ours: e.Node(), Ignored: ignored, entry: p})
		}
	} else if e.Kind != Dir || e.Hides() {
		if err := c.addFile(ctx, p, e, theirs); err != nil {
			return err
		}
	}
	if len(c.changes) == before && (e.Kind != Dir || e.Hides()) {
		c.settled = append(c.settled, p)
	}
	return nil
}

// addFile judges an entry that stands for one file on each side.
func (c *collector) addFile(ctx context.Context, p Path, e Entry, theirs Node) error {
	fc := FileChange{Path: p, Ours: e.Node(), Base: e.Base.Node, Theirs: theirs, entry: p}
	if fc.Base.Kind() == Dir && !theirs.present() {
		fc.Base = Node{} // the directory that we replaced is gone at head too
	}
	switch v := judge(fc.Ours, fc.Base, fc.Theirs); {
	case v == noChange && e.Kind == Whiteout, v == conflict:
		// A whiteout hides what came there since: not to be passed over in silence.
		fc.Conflict = disagreement(fc)
	case v != ours:
		return nil
	}
	fc.Change = fc.name()
	if fc.Conflict == "" && fc.Ours.present() && !theirs.present() {
		var err error
		if fc.Conflict, err = c.blocked(ctx, p); err != nil {
			return err
		}
	}
	if fc.Ours.present() && !theirs.present() && !fc.Base.present() {
		var err error
		if fc.Ignored, err = c.ignored(ctx, p); err != nil {
			return err
		}
	}
	c.append(fc)
	return nil
}

func (c *collector) append(fc FileChange) { c.changes = append(c.changes, fc) }

// name says how the path differs from what it was made from.
func (fc FileChange) name() string {
	switch was := fc.Base; {
	case !fc.Ours.present():
		return Removed
	case !was.present() || was.Kind() == Dir:
		return Added
	case was.Kind() != fc.Ours.Kind():
		return TypeChange
	}
	return Modified
}

// disagreement says in a clause what somebody else did.
func disagreement(fc FileChange) string {
	switch {
	case !fc.Theirs.present():
		return "deleted on the branch since"
	case fc.Theirs.Kind() == Dir:
		return "a directory on the branch since"
	case !fc.Base.present():
		return "added on the branch since, with other content"
	}
	return "changed on the branch since"
}

// blocked says whether something that the branch has above p, and that we did
// not take away, is no directory.
func (c *collector) blocked(ctx context.Context, p Path) (string, error) {
	for d := range p.Ancestors {
		if d == c.mount.Point {
			break
		}
		n, err := c.snap.lowerNode(ctx, d, c.mount)
		if err != nil {
			return "", err
		}
		if !n.present() {
			continue
		}
		if n.Kind() == Dir {
			break
		}
		n.Mode = n.Mode.Canonical()
		if e, ok := c.snap.entry(d, c.mount); ok && !e.Node().present() && e.Base.Node == n {
			break
		}
		return "below " + d.String() + ", which is a " + string(n.Kind()) + " on the branch", nil
	}
	return "", nil
}

// addTree judges a directory that the entry at p hides: whatever of it the
// branch still has is deleted, unless it changed there since.
func (c *collector) addTree(ctx context.Context, p Path, base Base, theirs Node) error {
	old, err := c.oldTree(ctx, base)
	if err != nil {
		return err
	}
	w := treeWalk{c: c, entry: p, old: old, same: base.OID == theirs.OID}
	return w.walk(ctx, p, theirs)
}

// oldTree returns the tree that a base was seen in, nil if it can no longer be
// read: then nothing matches it.
func (c *collector) oldTree(ctx context.Context, base Base) (Tree, error) {
	if base.Commit == c.head.base {
		return c.head.tree, nil
	}
	t, err := c.snap.live.host.cfg.Trees.Tree(ctx, c.mount.Source, base.Commit)
	if errors.Is(err, NotExist) {
		return nil, nil
	}
	return t, err
}

// treeWalk lists what is deleted with a directory.
type treeWalk struct {
	c     *collector
	entry Path
	old   Tree
	same  bool // the directory is on the branch as it was when it was deleted
}

func (w treeWalk) walk(ctx context.Context, dir Path, theirs Node) error {
	c := w.c
	entries, err := c.head.tree.ReadDir(ctx, dir.Rel(c.mount.Point))
	if err != nil {
		return err
	}
	for _, d := range entries {
		p := dir.Join(d.Name)
		if e, ok := c.snap.entry(p, c.mount); ok && e.Hides() {
			continue // judged by itself
		}
		if d.Kind() == Dir {
			if err := w.walk(ctx, p, d.Node); err != nil {
				return err
			}
			continue
		}
		n := Node{d.Mode.Canonical(), d.OID}
		fc := FileChange{Path: p, Change: Removed, Base: n, Theirs: n, entry: w.entry}
		if !w.same {
			if fc.Base, err = w.was(ctx, p); err != nil {
				return err
			}
			if fc.Base != n {
				fc.Conflict = disagreement(fc)
			}
		}
		c.append(fc)
	}
	return nil
}

// was returns what a path below the deleted directory was.
func (w treeWalk) was(ctx context.Context, p Path) (Node, error) {
	if w.old == nil {
		return Node{}, nil
	}
	n, err := w.old.Lookup(ctx, p.Rel(w.c.mount.Point))
	if errors.Is(err, NotExist) || errors.Is(err, NotDir) || errors.Is(err, ErrMissing) {
		return Node{}, nil
	}
	n.Mode = n.Mode.Canonical()
	return n, err
}

// ignored asks git's rules, as merged in the workspace, about an untracked path.
func (c *collector) ignored(ctx context.Context, p Path) (bool, error) {
	ig := c.snap.live.host.cfg.Ignorer
	if ig == nil {
		return false, nil
	}
	return ig.Ignored(p.Rel(c.mount.Point), func(dir string) ([]byte, error) {
		if b, known := c.rules[dir]; known {
			return b, nil
		}
		b, err := c.snap.ignoreFile(ctx, c.mount.Point.Join(dir).Join(".gitignore"))
		c.rules[dir] = b
		return b, err
	})
}

// ignoreFile returns the content of an ignore file, nil if there is none that
// git would read.
func (s *Snapshot) ignoreFile(ctx context.Context, p Path) ([]byte, error) {
	f, err := s.Lookup(ctx, p)
	if errors.Is(err, NotExist) || err == nil && f.Kind != File {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.Content(ctx, f)
}

// Ignored reports whether git ignores what the upper has at a path: a file in a
// mount that the branch does not have and a rule of the repo matches.
func (s *Snapshot) Ignored(ctx context.Context, f Found) (bool, error) {
	if f.Layer != LayerUpper || f.Mount == nil {
		return false, nil
	}
	n, err := s.lowerNode(ctx, f.Path, f.Mount)
	if err != nil || n.present() {
		return false, err
	}
	c := &collector{snap: s, mount: f.Mount, rules: map[string][]byte{}}
	return c.ignored(ctx, f.Path)
}

// Unmounted lists the scratch paths of the upper, in order.
func (s *Snapshot) Unmounted() []Path {
	var paths []Path
	for p, e := range s.State.Upper.Within(Scratch) {
		if e.Owner == (Owner{}) && e.Kind != Whiteout && e.Kind != Dir && !Private.Contains(p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// Displaced lists the paths of entries, deletions among them, that belong to a
// mount which is not at their path any more: they are neither read nor committed,
// until that mount is there again or they are reverted.
func (s *Snapshot) Displaced() []Path {
	var paths []Path
	for p, e := range s.State.Upper.Within(Root) {
		if s.Table.Route(p).Owner() != e.Owner {
			paths = append(paths, p)
		}
	}
	return paths
}

// Unsaved counts the paths that would be lost with the workspace.
func (s *Snapshot) Unsaved(ctx context.Context) (int, error) {
	n := len(s.Unmounted()) + len(s.Displaced())
	for _, m := range s.Table.Mounts {
		changes, err := s.Changes(ctx, m)
		if err != nil {
			return 0, err
		}
		n += len(changes)
	}
	return n, nil
}
