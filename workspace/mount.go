package workspace

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// Policy says what git.commit may do with a mount.
type Policy string

// The policies, the widest first.
const (
	CommitToMain Policy = "commit-to-main" // commits go to the mount's branch
	WorkBranch   Policy = "branch"         // commits go to a work branch of the workspace
	ReadOnly     Policy = "read-only"      // nothing is committed
)

var policies = []Policy{CommitToMain, WorkBranch, ReadOnly}

// ParsePolicy reads a policy's name.
func ParsePolicy(s string) (Policy, error) {
	if slices.Contains(policies, Policy(s)) {
		return Policy(s), nil
	}
	return "", Errorf(Invalid, "%q is no policy", clip(s)).Hinted("Use commit-to-main, branch or read-only.")
}

// narrower returns the one of two policies that allows less.
func narrower(a, b Policy) Policy {
	return policies[max(slices.Index(policies, a), slices.Index(policies, b))]
}

// Repo is a repository as the project knows it.
type Repo struct {
	Path    RepoPath
	Source  Source
	Branch  string
	Policy  Policy
	Removed bool
}

// The fields of a deviation, as configurations and events name them.
const (
	FieldRepo   = "repoPath"
	FieldBranch = "branch"
	FieldPolicy = "policy"
	FieldPin    = "pin"
)

// Deviation is a stored difference from the derived mount table at one path.
// Empty fields are as derived.
type Deviation struct {
	Repo   RepoPath
	Branch string
	Policy Policy
	Pin    OID
}

// complete reports whether the deviation stands by itself.
func (d Deviation) complete() bool { return d.Repo != "" && d.Policy != "" }

// MountPatch changes one deviation: a field with a value sets it, a field with
// nil clears it, a nil patch clears all of it. Its keys are the Field names.
type MountPatch map[string]*string

// apply returns d changed by the patch. It fails on what no writer accepts.
func (m MountPatch) apply(d Deviation) (Deviation, error) {
	if m == nil {
		return Deviation{}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := deref(m[name])
		var err error
		switch name {
		case FieldRepo:
			d.Repo = RepoPath(v)
			if v != "" {
				_, err = ParseRepoPath(v)
			}
		case FieldBranch:
			d.Branch = v
		case FieldPolicy:
			d.Policy = Policy(v)
			if v != "" {
				_, err = ParsePolicy(v)
			}
		case FieldPin:
			d.Pin = OID{}
			if v != "" {
				d.Pin, err = ParseOID(v)
			}
		default:
			err = Errorf(Invalid, "a mount has no field %q", clip(name)).Hinted("Use repoPath, branch, policy.")
		}
		if err != nil {
			return Deviation{}, err
		}
	}
	return d, nil
}

// Mount is a repo visible at a mount point of one workspace.
type Mount struct {
	Point    Path
	Repo     RepoPath
	Source   Source
	Branch   string // the branch that it is read at, a work branch after the first commit to it
	Upstream string // the branch it was mounted with
	Policy   Policy
	Pin      OID // the commit that it is held at; zero while it floats
	// Work is the last commit that the workspace made on the work branch Branch;
	// zero while the mount reads its upstream.
	Work OID
	// Removed says that the project no longer has the repo: the mount stays,
	// uncommittable, while uncommitted content of it remains.
	Removed bool
}

// Owner is how the mount's entries name it.
func (m *Mount) Owner() Owner {
	if m == nil {
		return Owner{}
	}
	return Owner{m.Point, m.Repo}
}

// Table is a workspace's effective mounts, sorted by their points.
type Table struct {
	Mounts []*Mount
	// Withheld are mounts that the project has and the workspace does not show,
	// because it has uncommitted content of another owner at or below their point,
	// or a file where their point needs a directory.
	Withheld []*Mount
	longest  int // of the mounts' points, in bytes; 0 if it is not known
}

// Route returns the mount that a path belongs to: the one with the longest
// point that contains it, nil if there is none.
func (t *Table) Route(p Path) *Mount {
	for d := t.cut(p); ; d = d.Dir() {
		if m := t.At(d); m != nil || d == Root {
			return m
		}
	}
}

// cut returns the nearest of p and the directories above it that is no longer
// than any point.
func (t *Table) cut(p Path) Path {
	switch {
	case t.longest == 0 || len(p) <= t.longest:
		return p
	case p[t.longest] == '/':
		return p[:t.longest]
	}
	return p[:t.longest].Dir()
}

// At returns the mount whose point is exactly p, or nil.
func (t *Table) At(p Path) *Mount {
	i, ok := slices.BinarySearchFunc(t.Mounts, p, func(m *Mount, p Path) int { return strings.Compare(string(m.Point), string(p)) })
	if !ok {
		return nil
	}
	return t.Mounts[i]
}

// Spans reports whether p is a mount point or an ancestor of one: always a
// directory, whatever an outer repo has there.
func (t *Table) Spans(p Path) bool {
	if p == Root || t.At(p) != nil {
		return true
	}
	for range t.below(p) {
		return true
	}
	return false
}

// below yields the mounts whose points lie strictly below p.
func (t *Table) below(p Path) func(yield func(*Mount) bool) {
	return func(yield func(*Mount) bool) {
		from := string(p) + "/"
		if p == Root {
			from = "/"
		}
		i := sort.Search(len(t.Mounts), func(i int) bool { return string(t.Mounts[i].Point) >= from })
		for ; i < len(t.Mounts) && t.Mounts[i].Point.Below(p); i++ {
			if !yield(t.Mounts[i]) {
				return
			}
		}
	}
}

// derive computes a workspace's table from the project's repos and its own
// state. Deviations that do not stand by themselves at a path where nothing is
// derived, and repos with paths that none should have, are left out, and so is
// what is not granted, wherever it is mounted.
func derive(repos map[RepoPath]Repo, s *State, g *Grants) *Table {
	byPoint := map[Path]*Mount{}
	for _, r := range repos {
		if _, err := ParseRepoPath(string(r.Path)); err != nil {
			continue
		}
		m := &Mount{Point: Path(r.Path), Repo: r.Path}
		if r.Removed && !s.Upper.holds(m.Point, m.Owner()) {
			continue
		}
		byPoint[m.Point] = m
	}
	for p, d := range s.Deviations {
		if _, err := checkPoint(string(p)); err != nil {
			continue
		}
		m := byPoint[p]
		if m == nil && d.complete() {
			m = &Mount{Point: p}
			byPoint[p] = m
		}
		if m == nil {
			continue
		}
		if d.Repo != "" {
			m.Repo = d.Repo
		}
		m.Upstream, m.Policy, m.Pin = d.Branch, d.Policy, d.Pin
	}
	t := &Table{}
	for _, m := range byPoint {
		r, ok := repos[m.Repo]
		policy, granted := g.Repo(m.Repo)
		if !granted {
			continue
		}
		r.Policy = narrower(r.Policy, policy)
		if !ok || r.Removed && !s.Upper.holds(m.Point, m.Owner()) {
			continue
		}
		m.fill(r, s.Work[m.Repo])
		if len(s.Upper.inTheWay(m)) > 0 {
			t.Withheld = append(t.Withheld, m)
		} else {
			t.Mounts = append(t.Mounts, m)
			t.longest = max(t.longest, len(m.Point))
		}
	}
	byPath := func(a, b *Mount) int { return strings.Compare(string(a.Point), string(b.Point)) }
	slices.SortFunc(t.Mounts, byPath)
	slices.SortFunc(t.Withheld, byPath)
	return t
}

// fill completes a mount from its repo and the work that the workspace has there.
func (m *Mount) fill(r Repo, w Work) {
	m.Source, m.Removed = r.Source, r.Removed
	if m.Upstream == "" {
		m.Upstream = r.Branch
	}
	m.Branch = m.Upstream
	if m.Policy == "" {
		m.Policy = r.Policy
	}
	m.Policy = narrower(m.Policy, r.Policy)
	if m.Policy != CommitToMain && w.Branch != "" && w.Upstream == m.Upstream {
		m.Branch, m.Work = w.Branch, w.Commit
	}
}

// holds reports whether the upper has content of an owner at or below p.
// Whiteouts are no content.
func (u *Upper) holds(p Path, owner Owner) bool {
	for _, e := range u.Within(p) {
		if e.Kind != Whiteout && e.Owner == owner {
			return true
		}
	}
	return false
}

// inTheWay lists the paths at which the upper has content that a mount would
// displace or hide: of another owner at or below its point, and the file that
// stands where a directory above the point has to be.
func (u *Upper) inTheWay(m *Mount) []Path {
	for d := range m.Point.Ancestors {
		if e, ok := u.Get(d); ok && (e.Kind == File || e.Kind == Symlink) {
			return []Path{d}
		}
	}
	var paths []Path
	for q, e := range u.Within(m.Point) {
		// What belongs to a mount further down is not in the way of this one.
		if e.Kind != Whiteout && e.Owner != m.Owner() && !(e.Owner.Mount.Below(m.Point) && e.Owner.Mount.Contains(q)) {
			paths = append(paths, q)
		}
	}
	return paths
}

// checkPoint checks a mount point as a configuration spells it and returns it
// in canonical form.
func checkPoint(spelling string) (Path, error) {
	p, err := ParsePath(spelling)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(spelling, "/") {
		return "", Errorf(Invalid, "a mount point is an absolute path").At(clip(spelling))
	}
	if p == Root {
		return "", Errorf(Invalid, "a mount at / is not allowed").At(clip(spelling)).Hinted("Choose a directory, for example /vendor.")
	}
	for _, r := range reserved {
		if r.Contains(p) {
			return "", Errorf(Invalid, "%s and all below it is reserved", r).At(clip(spelling)).Hinted("Choose another directory, for example /vendor.")
		}
	}
	for seg := range strings.SplitSeq(string(p)[1:], "/") {
		if isDotGit(seg) {
			return "", Errorf(Invalid, "a mount point with a reserved .git segment").At(clip(spelling))
		}
		if strings.ContainsFunc(seg, unicode.IsControl) {
			return "", Errorf(Invalid, "a mount point with control characters")
		}
	}
	return p, nil
}
