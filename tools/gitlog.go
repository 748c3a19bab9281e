package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// GitLogIn are the arguments of git.log.
type GitLogIn struct {
	Scope string `json:"scope,omitempty" doc:"mount; needed if there are several"`
	Path  string `json:"path,omitempty" doc:"only commits that changed it"`
	Limit *int   `json:"limit,omitempty" min:"1" max:"200" doc:"default 20"`
}

// LogCommit is one commit of a history.
type LogCommit struct {
	OID       string    `json:"oid"`
	Message   string    `json:"message"`
	Author    Author    `json:"author"`
	Timestamp time.Time `json:"timestamp"`
}

// GitLogOut is the result of git.log.
type GitLogOut struct {
	Workspace string      `json:"workspace"`
	Commits   []LogCommit `json:"commits"`
	Truncated bool        `json:"truncated"` // fewer than asked for, for want of room
}

// Render lists the commits, the newest first.
func (o GitLogOut) Render() Rendering {
	if len(o.Commits) == 0 {
		return Rendering{Text: "no commits"}
	}
	var b strings.Builder
	for _, c := range o.Commits {
		fmt.Fprintf(&b, "%s %s %s <%s>\n", c.OID, c.Timestamp.Format(time.RFC3339), c.Author.Name, c.Author.Email)
		for line := range strings.SplitSeq(strings.TrimRight(c.Message, "\n"), "\n") {
			b.WriteString("    " + line + "\n")
		}
	}
	if o.Truncated {
		b.WriteString("[older commits left out for want of room]\n")
	}
	return Rendering{Text: strings.TrimSuffix(b.String(), "\n")}
}

func gitLog() *Tool {
	return onWorkspace(Tool{
		Name: "git.log", Core: true, ReadOnly: true, Long: true, Idempotent: true,
		Description: "List a mount's commits, newest first, from the commit that it is read at.",
	}, GitLog)
}

const (
	defaultLog = 20
	maxMessage = 4 << 10 // bytes of one commit's message that are shown
)

// GitLog lists a mount's commits.
func GitLog(ctx context.Context, w *workspace.Workspace, in GitLogIn) (GitLogOut, error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return GitLogOut{}, err
	}
	m, p, err := logOf(ctx, s, in)
	if err != nil {
		return GitLogOut{}, err
	}
	limit := defaultLog
	if in.Limit != nil {
		limit = *in.Limit
	}
	entries, err := s.Log(ctx, m, p, limit)
	if err != nil {
		return GitLogOut{}, err
	}
	out := GitLogOut{Workspace: string(w.ID()), Commits: []LogCommit{}}
	room := pageRoom(w, limit)
	for _, e := range entries {
		if len(e.Message) > maxMessage {
			e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
		}
		if !room.take(len(e.Message) + 256) {
			out.Truncated = true
			break
		}
		out.Commits = append(out.Commits, LogCommit{e.Commit.String(), e.Message, Author{e.Author.Name, e.Author.Email}, e.When.UTC()})
	}
	return out, nil
}

// logOf returns the mount whose history is asked for, and the path in it. A path
// names its mount; without either, the only mount or the only dirty one is meant.
func logOf(ctx context.Context, s *workspace.Snapshot, in GitLogIn) (*workspace.Mount, workspace.Path, error) {
	if in.Scope != "" {
		mounts, err := inScope(s, in.Scope)
		if err != nil {
			return nil, "", err
		}
		m := mounts[0]
		if in.Path == "" {
			return m, m.Point, nil
		}
		paths, err := pathsIn(m, []string{in.Path})
		if err != nil {
			return nil, "", err
		}
		return m, paths[0], nil
	}
	if in.Path != "" {
		p, err := workspace.ParsePath(in.Path)
		if err != nil {
			return nil, "", err
		}
		if m := s.Table.Route(p); m != nil {
			return m, p, nil
		}
		return nil, "", workspace.Errorf(workspace.Invalid, "is in no mount").At(p.String()).Hinted("The mounts are: %s.", points(s.Table.Mounts))
	}
	candidates := s.Table.Mounts
	if len(candidates) > 1 {
		dirty, err := dirtyMounts(ctx, s)
		if err != nil {
			return nil, "", err
		}
		if len(dirty) == 1 {
			candidates = dirty
		}
	}
	if len(candidates) != 1 {
		return nil, "", workspace.Errorf(workspace.Invalid, "needs scope: there are %d mounts", len(candidates)).
			Hinted("The mounts are: %s.", points(candidates))
	}
	return candidates[0], candidates[0].Point, nil
}
