package tools

import (
	"context"
	"fmt"

	"carrel.dev/workspace"
)

// WriteFileIn are the arguments of writeFile.
type WriteFileIn struct {
	Path       string  `json:"path" req:"true"`
	Content    string  `json:"content" req:"true" doc:"all of the new text"`
	Executable *bool   `json:"executable,omitempty" doc:"exec bit; default as it is"`
	IfVersion  *string `json:"ifVersion,omitempty" doc:"only if it has this version; \"\": if there is none"`
}

// WrittenOut is the result of writing a file.
type WrittenOut struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Version   string `json:"version"`
	Size      int64  `json:"size"`
	Created   bool   `json:"created"`
	Replaced  string `json:"replaced,omitempty"` // the version that was there

	mode bool // only the mode changed
	note string
}

// Render says what was written.
func (o WrittenOut) Render() Rendering {
	text := fmt.Sprintf("wrote %s (new, %d bytes, version %s)", shown(o.Path), o.Size, o.Version)
	switch {
	case o.Replaced == o.Version && o.mode:
		text = fmt.Sprintf("changed the mode of %s (version %s stays)", shown(o.Path), o.Version)
	case o.Replaced == o.Version:
		text = fmt.Sprintf("%s has that content already (version %s)", shown(o.Path), o.Version)
	case !o.Created:
		text = fmt.Sprintf("wrote %s (%d bytes, version %s, replacing %s)", shown(o.Path), o.Size, o.Version, o.Replaced)
	}
	return Rendering{Text: text, Notes: notes(o.note)}
}

func writeFile() *Tool {
	return onWorkspace(Tool{
		Name: "writeFile", Core: true, Idempotent: true, Destructive: true,
		Description: "Create a file or replace all of it; directories above are made. " +
			"The write is private to this workspace and durable; `git.commit` hands it in. For a change within a file use `edit`.",
	}, WriteFile)
}

// WriteFile sets a file's content.
func WriteFile(ctx context.Context, w *workspace.Workspace, in WriteFileIn) (WrittenOut, error) {
	t, err := aimBlind(w, in.Path)
	if err != nil {
		return WrittenOut{}, err
	}
	r, err := w.Write(ctx, t.path, []byte(in.Content), workspace.WriteOptions{Executable: in.Executable, IfVersion: in.IfVersion})
	if err != nil {
		return WrittenOut{}, t.explain(ctx, err)
	}
	return t.written(ctx, r), nil
}

// written is the result of a write at the target.
func (t target) written(ctx context.Context, r workspace.Written) WrittenOut {
	out := WrittenOut{
		Workspace: string(t.ws.ID()), Path: r.Path.String(), Version: r.Version.String(), Size: r.Size, Created: r.Created,
		mode: r.ModeChanged, note: scratchNote(ctx, t.ws, t.spelling, r.Path),
	}
	if !r.Created {
		out.Replaced = r.Replaced.String()
	}
	return out
}
