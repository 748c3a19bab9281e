package tools

import (
	"context"
	"fmt"

	"carrel.dev/workspace"
)

// DeleteFileIn are the arguments of deleteFile.
type DeleteFileIn struct {
	Path      string `json:"path" req:"true"`
	Recursive bool   `json:"recursive,omitempty" doc:"for a directory"`
}

// DeleteFileOut is the result of deleteFile.
type DeleteFileOut struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Deleted   bool   `json:"deleted"` // false if nothing was there
	Count     int    `json:"count"`   // files that are gone
}

// Render says what is gone.
func (o DeleteFileOut) Render() Rendering {
	if !o.Deleted {
		return Rendering{Text: fmt.Sprintf("%s was not there", shown(o.Path))}
	}
	return Rendering{Text: fmt.Sprintf("deleted %s (%s)", shown(o.Path), plural(o.Count, "file"))}
}

func deleteFile() *Tool {
	return onWorkspace(Tool{
		Name: "deleteFile", Core: true, Destructive: true, Idempotent: true,
		Description: "Delete a file or symlink, or a directory with recursive. Private until `git.commit`; `revert` brings back what is committed.",
	}, DeleteFile)
}

// DeleteFile removes what is at a path.
func DeleteFile(ctx context.Context, w *workspace.Workspace, in DeleteFileIn) (DeleteFileOut, error) {
	t, err := aim(ctx, w, in.Path, "")
	if err != nil {
		return DeleteFileOut{}, err
	}
	r, err := w.Delete(ctx, t.path, in.Recursive)
	return DeleteFileOut{string(w.ID()), r.Path.String(), r.Deleted, r.Count}, t.explain(ctx, err)
}

// RevertIn are the arguments of revert.
type RevertIn struct {
	Path string `json:"path" req:"true"`
}

// RevertOut is the result of revert.
type RevertOut struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Reverted  int    `json:"reverted"` // private entries that were dropped

	note string
}

// Render says what was dropped.
func (o RevertOut) Render() Rendering {
	if o.Reverted == 0 {
		return Rendering{Text: fmt.Sprintf("nothing of %s was changed here", shown(o.Path)), Notes: notes(o.note)}
	}
	return Rendering{Text: fmt.Sprintf("reverted %s: dropped %s", shown(o.Path), plural(o.Reverted, "private change"))}
}

func revert() *Tool {
	return onWorkspace(Tool{
		Name: "revert", Core: true, Destructive: true, Idempotent: true,
		Description: "Drop this workspace's own changes at and below a path, so that it reads as committed. Returns how many were dropped.",
	}, Revert)
}

// Revert drops the workspace's changes at and below a path.
func Revert(ctx context.Context, w *workspace.Workspace, in RevertIn) (RevertOut, error) {
	t, err := aim(ctx, w, in.Path, "")
	if err != nil {
		return RevertOut{}, err
	}
	n, err := w.Revert(ctx, t.path)
	out := RevertOut{Workspace: string(w.ID()), Path: t.path.String(), Reverted: n}
	if n == 0 && err == nil {
		out.note = t.absentNote(ctx)
	}
	return out, err
}

// ResetIn are the arguments of reset.
type ResetIn struct {
	Confirm bool `json:"confirm" req:"true" doc:"must be true: all uncommitted work of the workspace goes"`
}

// ResetOut is the result of reset.
type ResetOut struct {
	Workspace string `json:"workspace"`
	Reset     int    `json:"reset"` // private entries that were dropped
}

// Render says what was dropped.
func (o ResetOut) Render() Rendering {
	return Rendering{Text: fmt.Sprintf("reset: dropped %s", plural(o.Reset, "private change"))}
}

func reset() *Tool {
	return onWorkspace(Tool{
		Name: "reset", Destructive: true, Idempotent: true,
		Description: "Drop all uncommitted changes and private files of this workspace. Its mounts and commits stay.",
	}, Reset)
}

// Reset drops all of the workspace's changes.
func Reset(ctx context.Context, w *workspace.Workspace, in ResetIn) (ResetOut, error) {
	if !in.Confirm {
		return ResetOut{}, workspace.Errorf(workspace.Invalid, "confirm is not true").
			Hinted("Pass confirm: true if all uncommitted work is to go.")
	}
	n, err := w.Reset(ctx)
	return ResetOut{string(w.ID()), n}, err
}
