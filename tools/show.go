package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// WorkspaceShowIn are the arguments of workspace.show.
type WorkspaceShowIn struct{}

// MountInfo is one mount of a workspace.
type MountInfo struct {
	Path     string `json:"path"`
	RepoPath string `json:"repoPath"`
	Policy   string `json:"policy"`
	Branch   string `json:"branch"`
	Upstream string `json:"upstream,omitempty"` // what a work branch started from
	Base     string `json:"base"`               // the commit that it is read at; empty without one
	Head     string `json:"head"`
	Pinned   bool   `json:"pinned"`
	Removed  bool   `json:"removed,omitempty"` // the project no longer has the repo
	Error    string `json:"error,omitempty"`   // why the repository cannot be read
}

// WorkspaceShowOut is the result of workspace.show.
type WorkspaceShowOut struct {
	Workspace string      `json:"workspace"`
	CreatedAt time.Time   `json:"createdAt"`
	Seq       uint64      `json:"seq"` // records in its stream
	Mounts    []MountInfo `json:"mounts"`
	More      int         `json:"moreMounts,omitempty"` // that are not listed
	Dirty     int         `json:"dirty"`                // uncommitted paths, private scratch among them

	warnings []string
}

// Render lists the mounts.
func (o WorkspaceShowOut) Render() Rendering {
	var b strings.Builder
	fmt.Fprintf(&b, "workspace %s, created %s, %s\n", o.Workspace, o.CreatedAt.Format(time.RFC3339), plural(o.Dirty, "uncommitted path"))
	renderMounts(&b, o.Mounts, o.More)
	return Rendering{Text: strings.TrimSuffix(b.String(), "\n"), Notes: o.warnings}
}

func renderMounts(b *strings.Builder, mounts []MountInfo, more int) {
	for _, m := range mounts {
		at := "no commit yet"
		switch {
		case m.Error != "":
			at = "cannot be read: " + m.Error
		case m.Base != "":
			at = "at " + m.Base[:10]
		}
		fmt.Fprintf(b, "%s: %s, %s on %s, %s\n", m.Path, m.RepoPath, m.Policy, m.Branch, at)
	}
	if more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

func workspaceShow() *Tool {
	return onWorkspace(Tool{
		Name: "workspace.show", ReadOnly: true, Idempotent: true,
		Description: "Show the workspace: its mounts with policy, branch and commit, and how much is uncommitted.",
	}, WorkspaceShow)
}

// WorkspaceShow describes the workspace.
func WorkspaceShow(ctx context.Context, w *workspace.Workspace, _ WorkspaceShowIn) (WorkspaceShowOut, error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return WorkspaceShowOut{}, err
	}
	out := WorkspaceShowOut{Workspace: string(w.ID()), CreatedAt: s.State.BornAt.UTC(), Seq: uint64(s.State.Seq)}
	if out.Mounts, out.More, err = mountInfos(ctx, w, s); err != nil {
		return out, err
	}
	out.Dirty, err = s.Unsaved(ctx)
	out.warnings = warnings(ctx, s, s.Table.Mounts)
	return out, err
}

// mountInfos describes the effective mounts, as many as there is room for, and
// counts the others. One whose repository cannot be read says so.
func mountInfos(ctx context.Context, w *workspace.Workspace, s *workspace.Snapshot) (infos []MountInfo, more int, err error) {
	infos = []MountInfo{}
	room := pageRoom(w, 0)
	for _, m := range s.Table.Mounts {
		if !room.take(len(m.Point) + len(m.Repo) + len(m.Branch) + 160) {
			more++
			continue
		}
		base, err := s.Base(ctx, m)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		i := MountInfo{
			Path: m.Point.String(), RepoPath: string(m.Repo), Policy: string(m.Policy), Branch: m.Branch,
			Base: commitName(base), Head: commitName(base), Pinned: !m.Pin.IsZero(), Removed: m.Removed,
		}
		if !m.Work.IsZero() {
			i.Upstream = m.Upstream
		}
		if err != nil {
			i.Error = err.Error()
		}
		infos = append(infos, i)
	}
	return infos, more, nil
}

// WorkspaceConfigureIn are the arguments of workspace.configure.
type WorkspaceConfigureIn struct {
	Mounts map[string]*MountFields `json:"mounts" req:"true" doc:"by mount point; null takes a deviation back"`
}

// WorkspaceConfigureOut is the result of workspace.configure: the effective
// mounts.
type WorkspaceConfigureOut struct {
	Workspace string      `json:"workspace"`
	Mounts    []MountInfo `json:"mounts"`
	More      int         `json:"moreMounts,omitempty"` // that are not listed
}

// Render lists the effective mounts.
func (o WorkspaceConfigureOut) Render() Rendering {
	var b strings.Builder
	renderMounts(&b, o.Mounts, o.More)
	return Rendering{Text: strings.TrimSuffix(b.String(), "\n")}
}

func workspaceConfigure() *Tool {
	return onWorkspace(Tool{
		Name: "workspace.configure", Idempotent: true, needs: workspace.VerbCreate,
		Description: "Mount a repo at another path, read another branch, or narrow a mount's policy, for this workspace only. Returns the effective mounts.",
	}, WorkspaceConfigure)
}

// WorkspaceConfigure changes the workspace's mounts.
func WorkspaceConfigure(ctx context.Context, w *workspace.Workspace, in WorkspaceConfigureIn) (WorkspaceConfigureOut, error) {
	s, err := w.Configure(ctx, patches(in.Mounts))
	if err != nil {
		return WorkspaceConfigureOut{}, err
	}
	infos, more, err := mountInfos(ctx, w, s)
	return WorkspaceConfigureOut{string(w.ID()), infos, more}, err
}
