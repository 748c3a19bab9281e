package checkout

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/object"
	"carrel.dev/workspace"
)

// counter finds the paths of a checkout that differ from what is committed.
type counter struct {
	ctx     context.Context
	dir     *gitdir.Dir
	objects *object.Store
	entries []entry
	written fs.FileInfo // the index, nil if there is none

	tracked map[string]workspace.Mode // the paths in the index
	dirs    map[string]bool           // their directories
	changed map[string]bool           // tracked or committed
	unknown int                       // untracked and not ignored
}

// Count returns how many files differ from what is committed, untracked ones
// included and ignored ones not. head is the commit that is checked out, the
// zero id for an unborn branch. It stops when ctx ends.
func Count(ctx context.Context, d *gitdir.Dir, objects *object.Store, head workspace.OID) (int, error) {
	if d.Work == "" {
		return 0, nil
	}
	c := &counter{ctx: ctx, dir: d, objects: objects,
		tracked: map[string]workspace.Mode{}, dirs: map[string]bool{}, changed: map[string]bool{}}
	var err error
	if c.entries, c.written, err = readIndex(indexPath(d.Git)); err != nil {
		return 0, err
	}
	for _, e := range c.entries {
		c.tracked[e.path] = e.mode
		for dir := parent(e.path); dir != "" && !c.dirs[dir]; dir = parent(dir) {
			c.dirs[dir] = true
		}
	}
	for _, step := range []func() error{func() error { return c.staged(head) }, c.modified, c.untracked} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return len(c.changed) + c.unknown, nil
}

func parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// alive reports the end of the context as Canceled.
func (c *counter) alive() error {
	if err := c.ctx.Err(); err != nil {
		return &workspace.Error{Kind: workspace.Canceled, Err: err}
	}
	return nil
}

// staged compares the index with the commit that is checked out.
func (c *counter) staged(head workspace.OID) error {
	committed := map[string]workspace.Node{}
	if !head.IsZero() {
		commit, err := c.objects.Commit(head)
		if err != nil {
			return err
		}
		if err := c.flatten(commit.Tree, "", committed); err != nil {
			return err
		}
	}
	for _, e := range c.entries {
		node, ok := committed[e.path]
		delete(committed, e.path)
		if e.stage != 0 || !ok || node.OID != e.id || node.Mode != e.mode {
			c.changed[e.path] = true
		}
	}
	for path := range committed {
		if c.tracked[path] == 0 {
			c.changed[path] = true
		}
	}
	return nil
}

// flatten lists the files of a tree.
func (c *counter) flatten(id workspace.OID, prefix string, into map[string]workspace.Node) error {
	if err := c.alive(); err != nil {
		return err
	}
	t, err := c.objects.Tree(id)
	if err != nil {
		return err
	}
	for e := range t.All() {
		if e.Mode != workspace.ModeDir {
			into[prefix+e.Name] = e.Node()
			continue
		}
		if err := c.flatten(e.ID, prefix+e.Name+"/", into); err != nil {
			return err
		}
	}
	return nil
}

// disk is where a path of the checkout is.
func (c *counter) disk(path string) string {
	return filepath.Join(c.dir.Work, filepath.FromSlash(path))
}
