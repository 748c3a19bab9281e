package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// GitStatusIn are the arguments of git.status.
type GitStatusIn struct {
	Scope string `json:"scope,omitempty" doc:"mount; default all"`
	All   bool   `json:"all,omitempty" doc:"clean mounts and ignored files too"`
}

// PathChange is an uncommitted path.
type PathChange struct {
	Path     string `json:"path"`
	Change   string `json:"change"` // added, modified, deleted or typechange
	Conflict string `json:"conflict,omitempty"`
}

// MountStatus is one mount's uncommitted work.
type MountStatus struct {
	Path         string       `json:"path"`
	RepoPath     string       `json:"repoPath"`
	Policy       string       `json:"policy"`
	Branch       string       `json:"branch"`
	Upstream     string       `json:"upstream,omitempty"` // what a work branch started from
	Base         string       `json:"base"`               // commit that the mount is read at; empty without one
	Head         string       `json:"head"`
	Changes      []PathChange `json:"changes"`
	More         int          `json:"more,omitempty"` // changes that are not listed
	Ignored      int          `json:"ignored"`        // private files that git ignores
	IgnoredFiles []string     `json:"ignoredFiles,omitempty"`
	Error        string       `json:"error,omitempty"` // why the repository cannot be read
}

// Withheld is a mount that waits for private content to go.
type Withheld struct {
	Path     string `json:"path"`
	RepoPath string `json:"repoPath"`
}

// Displaced is a change, or deletion, in a mount that is no longer at its path.
type Displaced struct {
	Path  string `json:"path"`
	Mount string `json:"mount"`
}

// GitStatusOut is the result of git.status.
type GitStatusOut struct {
	Workspace     string        `json:"workspace"`
	Mounts        []MountStatus `json:"mounts"`
	CleanMounts   int           `json:"cleanMounts"`
	MoreMounts    int           `json:"moreMounts,omitempty"` // that are not listed
	Unmounted     []PathChange  `json:"unmounted"`
	MoreUnmounted int           `json:"moreUnmounted,omitempty"`
	Withheld      []Withheld    `json:"withheld"`
	Displaced     []Displaced   `json:"displaced"`
	MoreDisplaced int           `json:"moreDisplaced,omitempty"`
	Warnings      []string      `json:"warnings,omitempty"`
}

var letters = map[string]string{
	workspace.Added: "A", workspace.Modified: "M", workspace.Removed: "D", workspace.TypeChange: "T",
}

// Render lists what is dirty and counts the rest.
func (o GitStatusOut) Render() Rendering {
	var b strings.Builder
	for _, m := range o.Mounts {
		m.render(&b)
	}
	if o.MoreMounts > 0 {
		fmt.Fprintf(&b, "and %s more\n", plural(o.MoreMounts, "mount"))
	}
	if o.CleanMounts > 0 {
		fmt.Fprintf(&b, "%s clean\n", plural(o.CleanMounts, "mount"))
	}
	if n := len(o.Unmounted) + o.MoreUnmounted; n > 0 {
		fmt.Fprintf(&b, "private scratch, never committed: %s\n", plural(n, "file"))
		for _, c := range o.Unmounted {
			fmt.Fprintf(&b, "  %s %s\n", letters[c.Change], shown(c.Path))
		}
	}
	for _, w := range o.Withheld {
		fmt.Fprintf(&b, "withheld: %s of %s, until the private content at or below it is committed or reverted\n", shown(w.Path), w.RepoPath)
	}
	for _, d := range o.Displaced {
		fmt.Fprintf(&b, "displaced: %s, a change in the mount %s, which is not at that path any more\n", shown(d.Path), d.Mount)
	}
	if o.MoreDisplaced > 0 {
		fmt.Fprintf(&b, "and %d more displaced\n", o.MoreDisplaced)
	}
	return Rendering{Text: strings.TrimSuffix(b.String(), "\n"), Notes: o.Warnings}
}

func (m MountStatus) render(b *strings.Builder) {
	fmt.Fprintf(b, "%s (%s on %s", m.Path, m.Policy, m.Branch)
	if m.Upstream != "" {
		fmt.Fprintf(b, ", from %s", m.Upstream)
	}
	switch {
	case m.Error != "":
		fmt.Fprintf(b, ") cannot be read: %s\n", m.Error)
		return
	case m.Base == "":
		b.WriteString(", no commit yet)")
	default:
		fmt.Fprintf(b, " at %s)", m.Base[:10])
	}
	if len(m.Changes) == 0 {
		b.WriteString(" clean")
	}
	b.WriteByte('\n')
	for _, c := range m.Changes {
		fmt.Fprintf(b, "  %s %s", letters[c.Change], shown(c.Path))
		if c.Conflict != "" {
			fmt.Fprintf(b, " [conflict: %s]", c.Conflict)
		}
		b.WriteByte('\n')
	}
	if m.More > 0 {
		fmt.Fprintf(b, "  and %d more\n", m.More)
	}
	if m.Ignored > 0 {
		fmt.Fprintf(b, "  %s ignored by git\n", plural(m.Ignored, "file"))
	}
	for _, p := range m.IgnoredFiles {
		fmt.Fprintf(b, "  ! %s\n", shown(p))
	}
}

func gitStatus() *Tool {
	return onWorkspace(Tool{
		Name: "git.status", Core: true, ReadOnly: true, Idempotent: true,
		Description: "Show what is changed and not committed, by mount, with conflicts; clean mounts are counted.",
	}, GitStatus)
}

// GitStatus lists the workspace's uncommitted changes.
func GitStatus(ctx context.Context, w *workspace.Workspace, in GitStatusIn) (GitStatusOut, error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return GitStatusOut{}, err
	}
	mounts, err := inScope(s, in.Scope)
	if err != nil {
		return GitStatusOut{}, err
	}
	out := GitStatusOut{
		Workspace: string(w.ID()), Mounts: []MountStatus{}, Unmounted: []PathChange{}, Withheld: []Withheld{}, Displaced: []Displaced{},
	}
	room := pageRoom(w, 0)
	if err := out.addMounts(ctx, s, mounts, in.All, room); err != nil {
		return GitStatusOut{}, err
	}
	if in.Scope == "" {
		out.addRest(s, room)
	}
	out.Warnings = warnings(ctx, s, mounts)
	return out, nil
}

// addMounts adds the mounts that have something to tell and, if all are wanted,
// after those the clean ones that there is room for.
func (o *GitStatusOut) addMounts(ctx context.Context, s *workspace.Snapshot, mounts []*workspace.Mount, all bool, room *room) error {
	heads := *room // of the mounts, with a third of the room
	heads.bytes /= 3
	room.bytes -= heads.bytes
	var quiet []MountStatus
	add := func(st MountStatus) {
		if heads.take(len(st.Path) + len(st.RepoPath) + len(st.Branch) + len(st.Error) + 160) {
			o.Mounts = append(o.Mounts, st)
		} else {
			o.MoreMounts++
		}
	}
	for _, m := range mounts {
		st, dirty, err := statusOf(ctx, s, m, all, room)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			st.Error = err.Error()
		}
		switch {
		case err != nil || dirty:
			add(st)
		case all:
			quiet = append(quiet, st)
		default:
			o.CleanMounts++
		}
	}
	for _, st := range quiet {
		add(st)
	}
	slices.SortFunc(o.Mounts, func(a, b MountStatus) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// inScope returns the mounts that a scope names: all of them without one.
func inScope(s *workspace.Snapshot, scope string) ([]*workspace.Mount, error) {
	if scope == "" {
		return s.Table.Mounts, nil
	}
	p, err := workspace.ParsePath(scope)
	if err != nil {
		return nil, err
	}
	if m := s.Table.At(p); m != nil {
		return []*workspace.Mount{m}, nil
	}
	return nil, workspace.Errorf(workspace.Invalid, "no mount at %s", p).Hinted("The mounts are: %s.", points(s.Table.Mounts))
}

// points names mounts by their points.
func points(mounts []*workspace.Mount) string {
	var names []string
	for _, m := range mounts {
		names = append(names, m.Point.String())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// statusOf returns a mount's status and whether it is dirty.
func statusOf(ctx context.Context, s *workspace.Snapshot, m *workspace.Mount, all bool, room *room) (MountStatus, bool, error) {
	st := MountStatus{
		Path: m.Point.String(), RepoPath: string(m.Repo), Policy: string(m.Policy), Branch: m.Branch, Changes: []PathChange{},
	}
	changes, err := s.Changes(ctx, m)
	if err != nil || len(changes) == 0 && !all {
		return st, false, err
	}
	if !m.Work.IsZero() {
		st.Upstream = m.Upstream
	}
	base, err := s.Base(ctx, m)
	if err != nil {
		return st, false, err
	}
	st.Base = commitName(base)
	st.Head = st.Base
	for _, c := range changes {
		if c.Ignored {
			st.Ignored++
			if all && room.take(len(c.Path)) {
				st.IgnoredFiles = append(st.IgnoredFiles, c.Path.String())
			}
			continue
		}
		if !room.take(len(c.Path) + len(c.Conflict) + 32) {
			st.More++
			continue
		}
		st.Changes = append(st.Changes, PathChange{c.Path.String(), c.Change, c.Conflict})
	}
	return st, len(changes) > 0, nil
}

// commitName is a commit's id, "" for a branch without commits.
func commitName(id workspace.OID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// addRest adds what belongs to no mount.
func (o *GitStatusOut) addRest(s *workspace.Snapshot, room *room) {
	for _, p := range s.Unmounted() {
		if !room.take(len(p) + 64) {
			o.MoreUnmounted++
			continue
		}
		o.Unmounted = append(o.Unmounted, PathChange{Path: p.String(), Change: workspace.Added})
	}
	for _, m := range s.Table.Withheld {
		o.Withheld = append(o.Withheld, Withheld{m.Point.String(), string(m.Repo)})
	}
	for _, p := range s.Displaced() {
		e, _ := s.State.Upper.Get(p)
		if !room.take(len(p) + 64) {
			o.MoreDisplaced++
			continue
		}
		o.Displaced = append(o.Displaced, Displaced{p.String(), e.Owner.Mount.String()})
	}
}

// warnings says what a reader of the workspace may miss: files of a checkout
// that are not committed, and work branches that somebody rewrote.
func warnings(ctx context.Context, s *workspace.Snapshot, mounts []*workspace.Mount) []string {
	seen := map[workspace.RepoPath]bool{}
	var list []string
	if at := s.State.Unread; at != 0 {
		list = append(list, fmt.Sprintf("Record %d of this workspace was written by a newer version of Carrel: what is shown may lack it, and nothing can be written until carrel is updated.", at))
	}
	for _, m := range mounts {
		if state, err := s.WorkBranch(ctx, m); err == nil && state.Lost {
			list = append(list, fmt.Sprintf("Somebody removed or rewrote the work branch %s: %s is read at the last commit made here.", m.Branch, m.Point))
		} else if err == nil && state.Behind {
			list = append(list, fmt.Sprintf("%s has commits that the work branch %s of %s lacks. Once the work branch is merged there, the workspace follows %s again.",
				m.Upstream, m.Branch, m.Point, m.Upstream))
		}
		if seen[m.Repo] {
			continue
		}
		seen[m.Repo] = true
		if n, known := s.Uncommitted(ctx, m); known && n > 0 {
			list = append(list, fmt.Sprintf("%s of %s's checkout are not visible here.", plural(n, "uncommitted file"), m.Repo.Name()))
		}
	}
	return list
}
