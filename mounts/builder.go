package mounts

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"carrel.dev/mounts/fsck"
	"carrel.dev/mounts/object"
	"carrel.dev/workspace"
)

// edit is what is to happen at a path and below it.
type edit struct {
	remove bool            // what stood there before goes
	set    *workspace.Node // what stands there after
	below  map[string]*edit
}

// plan arranges edits as the tree that they make. Invalid if one is not a clean
// path, names what fsck refuses, or contradicts another.
func plan(edits []workspace.TreeEdit) (*edit, error) {
	top := &edit{}
	for _, e := range edits {
		if err := checkEdit(e); err != nil {
			return nil, err
		}
		at := top
		for name := range strings.SplitSeq(e.Path, "/") {
			if at.below == nil {
				at.below = map[string]*edit{}
			}
			next := at.below[name]
			if next == nil {
				next = &edit{}
				at.below[name] = next
			}
			at = next
		}
		if e.Node == (workspace.Node{}) {
			at.remove = true
			continue
		}
		if at.set != nil {
			return nil, workspace.Errorf(workspace.Invalid, "a change sets a path twice").At(e.Path)
		}
		at.set = &e.Node
	}
	return top, top.check("")
}

// check refuses a path that is to be a file and to have files below it.
func (e *edit) check(path string) error {
	for name, below := range e.below {
		if e.set != nil && below.makes() {
			return workspace.Errorf(workspace.Invalid, "a change sets a path and one below it").At(path)
		}
		if err := below.check(path + "/" + name); err != nil {
			return err
		}
	}
	return nil
}

// makes reports whether something stands at or below the path afterwards on
// behalf of the change.
func (e *edit) makes() bool {
	if e.set != nil {
		return true
	}
	for _, below := range e.below {
		if below.makes() {
			return true
		}
	}
	return false
}

// checkEdit checks the path of an edit and the entry that it makes.
func checkEdit(e workspace.TreeEdit) error {
	remove := e.Node == workspace.Node{}
	if e.Node.Kind() == workspace.Dir && !remove {
		return workspace.Errorf(workspace.Invalid, "a change sets a directory").At(e.Path)
	}
	dir := workspace.Node{Mode: workspace.ModeDir, OID: object.EmptyTree()}
	for rest, more := e.Path, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		node := dir
		if !more {
			node = e.Node
		}
		if remove {
			if name == "" || name == "." || name == ".." {
				return workspace.Errorf(workspace.Invalid, "a change removes a path that is not clean").At(e.Path)
			}
			continue
		}
		if err := fsck.Entry(name, node); err != nil {
			return at(e.Path, err)
		}
	}
	return nil
}

// builder makes the trees of a proposal.
type builder struct{ *proposal }

// add notes a new object.
func (b *builder) add(t object.Type, content []byte) (workspace.OID, error) {
	id, err := b.repos.pool.ID(t, content)
	b.objects = append(b.objects, object.Pending{ID: id, Type: t,
		Content: func(context.Context) ([]byte, error) { return content, nil }})
	return id, err
}

// apply returns the id of the tree that the edits below e make of old, and
// whether it is another one. An empty one is never added.
func (b *builder) apply(ctx context.Context, old *object.Tree, e *edit) (id workspace.OID, changed bool, err error) {
	if err := alive(ctx); err != nil {
		return id, false, err
	}
	var gone []int
	var added []object.Entry
	for _, name := range slices.Sorted(maps.Keys(e.below)) {
		i, had := old.Index(name)
		was := object.Entry{Name: name}
		if had {
			was = old.Entry(i)
		}
		now, has, err := b.entry(ctx, was, had, e.below[name])
		if err != nil {
			return id, false, err
		}
		if has == had && now == was {
			continue
		}
		if had {
			gone = append(gone, i)
		}
		if has {
			added = append(added, now)
		}
		changed = changed || has || had
	}
	if !changed || old.Len() == len(gone) && len(added) == 0 {
		return object.EmptyTree(), changed, nil
	}
	slices.Sort(gone)
	id, err = b.add(object.TypeTree, old.Splice(gone, added))
	return id, true, err
}

// entry returns what stands at the name of was after an edit, given whether was
// stood there.
func (b *builder) entry(ctx context.Context, was object.Entry, had bool, e *edit) (now object.Entry, has bool, err error) {
	if e.set != nil {
		if had && was.Node() == *e.set {
			return was, true, nil
		}
		return object.NewEntry(was.Name, *e.set), true, b.file(ctx, was.Name, *e.set)
	}
	if e.remove {
		had = false
	}
	if !e.makes() && (!had || was.Mode != workspace.ModeDir) {
		return was, had, nil
	}
	old := &object.Tree{}
	if had && was.Mode == workspace.ModeDir {
		if old, err = b.repo.objects.Tree(was.ID); err != nil {
			return now, false, err
		}
	}
	id, changed, err := b.apply(ctx, old, e)
	switch {
	case err != nil:
		return now, false, err
	case !changed:
		return was, had, nil
	case id == object.EmptyTree():
		return now, false, nil
	case had && was.Mode == workspace.ModeDir && was.ID == id:
		return was, true, nil
	}
	return object.NewEntry(was.Name, workspace.Node{Mode: workspace.ModeDir, OID: id}), true, nil
}

// file notes the content that an entry names, and checks it if git reads it.
func (b *builder) file(ctx context.Context, name string, node workspace.Node) error {
	if node.Kind() == workspace.Submodule {
		return nil
	}
	open := func(ctx context.Context) ([]byte, error) { return b.content(ctx, node.OID) }
	b.objects = append(b.objects, object.Pending{ID: node.OID, Type: object.TypeBlob, Content: open})
	special, ok := fsck.SpecialOf(name)
	if !ok {
		return nil
	}
	content, err := open(ctx)
	if err == nil {
		err = b.repos.pool.Verify(node.OID, object.TypeBlob, content)
	}
	if err != nil {
		return err
	}
	return fsck.Content(special, content)
}

// at names the path that an error is about.
func at(path string, err error) error {
	var e *workspace.Error
	if errors.As(err, &e) {
		return e.At(path)
	}
	return err
}
