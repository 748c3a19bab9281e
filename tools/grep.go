package tools

import (
	"context"
	"fmt"
	"strings"

	globs "carrel.dev/tools/glob"
	greps "carrel.dev/tools/grep"
	"carrel.dev/workspace"
)

// GrepIn are the arguments of grep.
type GrepIn struct {
	Pattern    string `json:"pattern" req:"true" doc:"RE2, line by line"`
	Path       string `json:"path,omitempty" doc:"default /"`
	Glob       string `json:"glob,omitempty" doc:"only these files, below path; without a slash at any depth"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Literal    bool   `json:"literal,omitempty"`
	Context    int    `json:"context,omitempty" min:"0" max:"20"`
	Mode       string `json:"mode,omitempty" enum:"content,files,count" doc:"default content"`
	Limit      int    `json:"limit,omitempty" min:"1" max:"300" doc:"default 100 matches, 300 files"`
	Cursor     string `json:"cursor,omitempty"`
	At         string `json:"at,omitempty" doc:"\"base\": as committed"`
}

// GrepMatch is a line that matches.
type GrepMatch struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Column int    `json:"column"` // in bytes, from 1
	Text   string `json:"text"`
}

// GrepCount is how many lines of a file match.
type GrepCount struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

// GrepOut is the result of grep. Mode content has matches, files has paths,
// count has counts.
type GrepOut struct {
	Workspace  string      `json:"workspace"`
	Matches    []GrepMatch `json:"matches,omitzero"`
	Paths      []string    `json:"paths,omitzero"`
	Counts     []GrepCount `json:"counts,omitzero"`
	Total      int         `json:"total,omitempty"` // lines, of the counts on this page
	Files      int         `json:"files"`           // searched for this page
	Skipped    int         `json:"skipped"`         // binary files, very large ones, and symlinks
	Ignored    int         `json:"ignored,omitempty"`
	Unreadable []string    `json:"unreadable,omitempty"` // mounts left out, which cannot be read now
	Truncated  bool        `json:"truncated"`
	NextCursor string      `json:"nextCursor,omitempty"`

	text     []string // the matches of one file each, as text
	searched string
}

// Render shows the matching lines as path:line: text.
func (o GrepOut) Render() Rendering {
	text := strings.Join(o.text, "\n")
	if len(o.text) == 0 {
		text = fmt.Sprintf("no matches in %s below %s", plural(o.Files, "file"), shown(o.searched))
	}
	skipped := ""
	if o.Skipped > 0 {
		skipped = fmt.Sprintf("[%s skipped: binary, very large, or symbolic links]", plural(o.Skipped, "file"))
	}
	return Rendering{Text: text, Notes: notes(skipped, leftOut(o.Ignored), leftOutMounts(o.Unreadable), goesOn(o.NextCursor))}
}

func grep() *Tool {
	return onWorkspace(Tool{
		Name: "grep", Core: true, ReadOnly: true, Long: true, Idempotent: true,
		Description: "Search the text files of this workspace, your changes included. Returns path:line: text, sorted; " +
			"mode files gives paths only, count the number of lines per file.",
	}, Grep)
}

const (
	grepContent = "content"
	grepFiles   = "files"
	grepCount   = "count"

	defaultMatches = 100
)

// Grep searches the text files below a path.
func Grep(ctx context.Context, w *workspace.Workspace, in GrepIn) (GrepOut, error) {
	if in.Path == "" {
		in.Path = "/"
	}
	top, err := workspace.ParsePath(in.Path)
	if err != nil {
		return GrepOut{}, err
	}
	g := grepper{in: in, ws: w}
	if g.matcher, err = greps.Compile(greps.Options{Pattern: in.Pattern, IgnoreCase: in.IgnoreCase, Literal: in.Literal}); err != nil {
		return GrepOut{}, err
	}
	if in.Glob != "" {
		if g.filter, err = globs.CompileFilter(top.String(), in.Glob); err != nil {
			return GrepOut{}, err
		}
	}
	if g.snap, g.cursor, err = from(ctx, w, in.Cursor, in.At, queryOf("grep", in)); err != nil {
		return GrepOut{}, err
	}
	if in.Limit == 0 && (in.Mode == "" || in.Mode == grepContent) {
		in.Limit = defaultMatches
	}
	g.room = pageRoom(w, in.Limit)
	g.out = newGrepOut(w, in.Mode, top)
	if err := g.search(ctx, top); err != nil {
		return GrepOut{}, target{w, g.snap, in.Path, top}.explain(ctx, err)
	}
	return g.out, nil
}

// newGrepOut is the result of a mode without matches: its list is empty, the
// others are not there.
func newGrepOut(w *workspace.Workspace, mode string, top workspace.Path) GrepOut {
	out := GrepOut{Workspace: string(w.ID()), searched: top.String()}
	switch mode {
	case grepFiles:
		out.Paths = []string{}
	case grepCount:
		out.Counts = []GrepCount{}
	default:
		out.Matches = []GrepMatch{}
	}
	return out
}

// grepper fills one page of a search.
type grepper struct {
	in      GrepIn
	ws      *workspace.Workspace
	snap    *workspace.Snapshot
	matcher *greps.Matcher
	filter  *globs.Pattern // nil for every file
	cursor  cursor
	room    *room
	last    workspace.Path // that the page is done with
	out     GrepOut
}

// search looks through the files in order until the page is full.
func (g *grepper) search(ctx context.Context, top workspace.Path) error {
	mounts := readable{snap: g.snap}
	defer func() {
		last := workspace.Path("")
		if g.out.Truncated {
			last = g.last
		}
		g.out.Unreadable = mounts.upTo(last)
	}()
	ahead := firstAhead
	var batch []looked
	for f, err := range g.snap.Walk(ctx, top, g.narrow(ctx, &mounts)) {
		if err != nil {
			return g.failed(ctx, batch, err)
		}
		if f.Path < g.cursor.After || g.filter != nil && !g.filter.Match(f.Path.String()) {
			continue
		}
		// A file that is named is searched whatever git thinks of it.
		batch = append(batch, looked{found: f, named: f.Path == top})
		if len(batch) < ahead {
			continue
		}
		if full, err := g.take(ctx, batch); full || err != nil {
			return err
		}
		batch, ahead = batch[:0], min(2*ahead, mostAhead)
	}
	_, err := g.take(ctx, batch)
	return err
}

// failed is search when the walk ended early: what came before the failure may
// fill the page.
func (g *grepper) failed(ctx context.Context, batch []looked, failure error) error {
	if full, err := g.take(ctx, batch); full || err != nil {
		return err
	}
	return failure
}

// take looks at files and adds them to the page in order. It reports whether the
// page is full.
func (g *grepper) take(ctx context.Context, batch []looked) (full bool, err error) {
	g.lookAhead(ctx, batch)
	meter := workspace.MeterOf(ctx)
	for i := range batch {
		line, err := g.file(ctx, &batch[i])
		if err != nil {
			return false, err
		}
		meter.Step()
		f := batch[i].found
		if g.out.Truncated {
			if line > 0 {
				g.last = f.Path
			}
			g.out.NextCursor = g.cursor.next(g.ws, g.snap, g.last, line)
			return true, nil
		}
		if !batch[i].ignored {
			g.last = f.Path
		}
	}
	return false, nil
}

// narrow says what of a walk to leave out. The file that a cursor stands in is
// looked at again.
func (g *grepper) narrow(ctx context.Context, mounts *readable) *workspace.WalkOptions {
	o := &workspace.WalkOptions{After: g.cursor.After}
	if g.cursor.Line > 0 {
		o.After = o.After[:len(o.After)-1] // just before it
	}
	may := func(workspace.Path) bool { return true }
	if g.filter != nil {
		may = func(dir workspace.Path) bool { return g.filter.MayMatchBelow(dir.String()) }
		o.Name, o.Enter = g.filter.Names(), may
	}
	o.Mount = func(m *workspace.Mount) bool {
		return !g.cursor.passed(m.Point) && may(m.Point) && mounts.enter(ctx, m)
	}
	return o
}

// file adds one file that was looked at. If the page is full it returns the line
// of the file after which the next page goes on, 0 for its start.
func (g *grepper) file(ctx context.Context, l *looked) (line int, err error) {
	switch {
	case l.err != nil:
		return 0, l.err
	case l.ignored:
		g.out.Ignored++
		return 0, nil
	case l.skipped:
		g.out.Skipped++
		return 0, nil
	}
	g.out.Files++
	if !l.matches {
		return 0, nil
	}
	content, err := g.contentOf(ctx, l)
	if err != nil {
		return 0, err
	}
	switch g.in.Mode {
	case grepFiles:
		g.name(l.found)
		return 0, nil
	case grepCount:
		return 0, g.count(ctx, l.found, content)
	}
	return g.lines(ctx, l.found, content)
}

func (g *grepper) name(f workspace.Found) {
	if !g.room.take(len(f.Path) + 8) {
		g.out.Truncated = true
		return
	}
	g.out.Paths = append(g.out.Paths, f.Path.String())
	g.out.text = append(g.out.text, shown(f.Path.String()))
}

func (g *grepper) count(ctx context.Context, f workspace.Found, content []byte) error {
	n, err := g.matcher.Count(ctx, content)
	if err != nil || n == 0 {
		return err
	}
	if !g.room.take(len(f.Path) + 48) {
		g.out.Truncated = true
		return nil
	}
	g.out.Counts = append(g.out.Counts, GrepCount{f.Path.String(), n})
	g.out.Total += n
	g.out.text = append(g.out.text, fmt.Sprintf("%s: %d", shown(f.Path.String()), n))
	return nil
}

// lines adds the matching lines of a file, as many as there is room for.
func (g *grepper) lines(ctx context.Context, f workspace.Found, content []byte) (line int, err error) {
	limits := greps.Limits{Matches: g.room.items, Context: g.in.Context}
	if f.Path == g.cursor.After {
		limits.After = g.cursor.Line
		line = g.cursor.Line
	}
	if limits.Matches == 0 {
		g.out.Truncated = true
		return 0, nil
	}
	matches, more, err := g.matcher.File(ctx, content, limits)
	if err != nil || len(matches) == 0 {
		return 0, err
	}
	fit := 0
	for _, m := range matches {
		if !g.room.take(size(f.Path, m)) {
			more = true
			break
		}
		fit++
		line = m.Line
		g.out.Matches = append(g.out.Matches, GrepMatch{f.Path.String(), m.Line, m.Column, m.Text})
	}
	if fit > 0 {
		g.out.text = append(g.out.text, strings.TrimSuffix(greps.Format(shown(f.Path.String()), matches[:fit]), "\n"))
	}
	g.out.Truncated = more
	return line, nil
}

// size is the room that a match takes as text and as fields.
func size(p workspace.Path, m greps.Match) int {
	n := len(p) + len(m.Text) + 64
	for _, c := range append(m.Before, m.After...) {
		n += len(p) + len(c.Text) + 8
	}
	return n
}
