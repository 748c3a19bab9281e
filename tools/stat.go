package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel.dev/workspace"
)

// StatIn are the arguments of stat.
type StatIn struct {
	Path string `json:"path" req:"true"`
	At   string `json:"at,omitempty" doc:"\"base\": as committed"`
}

// StatOut is the result of stat.
type StatOut struct {
	Workspace string     `json:"workspace"`
	Path      string     `json:"path"`
	Kind      string     `json:"kind"`
	Size      int64      `json:"size"` // bytes
	Mode      string     `json:"mode"` // as git writes it, in octal
	Version   string     `json:"version,omitempty"`
	Layer     string     `json:"layer"`           // upper: changed here; lower: as committed; virtual: leads to a mount
	Mount     string     `json:"mount,omitempty"` // the mount point; none in scratch
	Modified  *time.Time `json:"modified,omitempty"`
}

// Render says what stands there.
func (o StatOut) Render() Rendering {
	text := fmt.Sprintf("%s: %s, mode %s, %s layer", shown(o.Path), o.Kind, o.Mode, o.Layer)
	if o.Kind != string(workspace.Dir) {
		text += fmt.Sprintf(", %d bytes, version %s", o.Size, o.Version)
	}
	if o.Modified != nil {
		text += ", modified " + o.Modified.Format(time.RFC3339)
	}
	return Rendering{Text: text}
}

func stat() *Tool {
	return onWorkspace(Tool{
		Name: "stat", ReadOnly: true, Idempotent: true,
		Description: "Describe what stands at a path: kind, size, mode, version, and whether it was changed here (upper) or is as committed (lower).",
	}, Stat)
}

// Stat describes what stands at a path.
func Stat(ctx context.Context, w *workspace.Workspace, in StatIn) (StatOut, error) {
	t, err := aim(ctx, w, in.Path, in.At)
	if err != nil {
		return StatOut{}, err
	}
	f, err := t.lookup(ctx)
	if errors.Is(err, workspace.NotExist) && in.At == "" {
		w.Serve(t.snap, t.path, workspace.Found{})
	}
	if err != nil {
		return StatOut{}, err
	}
	if in.At == "" && f.Kind != workspace.Dir {
		w.Serve(t.snap, t.path, f)
	}
	size, err := t.snap.Size(ctx, f)
	out := StatOut{
		Workspace: string(w.ID()), Path: f.Path.String(), Kind: string(f.Kind), Size: size,
		Mode: fmt.Sprintf("%06o", f.Mode), Layer: string(f.Layer),
	}
	if f.Kind != workspace.Dir {
		out.Version = f.OID.String()
	}
	if f.Mount != nil {
		out.Mount = f.Mount.Point.String()
	}
	if !f.Modified.IsZero() {
		out.Modified = &f.Modified
	}
	return out, err
}

// ExistsIn are the arguments of exists.
type ExistsIn struct {
	Path string `json:"path" req:"true"`
}

// ExistsOut is the result of exists.
type ExistsOut struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Exists    bool   `json:"exists"`
	Kind      string `json:"kind,omitempty"`
}

// Render says whether something stands there.
func (o ExistsOut) Render() Rendering {
	if !o.Exists {
		return Rendering{Text: o.Path + " does not exist"}
	}
	return Rendering{Text: fmt.Sprintf("%s exists, a %s", shown(o.Path), o.Kind)}
}

func exists() *Tool {
	return onWorkspace(Tool{
		Name: "exists", ReadOnly: true, Idempotent: true,
		Description: "Say whether something stands at a path, and of what kind.",
	}, Exists)
}

// Exists reports whether something stands at a path.
func Exists(ctx context.Context, w *workspace.Workspace, in ExistsIn) (ExistsOut, error) {
	t, err := aim(ctx, w, in.Path, "")
	if err != nil {
		return ExistsOut{}, err
	}
	out := ExistsOut{Workspace: string(w.ID()), Path: t.path.String()}
	f, err := t.snap.Lookup(ctx, t.path)
	if errors.Is(err, workspace.NotExist) {
		w.Serve(t.snap, t.path, workspace.Found{})
		return out, nil
	}
	out.Exists, out.Kind = err == nil, string(f.Kind)
	return out, err
}
