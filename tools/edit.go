package tools

import (
	"context"
	"fmt"

	"carrel.dev/tools/diff"
	"carrel.dev/tools/textedit"
	"carrel.dev/workspace"
)

// EditIn are the arguments of edit: one replacement, or several.
type EditIn struct {
	Path       string        `json:"path" req:"true"`
	OldString  string        `json:"oldString,omitempty" doc:"exactly as in the file"`
	NewString  string        `json:"newString,omitempty"`
	ReplaceAll bool          `json:"replaceAll,omitempty" doc:"else there must be one match"`
	Edits      []Replacement `json:"edits,omitempty" doc:"several, in order, all or none"`
	IfVersion  *string       `json:"ifVersion,omitempty" doc:"only if it has this version"`
	DryRun     bool          `json:"dryRun,omitempty" doc:"show the diff only"`
}

// Replacement is one of several edits.
type Replacement struct {
	OldString  string `json:"oldString" req:"true"`
	NewString  string `json:"newString" req:"true"`
	ReplaceAll bool   `json:"replaceAll,omitempty"`
}

// EditOut is the result of edit.
type EditOut struct {
	Workspace       string `json:"workspace"`
	Path            string `json:"path"`
	Version         string `json:"version"`
	OccurrenceCount int    `json:"occurrenceCount"`
	DryRun          bool   `json:"dryRun,omitempty"`
	Diff            string `json:"diff"` // unified, bounded

	note string
}

// Render shows what changed.
func (o EditOut) Render() Rendering {
	head := fmt.Sprintf("edited %s: %s, version %s", shown(o.Path), plural(o.OccurrenceCount, "replacement"), o.Version)
	if o.DryRun {
		head = fmt.Sprintf("dry run, nothing changed; %s would have %s", shown(o.Path), plural(o.OccurrenceCount, "replacement"))
	}
	return Rendering{Text: lines(head, o.Diff), Notes: notes(o.note)}
}

func edit() *Tool {
	return onWorkspace(Tool{
		Name: "edit", Core: true, Destructive: true,
		Description: "Replace text in a file. oldString must match exactly and once, or pass replaceAll; line endings and a BOM are kept as they are. " +
			"Returns the diff. If nothing or too much matches, the answer says where and why, and nothing changed.",
	}, Edit)
}

// maxEditDiff is the room for the diff in the answer to an edit, in bytes.
const maxEditDiff = 16 << 10

// Edit replaces text in a file.
func Edit(ctx context.Context, w *workspace.Workspace, in EditIn) (EditOut, error) {
	t, err := aimBlind(w, in.Path)
	if err != nil {
		return EditOut{}, err
	}
	edits, err := in.edits()
	if err != nil {
		return EditOut{}, about(t.path, err)
	}
	var done applied
	apply := func(cur workspace.Found, content []byte) ([]byte, int, error) {
		done, err = t.apply(cur, content, edits)
		return done.after, done.count, err
	}
	opts := workspace.WriteOptions{IfVersion: in.IfVersion}
	var r workspace.Written
	if in.DryRun {
		r, err = w.TryEdit(ctx, t.path, opts, apply)
	} else {
		r, err = w.Edit(ctx, t.path, opts, apply)
	}
	if err != nil {
		return EditOut{}, t.explain(ctx, err)
	}
	out := EditOut{
		Workspace: string(w.ID()), Path: r.Path.String(), Version: r.Version.String(),
		OccurrenceCount: r.Count, DryRun: in.DryRun, note: scratchNote(ctx, w, in.Path, r.Path),
	}
	if done.count == 0 {
		out.note = lines(out.note, "This was done before under the same key; the diff is not kept.")
		return out, nil
	}
	out.Diff, err = done.diff(ctx, r)
	return out, err
}

// edits returns what is to be replaced.
func (in EditIn) edits() ([]textedit.Edit, error) {
	if len(in.Edits) == 0 && in.OldString == "" {
		return nil, workspace.Errorf(workspace.Invalid, "missing argument `oldString`, which must not be empty, or `edits`").
			Hinted("Use `writeFile` to create a file or to replace all of one.")
	}
	if len(in.Edits) == 0 {
		return []textedit.Edit{{Old: in.OldString, New: in.NewString, All: in.ReplaceAll}}, nil
	}
	if in.OldString != "" || in.NewString != "" || in.ReplaceAll {
		return nil, workspace.Errorf(workspace.Invalid, "both edits and a single replacement are given").
			Hinted("Pass either edits, or oldString and newString.")
	}
	var list []textedit.Edit
	for _, e := range in.Edits {
		list = append(list, textedit.Edit{Old: e.OldString, New: e.NewString, All: e.ReplaceAll})
	}
	return list, nil
}

// applied is what edits made of a file.
type applied struct {
	before, after []byte
	version       workspace.OID
	mode          workspace.Mode
	count         int
}

// apply runs the edits on what is at the target.
func (t target) apply(cur workspace.Found, content []byte, edits []textedit.Edit) (applied, error) {
	switch cur.Kind {
	case workspace.File:
	case workspace.Symlink:
		return applied{}, workspace.Errorf(workspace.Invalid, "is a symbolic link, which has no text to edit").At(t.path.String()).
			Hinted("Edit the file that it points to.")
	default:
		return applied{}, workspace.Errorf(workspace.NotExist, "there is no such file").At(t.path.String())
	}
	r, err := textedit.Apply(content, edits)
	if err != nil {
		return applied{}, about(t.path, err)
	}
	return applied{content, r.Content, cur.OID, cur.Mode, r.Count}, nil
}

// about names the path that an error is about.
func about(p workspace.Path, err error) error {
	if e, ok := err.(*workspace.Error); ok && e.Path == "" {
		return e.At(p.String())
	}
	return err
}

// diff shows the change.
func (a applied) diff(ctx context.Context, r workspace.Written) (string, error) {
	side := func(id workspace.OID, content []byte) *diff.Side {
		return &diff.Side{Path: r.Path.String(), Mode: a.mode, OID: id, Read: func(context.Context) ([]byte, error) { return content, nil }}
	}
	d, err := diff.Unified(ctx, []diff.Change{{Old: side(a.version, a.before), New: side(r.Version, a.after)}}, &diff.Options{MaxBytes: maxEditDiff})
	if err != nil {
		return "", err
	}
	return text(d.Text), nil
}
