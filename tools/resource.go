package tools

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"carrel.dev/tools/textpage"
	"carrel.dev/workspace"
)

// maxResource is the largest file, in bytes, that is read as a whole: a page of
// readFileBytes. A resource has no pages, and half a file must not pass for one.
const maxResource = bytesPage

// The media types of what is text.
const (
	TypeText    = "text/plain"
	TypeDiff    = "text/x-diff"
	TypeDir     = "inode/directory"
	TypeSymlink = "inode/symlink"
)

// Resource is what stands at a URI.
type Resource struct {
	MIME  string
	Text  string
	Bytes []byte // instead of Text, of what is not UTF-8; else nil
	// Notes go below Text. They are Carrel's own words and may name tools in
	// backquotes.
	Notes []string
}

// ReadResource returns a file's whole content, a link's target, the names in a
// directory or a generated document. A file of more than 1 MiB is Limit.
func ReadResource(ctx context.Context, w *workspace.Workspace, u URI) (Resource, error) {
	if err := u.Check(); err != nil {
		return Resource{}, err
	}
	switch u.Path {
	case StatusPath:
		return readStatus(ctx, w)
	case DiffPath:
		return readDiff(ctx, w)
	}
	t, err := aim(ctx, w, u.Path.String(), u.At)
	if err != nil {
		return Resource{}, err
	}
	f, err := t.lookup(ctx)
	if errors.Is(err, workspace.NotExist) && u.At == "" {
		w.Serve(t.snap, t.path, workspace.Found{})
	}
	switch {
	case err != nil:
		return Resource{}, err
	case f.Kind == workspace.Dir:
		return readNames(ctx, w, u)
	case f.Kind == workspace.Submodule:
		return Resource{MIME: TypeText, Text: fmt.Sprintf("[submodule at commit %s; its files are in a repository of their own]", f.OID)}, nil
	}
	size, err := t.snap.Size(ctx, f)
	if err == nil && size > maxResource {
		err = workspace.Errorf(workspace.Limit, "the file has %d bytes, and a resource at most %d", size, maxResource).At(t.path.String()).
			Hinted("Read it in parts with `readFile`. Read it in parts with `readFileBytes`.")
	}
	if err != nil {
		return Resource{}, err
	}
	content, err := t.snap.Content(ctx, f)
	if err != nil {
		return Resource{}, err
	}
	if u.At == "" {
		w.Serve(t.snap, t.path, f)
	}
	switch {
	case !textpage.Describe(content).IsText:
		return Resource{MIME: http.DetectContentType(content), Bytes: content}, nil
	case f.Kind == workspace.Symlink:
		return Resource{MIME: TypeSymlink, Text: string(content)}, nil
	}
	return Resource{MIME: TypeText, Text: string(content)}, nil
}

// readNames lists a directory, a name a line, as many as a page of readDir has.
func readNames(ctx context.Context, w *workspace.Workspace, u URI) (Resource, error) {
	out, err := ReadDir(ctx, w, ReadDirIn{Path: u.Path.String(), At: u.At})
	if err != nil {
		return Resource{}, err
	}
	if len(out.Entries) == 0 {
		return Resource{MIME: TypeDir}, nil
	}
	r := Resource{MIME: TypeDir, Text: out.Render().Text, Notes: notes(leftOutMounts(out.Unreadable))}
	if out.Truncated {
		r.Notes = append(r.Notes, "[more follow, which `readDir` lists]")
	}
	return r, nil
}

func readStatus(ctx context.Context, w *workspace.Workspace) (Resource, error) {
	out, err := GitStatus(ctx, w, GitStatusIn{})
	if err != nil {
		return Resource{}, err
	}
	r := out.Render()
	return Resource{MIME: TypeText, Text: r.Text, Notes: r.Notes}, nil
}

func readDiff(ctx context.Context, w *workspace.Workspace) (Resource, error) {
	out, err := GitDiff(ctx, w, GitDiffIn{})
	if err != nil || len(out.Files) == 0 {
		return Resource{MIME: TypeDiff}, err
	}
	return Resource{MIME: TypeDiff, Text: out.Render().Text}, nil
}
