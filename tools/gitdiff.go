package tools

import (
	"context"
	"strings"

	"carrel.dev/tools/diff"
	"carrel.dev/workspace"
)

// GitDiffIn are the arguments of git.diff.
type GitDiffIn struct {
	Scope   string `json:"scope,omitempty" doc:"mount; default all"`
	Path    string `json:"path,omitempty"`
	Context *int   `json:"context,omitempty" min:"0" max:"100" doc:"lines, default 3"`
}

// FileDiff sums up one file of a diff.
type FileDiff struct {
	Path       string `json:"path"`
	Change     string `json:"change"` // added, modified, deleted, typechange or renamed
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
	From       string `json:"from,omitempty"` // the path before a rename
}

// GitDiffOut is the result of git.diff.
type GitDiffOut struct {
	Workspace string     `json:"workspace"`
	Files     []FileDiff `json:"files"`
	MoreFiles int        `json:"moreFiles,omitempty"` // changed files that are not listed
	Truncated bool       `json:"truncated"`

	text string
	note string
}

// Render gives the diff.
func (o GitDiffOut) Render() Rendering {
	if len(o.Files) == 0 {
		return Rendering{Text: "no uncommitted changes", Notes: notes(o.note)}
	}
	return Rendering{Text: o.text}
}

func gitDiff() *Tool {
	return onWorkspace(Tool{
		Name: "git.diff", Core: true, ReadOnly: true, Long: true, Idempotent: true, TextOnly: true,
		Description: "Show the uncommitted changes as a unified diff, with renames.",
	}, GitDiff)
}

// GitDiff shows the workspace's changes against their bases.
func GitDiff(ctx context.Context, w *workspace.Workspace, in GitDiffIn) (GitDiffOut, error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return GitDiffOut{}, err
	}
	mounts, err := inScope(s, in.Scope)
	if err != nil {
		return GitDiffOut{}, err
	}
	below := workspace.Root
	if in.Path != "" {
		if below, err = workspace.ParsePath(in.Path); err != nil {
			return GitDiffOut{}, err
		}
	}
	var changes []diff.Change
	for _, m := range mounts {
		list, err := s.Changes(ctx, m)
		if err != nil {
			return GitDiffOut{}, err
		}
		for _, c := range list {
			if !c.Ignored && below.Contains(c.Path) {
				changes = append(changes, sides(s, m, c))
			}
			workspace.MeterOf(ctx).Step()
		}
	}
	// Text and files share the room of a result.
	opts := &diff.Options{MaxBytes: resultRoom(w) * 2 / 3}
	if in.Context != nil {
		opts.Context = *in.Context
		if opts.Context == 0 {
			opts.Context = -1
		}
	}
	d, err := diff.Unified(ctx, changes, opts)
	if err != nil {
		return GitDiffOut{}, err
	}
	out := newGitDiffOut(w, d)
	if in.Path != "" && len(out.Files) == 0 {
		out.note = target{w, s, in.Path, below}.absentNote(ctx)
	}
	return out, nil
}

func newGitDiffOut(w *workspace.Workspace, d *diff.Result) GitDiffOut {
	out := GitDiffOut{Workspace: string(w.ID()), Files: []FileDiff{}, Truncated: d.Truncated, text: text(d.Text)}
	room := room{bytes: resultRoom(w) / 3, items: len(d.Files)}
	for _, f := range d.Files {
		if !room.take(len(f.Path) + len(f.From) + 96) {
			out.MoreFiles++
			continue
		}
		out.Files = append(out.Files, FileDiff{f.Path, string(f.Change), f.Insertions, f.Deletions, f.From})
	}
	return out
}

// sides are a change's two versions: what it was made from and what is here.
func sides(s *workspace.Snapshot, m *workspace.Mount, c workspace.FileChange) diff.Change {
	was := c.Theirs
	if c.Conflict != "" {
		was = c.Base
	}
	side := func(n workspace.Node) *diff.Side {
		if n.Mode == 0 || n.Kind() == workspace.Dir {
			return nil
		}
		return &diff.Side{Path: c.Path.String(), Mode: n.Mode, OID: n.OID, Read: func(ctx context.Context) ([]byte, error) {
			return s.Blob(ctx, m, n.OID)
		}}
	}
	return diff.Change{Old: side(was), New: side(c.Ours)}
}

// text is what a diff of bytes is shown as: JSON has room for UTF-8 only.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
