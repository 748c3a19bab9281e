// Package diff writes changes of files as git diff prints them, so that people,
// models and git apply can read them: one section a file, renames found, and
// numbers per file.
//
// # Bounds
//
// What a caller can make this package do is bounded, whatever the contents. The
// text has at most Options.MaxBytes, and whole hunks only; a file of more than
// 10,000 changed lines has its numbers but no hunks; a search for the smallest
// difference that costs too much ends in a larger one, which is still correct;
// beyond an amount of contents lines are not counted and renames not looked for.
// Each of these says so, in a line of the text that begins with a bracket and is
// no part of the patch.
//
// # Decision: a line diff of our own
//
// github.com/aymanbagabas/go-udiff stops looking after about 100 differences and
// then replaces all the rest, so that its numbers disagree with git's, and its
// writer counts the lines before each edit from the start, which is quadratic.
// This package is the linear-space algorithm of Myers with git's two remedies:
// lines without a counterpart are put aside first, and a search that went too
// far continues from the best place that it has seen.
package diff

import (
	"cmp"
	"context"
	"slices"

	"carrel.dev/workspace"
)

// Side is one version of a file.
type Side struct {
	// Path is what is shown, with a/ or b/ before it instead of a leading slash.
	Path string
	Mode workspace.Mode
	OID  workspace.OID
	// Read returns the content, a symlink's being its target. It is not asked
	// for a submodule's, nor if both sides have the same OID. What it returns is
	// not modified.
	Read func(ctx context.Context) ([]byte, error)
}

// Change is what happened to a file. Old is nil if it was not there, New if it
// is not there any more. Two different paths make a rename.
type Change struct {
	Old, New *Side
}

// Kind is what happened to a file, in a word.
type Kind string

// The kinds. A TypeChange is one from file to symlink or submodule, or back.
const (
	Added      Kind = "added"
	Modified   Kind = "modified"
	Deleted    Kind = "deleted"
	TypeChange Kind = "typechange"
	Renamed    Kind = "renamed"
)

// File sums up the change of one file.
type File struct {
	Path   string
	From   string // the path before a rename, or ""
	Change Kind
	// Insertions and Deletions count lines. They are zero for a file of which a
	// side is Binary, and for an Uncounted one, that the bound on work left out.
	Insertions, Deletions int
	Binary, Uncounted     bool
}

// Result is a diff.
type Result struct {
	// Text is empty if nothing changed. It has the bytes of the contents, which
	// need not be UTF-8.
	Text  string
	Files []File // in the order of the text, which is that of the paths
	// Truncated reports that Text lacks something, and says in it what.
	Truncated bool
}

// Options configure a diff. The zero value, and nil, mean the defaults.
type Options struct {
	Context  int // unchanged lines around a change; 0 means 3, less than 0 none
	MaxBytes int // of the text, of which 600 are for remarks; 0 means 40 KiB
}

const (
	defaultContext  = 3
	maxContext      = 1 << 20
	defaultMaxBytes = 40 << 10
	maxChangedLines = 10_000
)

// Unified returns the diff of the changes, in any order. Directories are left
// out, and so are changes that change nothing. A file that is gone and a new one
// with the same or at least half of its content are one rename. Errors are those
// of ctx and of Side.Read.
func Unified(ctx context.Context, changes []Change, opts *Options) (*Result, error) {
	if opts == nil {
		opts = &Options{}
	}
	d := &differ{
		context: min(max(cmp.Or(opts.Context, defaultContext), 0), maxContext),
		out:     output{max: cmp.Or(opts.MaxBytes, defaultMaxBytes)},
		work:    newWork(),
	}
	pairs, err := d.pairs(ctx, changes)
	if err != nil {
		return nil, err
	}
	result := &Result{}
	for _, p := range pairs {
		f, err := d.file(ctx, p)
		if err != nil {
			return nil, err
		}
		result.Files = append(result.Files, f)
	}
	result.Text, result.Truncated = d.out.finish(d.work)
	return result, nil
}

// differ is the state of one call.
type differ struct {
	context int
	out     output
	work    *work
}

// pair is a change with what is known about it.
type pair struct {
	Change
	score int // of a rename, out of maxScore
}

// path is that by which pairs are sorted.
func (p pair) path() string {
	if p.New != nil {
		return p.New.Path
	}
	return p.Old.Path
}

func (p pair) kind() Kind {
	switch {
	case p.Old == nil:
		return Added
	case p.New == nil:
		return Deleted
	case p.Old.Mode.Kind() != p.New.Mode.Kind():
		return TypeChange
	case p.Old.Path != p.New.Path:
		return Renamed
	}
	return Modified
}

// pairs returns the changes sorted by path, without those that change nothing
// and with renames put together.
func (d *differ) pairs(ctx context.Context, changes []Change) ([]pair, error) {
	var pairs []pair
	var r renamer
	for _, c := range changes {
		c = Change{notDir(c.Old), notDir(c.New)}
		switch {
		case c.Old == nil && c.New == nil:
		case c.New == nil:
			r.removed = append(r.removed, &candidate{Side: c.Old})
		case c.Old == nil:
			r.added = append(r.added, &candidate{Side: c.New})
		case c.Old.Path != c.New.Path:
			p, err := d.renamed(ctx, c)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, p)
		case c.Old.OID != c.New.OID || c.Old.Mode.Canonical() != c.New.Mode.Canonical():
			pairs = append(pairs, pair{Change: c})
		}
	}
	r.work = d.work
	found, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	pairs = append(pairs, found...)
	slices.SortStableFunc(pairs, func(p, q pair) int { return cmp.Compare(p.path(), q.path()) })
	return pairs, nil
}

// notDir returns s, or nil if it is a directory.
func notDir(s *Side) *Side {
	if s != nil && s.Mode.Kind() == workspace.Dir {
		return nil
	}
	return s
}
