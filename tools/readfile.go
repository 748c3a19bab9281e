package tools

import (
	"context"
	"errors"
	"fmt"

	"carrel.dev/tools/textpage"
	"carrel.dev/workspace"
)

// ReadFileIn are the arguments of readFile.
type ReadFileIn struct {
	Path        string `json:"path" req:"true"`
	Offset      int    `json:"offset,omitempty" min:"1" doc:"first line, from 1"`
	Column      int    `json:"column,omitempty" min:"1" doc:"byte of that line to start at"`
	Limit       int    `json:"limit,omitempty" min:"1" doc:"lines, default 2000"`
	LineNumbers bool   `json:"lineNumbers,omitempty"`
	At          string `json:"at,omitempty" doc:"\"base\": as committed"`
}

// ReadFileOut is the result of readFile.
type ReadFileOut struct {
	Workspace  string `json:"workspace"`
	Path       string `json:"path"`
	Version    string `json:"version"` // the git blob id
	Size       int64  `json:"size"`    // bytes
	TotalLines int    `json:"totalLines"`
	StartLine  int    `json:"startLine"`
	EndLine    int    `json:"endLine"`
	NextOffset int    `json:"nextOffset,omitempty"`
	NextColumn int    `json:"nextColumn,omitempty"`
	Truncated  bool   `json:"truncated"`
	EOL        string `json:"eol"`
	Encoding   string `json:"encoding"`
	Kind       string `json:"kind"` // file, symlink or submodule

	text string
	note string
	data *Data
}

// Render gives the text alone, and what is to be said about it in a second block.
func (o ReadFileOut) Render() Rendering {
	return Rendering{Text: o.text, Notes: notes(o.note), Data: o.data}
}

func readFile() *Tool {
	return onWorkspace(Tool{
		Name: "readFile", Core: true, ReadOnly: true, Idempotent: true, TextOnly: true,
		Description: "Read a file as this workspace sees it: your own changes over what is committed. " +
			"Returns its exact text, up to 2,000 lines a call; if there is more, a second block says where to go on.",
	}, ReadFile)
}

// maxImage is the largest image, in bytes, that is shown as one.
const maxImage = 3_500_000

// ReadFile returns a page of a file's text, or says what stands there instead.
func ReadFile(ctx context.Context, w *workspace.Workspace, in ReadFileIn) (ReadFileOut, error) {
	t, err := aim(ctx, w, in.Path, in.At)
	if err != nil {
		return ReadFileOut{}, err
	}
	f, err := t.lookup(ctx)
	if errors.Is(err, workspace.NotExist) && in.At == "" {
		w.Serve(t.snap, t.path, workspace.Found{})
	}
	if err != nil {
		return ReadFileOut{}, err
	}
	out := ReadFileOut{Workspace: string(w.ID()), Path: t.path.String(), Version: f.OID.String(), Kind: string(f.Kind)}
	switch f.Kind {
	case workspace.Dir:
		return out, workspace.Errorf(workspace.IsDir, "is a directory").At(out.Path).Hinted("List it with `readDir`.")
	case workspace.Submodule:
		out.text = fmt.Sprintf("[submodule at commit %s; its files are in a repository of their own]", f.OID)
		return out, nil
	}
	content, err := t.snap.Content(ctx, f)
	if err != nil {
		return out, err
	}
	if in.At == "" {
		w.Serve(t.snap, t.path, f)
	}
	out.Size = int64(len(content))
	if f.Kind == workspace.Symlink {
		out.text = fmt.Sprintf("[symbolic link to %q; links are not followed]", content)
		return out, nil
	}
	return out, out.fill(content, in, w.Project().Host().Limits().ResultBytes)
}

// fill puts a page of the content in, or says what kind of bytes it is.
func (o *ReadFileOut) fill(content []byte, in ReadFileIn, room int) error {
	d := textpage.Describe(content)
	o.EOL, o.Encoding = d.EOL, d.Encoding
	if !d.IsText {
		o.text = fmt.Sprintf("[%s, %s, which cannot be shown as text]", d.Kind, plural(len(content), "byte"))
		if mime, ok := textpage.Image(content); ok && len(content) <= maxImage {
			o.data = &Data{MIME: mime, Bytes: content, Image: true}
			return nil
		}
		o.note = "Use `readFileBytes` to get the bytes."
		return nil
	}
	page, err := textpage.Cut(content, textpage.Options{
		Offset: in.Offset, Column: in.Column, Limit: in.Limit, LineNumbers: in.LineNumbers, MaxBytes: room - reserve,
	})
	if err != nil {
		return err
	}
	o.text, o.TotalLines, o.Truncated = page.Text, page.TotalLines, page.Truncated
	o.StartLine, o.EndLine = page.StartLine, page.EndLine
	o.NextOffset, o.NextColumn = page.NextOffset, page.NextColumn
	if len(content) == 0 {
		o.note = "[empty file]"
	}
	if page.Truncated {
		o.note = fmt.Sprintf("[lines %d–%d of %d; next offset %d%s]", page.StartLine, page.EndLine, page.TotalLines, page.NextOffset, column(page.NextColumn))
	}
	if d.Kind == "Git LFS pointer" {
		o.note = lines(o.note, "[a Git LFS pointer: the content is kept outside the repository]")
	}
	return nil
}

func column(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", column %d", n)
}

// reserve is the part of a result's room that is kept for what goes with a text.
const reserve = 1 << 10
