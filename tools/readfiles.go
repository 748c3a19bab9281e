package tools

import (
	"context"
	"fmt"
	"strings"

	"carrel.dev/tools/textpage"
	"carrel.dev/workspace"
)

// ReadFilesIn are the arguments of readFiles.
type ReadFilesIn struct {
	Paths []string `json:"paths" req:"true" doc:"absolute, or relative to /workspace; up to 10,000"`
}

// ReadFilesOut is the result of readFiles.
type ReadFilesOut struct {
	Workspace string `json:"workspace"`
	// Files has the text of each path, as the caller spelled it; null for one
	// that is not there or is no text.
	Files map[string]*string `json:"files"`

	order []string
}

// Render gives each file under a header line.
func (o ReadFilesOut) Render() Rendering {
	var b strings.Builder
	for _, p := range o.order {
		if text := o.Files[p]; text != nil {
			fmt.Fprintf(&b, "==> %s (%d bytes) <==\n%s\n", p, len(*text), *text)
		} else {
			fmt.Fprintf(&b, "==> %s: no text file <==\n", p)
		}
	}
	return Rendering{Text: b.String()}
}

func readFiles() *Tool {
	return onWorkspace(Tool{
		Name: "readFiles", ReadOnly: true, Idempotent: true, TextOnly: true,
		Description: "Read many files whole, all from one moment. Returns each one's text, or null where there is no text file. For large files use `readFile`.",
	}, ReadFiles)
}

// ReadFiles returns the text of many files, from one snapshot.
func ReadFiles(ctx context.Context, w *workspace.Workspace, in ReadFilesIn) (ReadFilesOut, error) {
	limits := w.Project().Host().Limits()
	if len(in.Paths) > limits.ReadPaths {
		return ReadFilesOut{}, workspace.Errorf(workspace.Limit, "%d paths are more than %d", len(in.Paths), limits.ReadPaths).
			Hinted("Read them in several calls.")
	}
	paths := make([]workspace.Path, len(in.Paths))
	for i, spelling := range in.Paths {
		var err error
		if paths[i], err = workspace.ParsePath(spelling); err != nil {
			return ReadFilesOut{}, err
		}
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return ReadFilesOut{}, err
	}
	found, err := s.Lookups(ctx, paths)
	if err != nil {
		return ReadFilesOut{}, err
	}
	out := ReadFilesOut{Workspace: string(w.ID()), Files: map[string]*string{}}
	room := limits.ResultBytes - reserve
	for i, f := range found {
		spelling := in.Paths[i]
		if _, twice := out.Files[spelling]; twice {
			continue
		}
		out.order = append(out.order, spelling)
		out.Files[spelling] = nil
		if f.Path == "" {
			w.Serve(paths[i], f)
		}
		if f.Kind != workspace.File {
			continue
		}
		content, err := s.Content(ctx, f)
		if err != nil {
			return ReadFilesOut{}, err
		}
		if !textpage.Describe(content).IsText {
			continue
		}
		if room -= len(content); room < 0 {
			return ReadFilesOut{}, workspace.Errorf(workspace.Limit, "the files are larger than %d bytes together", limits.ResultBytes).
				Hinted("Read fewer at once, or large ones page by page with `readFile`.")
		}
		w.Serve(paths[i], f)
		whole := string(content)
		out.Files[spelling] = &whole
	}
	return out, nil
}
