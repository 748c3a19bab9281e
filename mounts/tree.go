package mounts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/object"
	"carrel.dev/mounts/refs"
	"carrel.dev/workspace"
)

// Head implements workspace.Trees. An unborn branch is one that HEAD names, of
// the repository or of the worktree that the source is, while there is no other.
func (r *Repos) Head(ctx context.Context, s workspace.Source, branch string) (workspace.OID, error) {
	var none workspace.OID
	if err := alive(ctx); err != nil {
		return none, err
	}
	ref, err := refs.Branch(branch)
	if err != nil {
		return none, err
	}
	repo, err := r.repo(s)
	if err != nil {
		return none, err
	}
	id, _, err := repo.refs.Resolve(ref)
	if !errors.Is(err, workspace.NotExist) {
		return id, err
	}
	for _, dir := range []string{repo.dir.Git, repo.dir.Common} {
		head, headErr := gitdir.Head(dir)
		if headErr != nil {
			return none, gone(headErr)
		}
		switch {
		case head != ref:
		case dir != repo.dir.Common:
			return none, nil // of a worktree, where others have commits
		default:
			return none, unborn(repo.refs, branch)
		}
	}
	return none, err
}

// unborn refuses to take a branch that HEAD names and that is not there for one
// without a commit, if the repository has branches: somebody removed or renamed
// it. Work branches are not counted, since the first commit may be on one.
func unborn(s *refs.Store, branch string) error {
	branches, err := s.List("refs/heads")
	if err != nil {
		return err
	}
	for _, b := range branches {
		if !strings.HasPrefix(b.Name, "refs/heads/carrel/") {
			return workspace.Errorf(workspace.NotExist, "the repository has no branch %s any more, though HEAD names it", branch).
				Hinted("Put the branch back in the repository, or name another one with `carrel repo configure`.")
		}
	}
	return nil
}

// Tree implements workspace.Trees.
func (r *Repos) Tree(ctx context.Context, s workspace.Source, commit workspace.OID) (workspace.Tree, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	repo, err := r.repo(s)
	if err != nil {
		return nil, err
	}
	t := &tree{objects: repo.objects, id: object.EmptyTree()}
	if !commit.IsZero() {
		c, err := repo.objects.Commit(commit)
		if err != nil {
			return nil, err
		}
		t.id = c.Tree
	}
	if t.top, err = repo.objects.Tree(t.id); err != nil {
		return nil, err
	}
	return t, nil
}

// tree is the files of one commit.
type tree struct {
	objects *object.Store
	id      workspace.OID
	top     *object.Tree
}

var (
	_ workspace.Tree        = (*tree)(nil)
	_ workspace.LookupsTree = (*tree)(nil)
)

func nothingAt(path string) error {
	return workspace.Errorf(workspace.NotExist, "nothing is there").At(path)
}

// Lookup implements workspace.Tree. Nothing is below a file, a symlink or a
// submodule.
func (t *tree) Lookup(ctx context.Context, path string) (workspace.Node, error) {
	if err := alive(ctx); err != nil {
		return workspace.Node{}, err
	}
	n, err := t.node(path, nil)
	if err == nil && n == (workspace.Node{}) {
		err = nothingAt(path)
	}
	return n, err
}

// Lookups implements workspace.LookupsTree.
func (t *tree) Lookups(ctx context.Context, paths []string) ([]workspace.Node, error) {
	known := map[string]*object.Tree{}
	nodes := make([]workspace.Node, len(paths))
	for i, path := range paths {
		if err := alive(ctx); err != nil {
			return nil, err
		}
		n, err := t.node(path, known)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}

// node returns what stands at a path, the zero Node for nothing. known, if not
// nil, remembers the directories on the way.
func (t *tree) node(path string, known map[string]*object.Tree) (n workspace.Node, err error) {
	if path == "" {
		return workspace.Node{Mode: workspace.ModeDir, OID: t.id}, nil
	}
	if path[0] == '/' {
		return n, nil
	}
	dir, name := split(path)
	in, err := t.dir(dir, known)
	if err != nil || in == nil {
		return n, err
	}
	e, _ := in.Find(name)
	return e.Node(), nil
}

// split takes a path apart at its last slash.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// dir returns the directory at a path, nil if there is none.
func (t *tree) dir(path string, known map[string]*object.Tree) (*object.Tree, error) {
	if path == "" {
		return t.top, nil
	}
	if at, ok := known[path]; ok {
		return at, nil
	}
	parent, name := split(path)
	at, err := t.dir(parent, known)
	if err != nil {
		return nil, err
	}
	if at != nil {
		if at, err = t.child(at, name); err != nil {
			return nil, err
		}
	}
	if known != nil {
		known[path] = at
	}
	return at, nil
}

// child returns the directory of a name in another, nil if there is none.
func (t *tree) child(in *object.Tree, name string) (*object.Tree, error) {
	id, ok := in.Dir(name)
	if !ok {
		return nil, nil
	}
	return t.objects.Tree(id)
}

// ReadDir implements workspace.Tree.
func (t *tree) ReadDir(ctx context.Context, path string) ([]workspace.DirEntry, error) {
	node, err := t.Lookup(ctx, path)
	if err != nil {
		return nil, err
	}
	if node.Kind() != workspace.Dir {
		return nil, workspace.Errorf(workspace.NotDir, "a %s is there, not a directory", node.Kind()).At(path)
	}
	in, err := t.objects.Tree(node.OID)
	if err != nil {
		return nil, err
	}
	entries := make([]workspace.DirEntry, 0, in.Len())
	for e := range in.All() {
		entries = append(entries, workspace.DirEntry{Name: e.Name, Node: e.Node()})
	}
	slices.SortFunc(entries, func(a, b workspace.DirEntry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// Read implements workspace.Tree.
func (t *tree) Read(ctx context.Context, blob workspace.OID) ([]byte, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	return t.objects.Blob(blob)
}

// Size implements workspace.Tree.
func (t *tree) Size(ctx context.Context, blob workspace.OID) (int64, error) {
	if err := alive(ctx); err != nil {
		return 0, err
	}
	return t.objects.BlobSize(blob)
}
