package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// MountFields change a mount's deviation; null clears a field.
type MountFields struct {
	RepoPath args.Clearable[string] `json:"repoPath" doc:"/repos/NAME"`
	Branch   args.Clearable[string] `json:"branch"`
	Policy   args.Clearable[string] `json:"policy" doc:"commit-to-main, branch, read-only"`
}

// patches are mounts as the workspace takes them.
func patches(mounts map[string]*MountFields) map[string]workspace.MountPatch {
	if len(mounts) == 0 {
		return nil
	}
	out := map[string]workspace.MountPatch{}
	for key, f := range mounts {
		if f == nil {
			out[key] = nil
			continue
		}
		patch := workspace.MountPatch{}
		for name, v := range map[string]args.Clearable[string]{
			workspace.FieldRepo: f.RepoPath, workspace.FieldBranch: f.Branch, workspace.FieldPolicy: f.Policy,
		} {
			switch {
			case v.Null:
				patch[name] = nil
			case v.Given:
				patch[name] = &v.Value
			}
		}
		out[key] = patch
	}
	return out
}

// WorkspaceCreateIn are the arguments of workspace.create.
type WorkspaceCreateIn struct {
	Path   string                  `json:"path" req:"true" doc:"/agents/NAME or /workspaces/NAME"`
	Mounts map[string]*MountFields `json:"mounts,omitempty" doc:"by mount point; default: every repo at its own path"`
}

// WorkspaceCreateOut is the result of workspace.create.
type WorkspaceCreateOut struct {
	Workspace string `json:"workspace"`
	Created   bool   `json:"created"` // false if it was there already

	served   string
	warnings []string
}

// Render says what the workspace holds.
func (o WorkspaceCreateOut) Render() Rendering {
	text := "created workspace " + o.Workspace
	if !o.Created {
		text = "workspace " + o.Workspace + " is there already"
	}
	return Rendering{Text: lines(text, o.served), Notes: o.warnings}
}

func workspaceCreate() *Tool {
	return onProject(Tool{
		Name: "workspace.create", needs: workspace.VerbCreate, Core: true, Lifecycle: true, Idempotent: true,
		Description: "Make a private working copy of all repos, at once and for good, and work in it. Repeating it changes nothing. " +
			"Use one per task.",
	}, WorkspaceCreate)
}

// WorkspaceCreate makes a workspace.
func WorkspaceCreate(ctx context.Context, c Call, in WorkspaceCreateIn) (WorkspaceCreateOut, error) {
	id, err := workspace.ParseID(in.Path)
	if err != nil {
		return WorkspaceCreateOut{}, err
	}
	created, err := c.Project.Create(ctx, c.Caller, workspace.CreateRequest{
		ID: id, Mounts: patches(in.Mounts), Digest: args.Digest(in),
	})
	if err != nil {
		return WorkspaceCreateOut{}, err
	}
	out := WorkspaceCreateOut{Workspace: string(id), Created: created}
	s, err := snapshotOf(ctx, c, id)
	if err != nil {
		return out, err
	}
	out.served, out.warnings = describe(s), warnings(ctx, s, s.Table.Mounts)
	return out, nil
}

func snapshotOf(ctx context.Context, c Call, id workspace.ID) (*workspace.Snapshot, error) {
	c.Caller.Key = "" // the key belongs to the mutation alone
	w, err := c.Project.Workspace(ctx, id, c.Caller)
	if err != nil {
		return nil, err
	}
	return w.Snapshot(ctx)
}

// commitsGo says in words what a policy does.
var commitsGo = map[workspace.Policy]string{
	workspace.CommitToMain: "commits land there",
	workspace.WorkBranch:   "commits go to a work branch of this workspace",
	workspace.ReadOnly:     "read-only, nothing is committed",
}

// describe names a workspace's mounts in lines.
func describe(s *workspace.Snapshot) string {
	const most = 20
	var b strings.Builder
	for i, m := range s.Table.Mounts {
		if i == most {
			fmt.Fprintf(&b, "and %d more mounts\n", len(s.Table.Mounts)-most)
			break
		}
		fmt.Fprintf(&b, "%s: %s, %s\n", m.Point, m.Branch, commitsGo[m.Policy])
	}
	fmt.Fprintf(&b, "%s: private scratch, never committed", workspace.Scratch)
	return b.String()
}

// WorkspaceOpenIn are the arguments of workspace.open.
type WorkspaceOpenIn struct {
	Path   string `json:"path" req:"true"`
	Rebind bool   `json:"rebind,omitempty" doc:"leave the workspace bound before"`
}

// WorkspaceOpenOut is the result of workspace.open.
type WorkspaceOpenOut struct {
	Workspace string `json:"workspace"`

	served   string
	warnings []string
}

// Render says what the workspace holds.
func (o WorkspaceOpenOut) Render() Rendering {
	return Rendering{Text: lines("opened workspace "+o.Workspace, o.served), Notes: o.warnings}
}

func workspaceOpen() *Tool {
	return onProject(Tool{
		Name: "workspace.open", Core: true, Lifecycle: true, ReadOnly: true, Idempotent: true,
		Description: "Go on in a workspace that exists: its uncommitted files are as they were left.",
	}, WorkspaceOpen)
}

// WorkspaceOpen checks that a workspace is open. Binding the session to it is for
// whoever keeps the session.
func WorkspaceOpen(ctx context.Context, c Call, in WorkspaceOpenIn) (WorkspaceOpenOut, error) {
	id, err := workspace.ParseID(in.Path)
	if err != nil {
		return WorkspaceOpenOut{}, err
	}
	s, err := snapshotOf(ctx, c, id)
	if err != nil {
		return WorkspaceOpenOut{}, err
	}
	return WorkspaceOpenOut{string(id), describe(s), warnings(ctx, s, s.Table.Mounts)}, nil
}

// WorkspaceListIn are the arguments of workspace.list.
type WorkspaceListIn struct {
	Prefix string `json:"prefix,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// ListedWorkspace is one workspace of a list.
type ListedWorkspace struct {
	Path      string    `json:"path"`
	CreatedAt time.Time `json:"createdAt"`
}

// WorkspaceListOut is the result of workspace.list.
type WorkspaceListOut struct {
	Workspaces []ListedWorkspace `json:"workspaces"`
	Truncated  bool              `json:"truncated"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

// Render lists the workspaces, one a line.
func (o WorkspaceListOut) Render() Rendering {
	if len(o.Workspaces) == 0 {
		return Rendering{Text: "no workspaces", Notes: notes("Make one with `workspace.create`.")}
	}
	var b strings.Builder
	for _, w := range o.Workspaces {
		fmt.Fprintf(&b, "%s created %s\n", w.Path, w.CreatedAt.Format(time.RFC3339))
	}
	return Rendering{Text: strings.TrimSuffix(b.String(), "\n"), Notes: notes(goesOn(o.NextCursor))}
}

func workspaceList() *Tool {
	return onProject(Tool{
		Name: "workspace.list", Core: true, Lifecycle: true, ReadOnly: true, Idempotent: true,
		Description: "List the workspaces of the project, sorted by path.",
	}, WorkspaceList)
}

// WorkspaceList lists the workspaces that were created and not deleted.
func WorkspaceList(ctx context.Context, c Call, in WorkspaceListIn) (WorkspaceListOut, error) {
	catalog, err := c.Project.Visible(ctx, c.Caller.Grants)
	if err != nil {
		return WorkspaceListOut{}, err
	}
	out := WorkspaceListOut{Workspaces: []ListedWorkspace{}}
	room := room{bytes: (c.Project.Host().Limits().ResultBytes - reserve) / 2, items: pageItems}
	for w := range catalog.List(in.Prefix, workspace.ID(in.Cursor)) {
		if !room.take(len(w.ID) + 128) {
			// A cursor of this list is the last identity: what is born or deleted
			// meanwhile cannot make it repeat or skip another one.
			out.Truncated, out.NextCursor = true, out.Workspaces[len(out.Workspaces)-1].Path
			break
		}
		out.Workspaces = append(out.Workspaces, ListedWorkspace{string(w.ID), w.CreatedAt.UTC()})
	}
	return out, nil
}

// WorkspaceDeleteIn are the arguments of workspace.delete.
type WorkspaceDeleteIn struct {
	Path    string `json:"path" req:"true"`
	Discard bool   `json:"discard,omitempty" doc:"lose its uncommitted work"`
}

// WorkspaceDeleteOut is the result of workspace.delete.
type WorkspaceDeleteOut struct {
	Workspace string `json:"workspace"`
	Deleted   bool   `json:"deleted"` // false if it was deleted already
}

// Render says that the workspace is gone.
func (o WorkspaceDeleteOut) Render() Rendering {
	if !o.Deleted {
		return Rendering{Text: "workspace " + o.Workspace + " was deleted already"}
	}
	return Rendering{Text: "deleted workspace " + o.Workspace}
}

func workspaceDelete() *Tool {
	return onProject(Tool{
		Name: "workspace.delete", needs: workspace.VerbCreate, Destructive: true, Idempotent: true,
		Description: "End a workspace for good. One with uncommitted work is kept unless discard is set. Its commits stay.",
	}, WorkspaceDelete)
}

// WorkspaceDelete ends a workspace.
func WorkspaceDelete(ctx context.Context, c Call, in WorkspaceDeleteIn) (WorkspaceDeleteOut, error) {
	id, err := workspace.ParseID(in.Path)
	if err != nil {
		return WorkspaceDeleteOut{}, err
	}
	deleted, err := c.Project.Delete(ctx, c.Caller, id, in.Discard)
	return WorkspaceDeleteOut{string(id), deleted}, err
}
