package tools

import (
	"context"
	"fmt"
	"strings"

	"carrel.dev/workspace"
)

// ReadDirIn are the arguments of readDir.
type ReadDirIn struct {
	Path   string `json:"path,omitempty" doc:"default /"`
	Depth  int    `json:"depth,omitempty" min:"1" max:"20" doc:"levels, default 1"`
	Limit  int    `json:"limit,omitempty" min:"1" max:"300"`
	Cursor string `json:"cursor,omitempty"`
	At     string `json:"at,omitempty" doc:"\"base\": as committed"`
}

// DirEntry is one entry of a directory.
type DirEntry struct {
	Name string `json:"name"` // relative to the directory; a directory ends in a slash
	Kind string `json:"kind"`
	Size int64  `json:"size"` // bytes
}

// ReadDirOut is the result of readDir.
type ReadDirOut struct {
	Workspace  string     `json:"workspace"`
	Path       string     `json:"path"`
	Entries    []DirEntry `json:"entries"`
	Unreadable []string   `json:"unreadable,omitempty"` // mounts not looked into, which cannot be read now
	Truncated  bool       `json:"truncated"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

// Render lists the names, one a line.
func (o ReadDirOut) Render() Rendering {
	if len(o.Entries) == 0 {
		return Rendering{Text: fmt.Sprintf("%s is empty", shown(o.Path))}
	}
	var b strings.Builder
	for _, e := range o.Entries {
		b.WriteString(shown(e.Name))
		if e.Kind == string(workspace.Symlink) || e.Kind == string(workspace.Submodule) {
			fmt.Fprintf(&b, " (%s)", e.Kind)
		}
		b.WriteByte('\n')
	}
	return Rendering{Text: strings.TrimSuffix(b.String(), "\n"), Notes: notes(leftOutMounts(o.Unreadable), goesOn(o.NextCursor))}
}

// goesOn says how to get the next page.
func goesOn(cursor string) string {
	if cursor == "" {
		return ""
	}
	return fmt.Sprintf("[more follow; cursor %s]", cursor)
}

func readDir() *Tool {
	return onWorkspace(Tool{
		Name: "readDir", Core: true, ReadOnly: true, Idempotent: true,
		Description: "List a directory, sorted by name, directories with a trailing slash. / shows the repos.",
	}, ReadDir)
}

// ReadDir lists a directory.
func ReadDir(ctx context.Context, w *workspace.Workspace, in ReadDirIn) (ReadDirOut, error) {
	if in.Path == "" {
		in.Path = "/"
	}
	p, err := workspace.ParsePath(in.Path)
	if err != nil {
		return ReadDirOut{}, err
	}
	s, c, err := from(ctx, w, in.Cursor, in.At, queryOf("readDir", in))
	if err != nil {
		return ReadDirOut{}, err
	}
	l := lister{snap: s, top: p, cursor: c, room: pageRoom(w, in.Limit), mounts: readable{snap: s}}
	l.out = ReadDirOut{Workspace: string(w.ID()), Path: p.String(), Entries: []DirEntry{}}
	if err := l.list(ctx, p, max(in.Depth, 1)); err != nil {
		return ReadDirOut{}, target{w, s, in.Path, p}.explain(ctx, err)
	}
	l.out.Unreadable = l.mounts.out
	if l.out.Truncated {
		l.out.NextCursor = c.next(w, s, l.last, 0)
	}
	return l.out, nil
}

// lister fills one page of a directory's listing.
type lister struct {
	snap   *workspace.Snapshot
	top    workspace.Path
	cursor cursor
	room   *room
	last   workspace.Path
	mounts readable
	out    ReadDirOut
}

// list adds the entries of dir and, as deep as asked, of those below it. Within
// a directory the order is that of the names, a directory before what it holds.
func (l *lister) list(ctx context.Context, dir workspace.Path, depth int) error {
	children, err := l.snap.ReadDir(ctx, dir)
	if err != nil {
		return err
	}
	for _, c := range children {
		if !l.behind(c.Path) {
			if err := l.add(ctx, c); err != nil || l.out.Truncated {
				return err
			}
		}
		if c.Kind == workspace.Dir && depth > 1 && !l.skipped(c.Path) && l.enters(ctx, c.Path) {
			if err := l.list(ctx, c.Path, depth-1); err != nil || l.out.Truncated {
				return err
			}
		}
	}
	return nil
}

// enters reports whether to look into a directory: not into a mount that cannot
// be read.
func (l *lister) enters(ctx context.Context, dir workspace.Path) bool {
	m := l.snap.Table.At(dir)
	return m == nil || l.mounts.enter(ctx, m)
}

// behind reports whether an entry was on an earlier page.
func (l *lister) behind(p workspace.Path) bool {
	return l.cursor.After != "" && compareNested(p, l.cursor.After) <= 0
}

// skipped reports whether all below a directory was on earlier pages.
func (l *lister) skipped(dir workspace.Path) bool {
	return l.behind(dir) && !dir.Contains(l.cursor.After)
}

// compareNested orders paths segment by segment, so that a directory comes
// right before what it holds.
func compareNested(a, b workspace.Path) int {
	return strings.Compare(strings.ReplaceAll(string(a), "/", "\x00"), strings.ReplaceAll(string(b), "/", "\x00"))
}

func (l *lister) add(ctx context.Context, f workspace.Found) error {
	size, err := l.snap.Size(ctx, f)
	if err != nil {
		return err
	}
	e := DirEntry{Name: f.Path.Rel(l.top), Kind: string(f.Kind), Size: size}
	if f.Kind == workspace.Dir {
		e.Name += "/"
	}
	if !l.room.take(len(e.Name) + 64) {
		l.out.Truncated = true
		return nil
	}
	l.last = f.Path
	l.out.Entries = append(l.out.Entries, e)
	return nil
}
