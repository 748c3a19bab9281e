package tools

import (
	"context"
	"fmt"
	"slices"
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
	// Files says which block of the content is the text of each path, as the
	// caller spelled it; null for one that is not there or is no text.
	Files map[string]*FileText `json:"files"`
	// MoreAbsent counts such paths that Files has no room for.
	MoreAbsent int `json:"moreAbsent,omitempty"`

	blocks []string
	absent []string
}

// FileText is the text of one file.
type FileText struct {
	Version string `json:"version"`
	Size    int    `json:"size"`  // bytes
	Block   int    `json:"block"` // of the content, from 0
}

// Render gives each text as a block of its own, after one that names it.
func (o ReadFilesOut) Render() Rendering {
	blocks := o.blocks
	if len(o.absent) > 0 {
		blocks = append(blocks, "no text file at:\n"+strings.Join(firstFew(o.absent), "\n"))
	}
	if len(blocks) == 0 {
		return Rendering{Text: "no paths"}
	}
	return Rendering{Text: blocks[0], More: blocks[1:]}
}

// perFile is about what a file takes in a result beside its text and its path.
const perFile = 160

// firstFew cuts a list of names to what is worth reading.
func firstFew(names []string) []string {
	const most = 100
	if len(names) <= most {
		return names
	}
	return append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
}

// add gives a path its blocks; text is nil for one without text.
func (o *ReadFilesOut) add(spelling string, f workspace.Found, text []byte) {
	if text == nil {
		o.Files[spelling] = nil
		o.absent = append(o.absent, spelling)
		return
	}
	o.blocks = append(o.blocks, fmt.Sprintf("%s (%s):", shown(spelling), plural(len(text), "byte")), string(text))
	o.Files[spelling] = &FileText{f.OID.String(), len(text), len(o.blocks) - 1}
}

func readFiles() *Tool {
	return onWorkspace(Tool{
		Name: "readFiles", ReadOnly: true, Long: true, Idempotent: true, TextOnly: true,
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
	out := ReadFilesOut{Workspace: string(w.ID()), Files: map[string]*FileText{}}
	room := resultRoom(w)
	nulls := pageRoom(w, len(in.Paths)+1)
	meter := workspace.MeterOf(ctx)
	meter.Expect(len(found))
	for i, f := range found {
		meter.Step()
		if _, twice := out.Files[in.Paths[i]]; twice {
			continue
		}
		text, err := textOf(ctx, s, f)
		if err != nil {
			return ReadFilesOut{}, err
		}
		if text == nil && !nulls.take(len(in.Paths[i])+16) {
			out.MoreAbsent++
			continue
		}
		if text != nil {
			room -= len(text) + len(in.Paths[i]) + perFile
		}
		if room < 0 {
			return ReadFilesOut{}, workspace.Errorf(workspace.Limit, "the files are larger than %d bytes together", limits.ResultBytes).
				Hinted("Read fewer at once, or large ones page by page with `readFile`.")
		}
		if f.Path == "" || text != nil {
			w.Serve(s, paths[i], f)
		}
		out.add(in.Paths[i], f, text)
	}
	return out, nil
}

// textOf returns a file's text, nil for what is no text file.
func textOf(ctx context.Context, s *workspace.Snapshot, f workspace.Found) ([]byte, error) {
	if f.Kind != workspace.File {
		return nil, nil
	}
	content, err := s.Content(ctx, f)
	if err != nil || !textpage.Describe(content).IsText {
		return nil, err
	}
	return append([]byte{}, content...), nil
}
