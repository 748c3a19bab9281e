package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	globs "carrel.dev/tools/glob"
	"carrel.dev/workspace"
)

// GlobIn are the arguments of glob.
type GlobIn struct {
	Pattern string `json:"pattern" req:"true" doc:"**, *, ?, [a-z], {a,b}"`
	Path    string `json:"path,omitempty" doc:"of a relative pattern; default /workspace"`
	Limit   int    `json:"limit,omitempty" min:"1" max:"300"`
	Cursor  string `json:"cursor,omitempty"`
	At      string `json:"at,omitempty" doc:"\"base\": as committed"`
}

// GlobOut is the result of glob.
type GlobOut struct {
	Workspace  string   `json:"workspace"`
	Paths      []string `json:"paths"`
	Ignored    int      `json:"ignored"`              // matching files left out, which git ignores
	Unreadable []string `json:"unreadable,omitempty"` // mounts left out, which cannot be read now
	Truncated  bool     `json:"truncated"`
	NextCursor string   `json:"nextCursor,omitempty"`

	searched string
}

// Render lists the paths, one a line.
func (o GlobOut) Render() Rendering {
	text, where := strings.Join(shownAll(o.Paths), "\n"), ""
	if len(o.Paths) == 0 {
		text = fmt.Sprintf("no files match below %s", shown(o.searched))
		if workspace.Scratch.Contains(workspace.Path(o.searched)) {
			where = "A relative pattern is below /workspace unless path says otherwise. Repositories are below /repos: try /repos/**/NAME."
		}
	}
	return Rendering{Text: text, Notes: notes(where, leftOut(o.Ignored), leftOutMounts(o.Unreadable), goesOn(o.NextCursor))}
}

// leftOut counts the files that ignore rules keep out of a list.
func leftOut(ignored int) string {
	if ignored == 0 {
		return ""
	}
	return fmt.Sprintf("[left out because git ignores it: %s]", plural(ignored, "private file"))
}

func glob() *Tool {
	return onWorkspace(Tool{
		Name: "glob", Core: true, ReadOnly: true, Long: true, Idempotent: true,
		Description: "Find files and symlinks by name, for example /repos/app/**/*.go. Returns sorted absolute paths. " +
			"A relative pattern is below path, which is /workspace unless given. Dotfiles match.",
	}, Glob)
}

// Glob lists the files whose paths match a pattern.
func Glob(ctx context.Context, w *workspace.Workspace, in GlobIn) (GlobOut, error) {
	dir, err := workspace.ParsePath(in.Path)
	if err != nil {
		return GlobOut{}, err
	}
	pattern, err := globs.Compile(dir.String(), in.Pattern)
	if err != nil {
		return GlobOut{}, err
	}
	return page{GlobIn: in, tool: "glob", pattern: pattern}.list(ctx, w)
}

func listAllFiles() *Tool {
	return onWorkspace(Tool{
		Name: "listAllFiles", ReadOnly: true, Long: true, Idempotent: true,
		Description: "List every file and symlink of the workspace, in all mounts and scratch, page by page. Returns sorted absolute paths. " +
			"To find some by name use `glob`.",
	}, ListAllFiles)
}

// ListAllFilesIn are the arguments of listAllFiles.
type ListAllFilesIn struct {
	Cursor string `json:"cursor,omitempty"`
}

// ListAllFiles lists everything that glob could find.
func ListAllFiles(ctx context.Context, w *workspace.Workspace, in ListAllFilesIn) (GlobOut, error) {
	pattern, err := globs.Compile("/", "**")
	if err != nil {
		return GlobOut{}, err
	}
	return page{GlobIn: GlobIn{Cursor: in.Cursor}, tool: "listAllFiles", pattern: pattern}.list(ctx, w)
}

// page is one page of the files that a pattern matches.
type page struct {
	GlobIn
	tool    string
	pattern *globs.Pattern
}

func (p page) list(ctx context.Context, w *workspace.Workspace) (GlobOut, error) {
	s, c, err := from(ctx, w, p.Cursor, p.At, queryOf(p.tool, p.GlobIn))
	if err != nil {
		return GlobOut{}, err
	}
	out := GlobOut{Workspace: string(w.ID()), Paths: []string{}, searched: p.pattern.Prefix()}
	room := pageRoom(w, p.Limit)
	var last workspace.Path
	mounts := readable{snap: s}
	for f, err := range matches(ctx, &mounts, c, p.pattern) {
		if err != nil {
			return GlobOut{}, err
		}
		if ignored, err := s.Ignored(ctx, f); ignored || err != nil {
			if err != nil {
				return GlobOut{}, err
			}
			out.Ignored++
			continue
		}
		if !room.take(len(f.Path) + 8) {
			out.Truncated, out.NextCursor = true, c.next(w, s, last, 0)
			break
		}
		last = f.Path
		out.Paths = append(out.Paths, f.Path.String())
	}
	if !out.Truncated {
		last = ""
	}
	out.Unreadable = mounts.upTo(last)
	return out, nil
}

// matches yields the files and symlinks after a cursor that a pattern matches.
func matches(ctx context.Context, mounts *readable, c cursor, pattern *globs.Pattern) func(yield func(workspace.Found, error) bool) {
	top, err := workspace.ParsePath("/" + pattern.Prefix())
	narrow := &workspace.WalkOptions{
		After: c.After,
		Name:  pattern.Names(),
		Enter: func(dir workspace.Path) bool { return pattern.MayMatchBelow(dir.String()) },
		Mount: func(m *workspace.Mount) bool {
			return !c.passed(m.Point) && pattern.MayMatchBelow(m.Point.String()) && mounts.enter(ctx, m)
		},
	}
	return func(yield func(workspace.Found, error) bool) {
		if err != nil {
			yield(workspace.Found{}, err)
			return
		}
		for f, err := range mounts.snap.Walk(ctx, top, narrow) {
			switch {
			case errors.Is(err, workspace.NotExist):
				return // nothing is where all matches would be
			case err != nil:
				yield(f, err)
				return
			case f.Kind == workspace.Submodule, !pattern.Match(f.Path.String()):
				continue
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}
