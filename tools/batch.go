package tools

import (
	"context"
	"fmt"
	"strings"

	"carrel.dev/workspace"
)

// BatchIn are the arguments of batch.
type BatchIn struct {
	Changes []BatchItem `json:"changes" req:"true" doc:"up to 1,000, applied in order, all or none"`
}

// BatchItem is one change of a batch: an operation with the arguments of the tool
// of that name.
type BatchItem struct {
	Op         string        `json:"op" req:"true" enum:"writeFile,writeFileBytes,edit,deleteFile,cp,mv,mkdir,symlink,revert"`
	Path       string        `json:"path,omitempty"`
	Content    *string       `json:"content,omitempty" doc:"of writeFile"`
	Base64     *string       `json:"base64,omitempty" doc:"of writeFileBytes"`
	Executable *bool         `json:"executable,omitempty" doc:"of writeFile and writeFileBytes"`
	IfVersion  *string       `json:"ifVersion,omitempty" doc:"of writeFile, writeFileBytes and edit"`
	OldString  string        `json:"oldString,omitempty" doc:"of edit"`
	NewString  string        `json:"newString,omitempty" doc:"of edit"`
	ReplaceAll bool          `json:"replaceAll,omitempty" doc:"of edit"`
	Edits      []Replacement `json:"edits,omitempty" doc:"of edit"`
	Recursive  bool          `json:"recursive,omitempty" doc:"of deleteFile"`
	From       string        `json:"from,omitempty" doc:"of cp and mv"`
	To         string        `json:"to,omitempty" doc:"of cp and mv"`
	Overwrite  bool          `json:"overwrite,omitempty" doc:"of cp and mv"`
	Target     string        `json:"target,omitempty" doc:"of symlink"`
}

// BatchOut is the result of batch.
type BatchOut struct {
	Workspace string   `json:"workspace"`
	Applied   int      `json:"applied"`
	Paths     []string `json:"paths"` // of the items, in order
}

// Render lists what the items were about.
func (o BatchOut) Render() Rendering {
	return Rendering{Text: fmt.Sprintf("applied %s:\n  %s", plural(o.Applied, "change"), strings.Join(shownAll(o.Paths), "\n  "))}
}

func batch() *Tool {
	return onWorkspace(Tool{
		Name: "batch", Destructive: true,
		Description: "Apply many changes as one: all of them or none. Each item is an op with the arguments of the tool of that name.",
	}, Batch)
}

// Batch applies many changes as one event.
func Batch(ctx context.Context, w *workspace.Workspace, in BatchIn) (BatchOut, error) {
	if len(in.Changes) == 0 {
		return BatchOut{}, workspace.Errorf(workspace.Invalid, "there are no changes")
	}
	out := BatchOut{Workspace: string(w.ID()), Applied: len(in.Changes), Paths: []string{}}
	steps := make([]workspace.Step, len(in.Changes))
	room := pageRoom(w, len(in.Changes))
	for i, item := range in.Changes {
		step, about, err := item.step()
		if err != nil {
			return BatchOut{}, workspace.InItem(i, len(in.Changes), err)
		}
		steps[i] = step
		if room.take(len(about) + 8) {
			out.Paths = append(out.Paths, about)
		}
	}
	return out, w.Batch(ctx, steps)
}

// step returns an item as the workspace takes it, and what it is about.
func (b BatchItem) step() (workspace.Step, string, error) {
	if b.Op == "cp" || b.Op == "mv" {
		from, err := workspace.ParsePath(b.From)
		if err != nil {
			return nil, "", err
		}
		to, err := workspace.ParsePath(b.To)
		if b.From == "" || b.To == "" {
			err = workspace.Errorf(workspace.Invalid, "%s takes from and to", b.Op)
		}
		return workspace.TransferStep(from, to, b.Overwrite, b.Op == "mv"), to.String(), err
	}
	if b.Path == "" {
		return nil, "", workspace.Errorf(workspace.Invalid, "%s takes path", b.Op)
	}
	p, err := workspace.ParsePath(b.Path)
	if err != nil {
		return nil, "", err
	}
	step, err := b.onPath(p)
	return step, p.String(), err
}

func (b BatchItem) onPath(p workspace.Path) (workspace.Step, error) {
	opts := workspace.WriteOptions{Executable: b.Executable, IfVersion: b.IfVersion}
	switch b.Op {
	case "writeFile":
		if b.Content == nil {
			return nil, workspace.Errorf(workspace.Invalid, "writeFile takes content")
		}
		return workspace.WriteStep(p, []byte(*b.Content), opts), nil
	case "writeFileBytes":
		if b.Base64 == nil {
			return nil, workspace.Errorf(workspace.Invalid, "writeFileBytes takes base64")
		}
		content, err := decodeBase64(*b.Base64)
		return workspace.WriteStep(p, content, opts), err
	case "edit":
		edits, err := EditIn{OldString: b.OldString, NewString: b.NewString, ReplaceAll: b.ReplaceAll, Edits: b.Edits}.edits()
		return workspace.EditStep(p, opts, func(cur workspace.Found, content []byte) ([]byte, int, error) {
			done, err := target{path: p}.apply(cur, content, edits)
			return done.after, done.count, err
		}), err
	case "deleteFile":
		return workspace.DeleteStep(p, b.Recursive), nil
	case "mkdir":
		return workspace.MkdirStep(p), nil
	case "symlink":
		return workspace.SymlinkStep(p, b.Target), nil
	case "revert":
		return workspace.RevertStep(p), nil
	}
	return nil, workspace.Errorf(workspace.Invalid, "%q is no operation of a batch", b.Op)
}
