package tools

import (
	"context"
	"fmt"

	"carrel.dev/workspace"
)

// MoveIn are the arguments of mv and cp.
type MoveIn struct {
	From      string `json:"from" req:"true"`
	To        string `json:"to" req:"true" doc:"the new path itself"`
	Overwrite bool   `json:"overwrite,omitempty"`
}

// MoveOut is the result of mv and cp.
type MoveOut struct {
	Workspace string `json:"workspace"`
	From      string `json:"from"`
	To        string `json:"to"`
	Count     int    `json:"count"` // files
	Replaced  bool   `json:"replaced"`

	verb string
	note string
}

// Render says what went where.
func (o MoveOut) Render() Rendering {
	return Rendering{Text: fmt.Sprintf("%s %s to %s (%s)", o.verb, shown(o.From), shown(o.To), plural(o.Count, "file")), Notes: notes(o.note)}
}

func mv() *Tool {
	return onWorkspace(Tool{
		Name: "mv", Core: true, Destructive: true,
		Description: "Move or rename a file or directory, also between repos and scratch. Modes and links are kept; git sees a rename.",
	}, Move)
}

func cp() *Tool {
	return onWorkspace(Tool{
		Name: "cp", Destructive: true,
		Description: "Copy a file or directory, also between repos and scratch. Modes and links are kept.",
	}, Copy)
}

// Move moves a file or directory.
func Move(ctx context.Context, w *workspace.Workspace, in MoveIn) (MoveOut, error) {
	return transfer(ctx, w, in, "moved", w.Move)
}

// Copy copies a file or directory.
func Copy(ctx context.Context, w *workspace.Workspace, in MoveIn) (MoveOut, error) {
	return transfer(ctx, w, in, "copied", w.Copy)
}

func transfer(ctx context.Context, w *workspace.Workspace, in MoveIn, verb string,
	do func(ctx context.Context, from, to workspace.Path, overwrite bool) (workspace.Moved, error)) (MoveOut, error) {
	from, err := aim(ctx, w, in.From, "")
	if err != nil {
		return MoveOut{}, err
	}
	to, err := workspace.ParsePath(in.To)
	if err != nil {
		return MoveOut{}, err
	}
	r, err := do(ctx, from.path, to, in.Overwrite)
	if err != nil {
		return MoveOut{}, from.explain(ctx, err)
	}
	return MoveOut{
		Workspace: string(w.ID()), From: r.From.String(), To: r.To.String(), Count: r.Count, Replaced: r.Replaced,
		verb: verb, note: scratchNote(ctx, w, in.To, to),
	}, nil
}

// MkdirIn are the arguments of mkdir.
type MkdirIn struct {
	Path string `json:"path" req:"true"`
}

// MkdirOut is the result of mkdir.
type MkdirOut struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Created   bool   `json:"created"` // false if it was there
}

// Render says that the directory is there.
func (o MkdirOut) Render() Rendering {
	if !o.Created {
		return Rendering{Text: o.Path + " is there already"}
	}
	return Rendering{Text: "made " + o.Path + " (git does not keep empty directories)"}
}

func mkdir() *Tool {
	return onWorkspace(Tool{
		Name: "mkdir", Idempotent: true,
		Description: "Make a directory and those above it. Rarely needed: writing a file makes its directories, and git keeps no empty ones.",
	}, Mkdir)
}

// Mkdir makes a directory.
func Mkdir(ctx context.Context, w *workspace.Workspace, in MkdirIn) (MkdirOut, error) {
	t, err := aim(ctx, w, in.Path, "")
	if err != nil {
		return MkdirOut{}, err
	}
	created, err := w.Mkdir(ctx, t.path)
	return MkdirOut{string(w.ID()), t.path.String(), created}, t.explain(ctx, err)
}

// SymlinkIn are the arguments of symlink.
type SymlinkIn struct {
	Path   string `json:"path" req:"true" doc:"the link, absolute or relative to /workspace"`
	Target string `json:"target" req:"true" doc:"any text; links are never followed here"`
}

func symlink() *Tool {
	return onWorkspace(Tool{
		Name: "symlink", Destructive: true, Idempotent: true,
		Description: "Make a symbolic link, which git keeps as one. Nothing in the workspace follows it.",
	}, Symlink)
}

// Symlink makes a symbolic link.
func Symlink(ctx context.Context, w *workspace.Workspace, in SymlinkIn) (WrittenOut, error) {
	t, err := aim(ctx, w, in.Path, "")
	if err != nil {
		return WrittenOut{}, err
	}
	r, err := w.Symlink(ctx, t.path, in.Target)
	if err != nil {
		return WrittenOut{}, t.explain(ctx, err)
	}
	return t.written(ctx, r), nil
}
