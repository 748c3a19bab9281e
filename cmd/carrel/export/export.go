package export

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"carrel.dev/workspace"
)

// View is what is exported. A *workspace.Snapshot is one.
type View interface {
	// ReadDir returns what a directory holds.
	ReadDir(ctx context.Context, dir workspace.Path) ([]workspace.Found, error)
	// Content returns a file's bytes or a link's target, which stay as they are.
	Content(ctx context.Context, f workspace.Found) ([]byte, error)
}

var _ View = (*workspace.Snapshot)(nil)

// Report counts what a run did.
type Report struct {
	Written   int `json:"written"`   // files and links that are new or other than before
	Removed   int `json:"removed"`   // that the view no longer has
	Unchanged int `json:"unchanged"` // that were there already
}

// Write makes dir hold the content of what.Top in a view, without Carrel's
// private files. A directory that does not exist is made; one that holds
// anything else than an earlier export is Exist.
//
// If somebody changed an exported file, or put something where a file of the view
// belongs, Write is Conflict, names such paths and changes nothing, unless force
// is set: then the view wins.
func Write(ctx context.Context, v View, what What, dir string, force bool) (Report, error) {
	root, unlock, err := open(dir)
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	old, err := readManifest(root)
	if err != nil {
		return Report{}, err
	}
	if len(old.Entries) > 0 && old.What != what && !force {
		return Report{}, workspace.Errorf(workspace.Conflict, "the directory holds an export of %s of %s in the project %s", old.Top, old.Workspace, old.Project).
			At(dir).Hinted("Export to another directory, or pass --force to make this one hold %s of %s.", what.Top, what.Workspace)
	}
	p := &plan{root: root, old: old, what: what, want: map[string]workspace.Found{}}
	if err := p.list(ctx, v, what.Top); err != nil {
		return Report{}, err
	}
	if err := p.compare(); err != nil {
		return Report{}, err
	}
	if len(p.clashes) > 0 && !force {
		return Report{}, p.refusal(dir)
	}
	return p.apply(ctx, v)
}

// open opens a directory, which it makes if need be, for one run at a time.
func open(dir string) (root *os.Root, unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, err
	}
	if root, err = os.OpenRoot(dir); err != nil {
		return nil, nil, err
	}
	top, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	unlock = func() { top.Close(); root.Close() }
	if err := unix.Flock(int(top.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unlock()
		return nil, nil, workspace.Errorf(workspace.Unavailable, "another export to the directory is under way").At(dir).Hinted("Try again when it has ended.")
	}
	return root, unlock, nil
}

// refusal names what somebody else did in the directory.
func (p *plan) refusal(dir string) error {
	const most = 10
	shown := p.clashes
	more := ""
	if len(shown) > most {
		shown, more = shown[:most], fmt.Sprintf("\n  and %d more", len(shown)-most)
	}
	return workspace.Errorf(workspace.Conflict, "somebody changed or put there since the last export:\n  %s%s", strings.Join(shown, "\n  "), more).
		At(dir).Hinted("Nothing was written. Move these away, or pass --force to lose them.")
}

// list adds what a directory of the view holds, with all below it.
func (p *plan) list(ctx context.Context, v View, dir workspace.Path) error {
	children, err := v.ReadDir(ctx, dir)
	if err != nil {
		return err
	}
	for _, f := range children {
		if f.Path == workspace.Private {
			continue
		}
		rel := f.Path.Rel(p.what.Top)
		if rel == Manifest {
			return workspace.Errorf(workspace.Conflict, "the view has a file called as the manifest of an export").At(f.Path.String()).
				Hinted("Rename or delete it in the workspace.")
		}
		p.want[rel] = f
		if f.Kind == workspace.Dir {
			if err := p.list(ctx, v, f.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodeOf is what a node of the view is on disk.
func nodeOf(f workspace.Found) node {
	if f.Kind == workspace.Dir || f.Kind == workspace.Submodule {
		return node{Mode: workspace.ModeDir}
	}
	return node{f.Mode.Canonical(), f.OID}
}

// fileMode is the mode that git would note for a regular file on disk.
func fileMode(info fs.FileInfo) workspace.Mode {
	if info.Mode()&0o100 != 0 {
		return workspace.ModeExecutable
	}
	return workspace.ModeFile
}

// deepestFirst sorts paths so that what is in a directory comes before it.
func deepestFirst(paths []string) {
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(b, a) })
}

// above yields the directories that contain a relative path, the nearest first.
func above(p string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			if !yield(d) {
				return
			}
		}
	}
}
