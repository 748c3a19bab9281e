package model

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"carrel.dev/workspace"
)

// beside does what happens beside the workspaces: to a repository, by somebody
// else, or to the project, by whoever administers it. What does not apply, since
// a step before it was left out, does nothing.
func (w *world) beside(ctx context.Context, o op) error {
	r := w.repos[o.repo]
	if o.kind == "repo" && r == nil {
		return w.makeRepo(ctx, o)
	}
	if r == nil {
		return nil
	}
	project := w.hosts[o.host].project
	switch o.kind {
	case "repo", "policy":
		if o.kind == "policy" && r.removed {
			return nil
		}
		r.removed, r.policy = false, workspace.Policy(o.policy)
		return project.SetRepo(ctx, workspace.Caller{}, r.registration())
	case "remove":
		err := project.RemoveRepo(ctx, workspace.Caller{}, workspace.RepoPath(r.path))
		if was := r.removed; was != (workspace.KindOf(err) == workspace.NotExist) {
			return differ("refusal", "remove of %s, removed before: %v: %v", r.path, was, err)
		}
		r.removed = true
		return nil
	case "repack":
		_, err := r.git.git("repack", "-a", "-d", "-q")
		if err == nil {
			_, err = r.git.git("pack-refs", "--all")
		}
		return err
	}
	return w.move(r, o)
}

// registration is how the project knows a repo.
func (r *repo) registration() workspace.Repo {
	return workspace.Repo{
		Path: workspace.RepoPath(r.path), Source: workspace.Source{Location: r.git.dir}, Branch: r.branch, Policy: r.policy,
	}
}

func (w *world) makeRepo(ctx context.Context, o op) error {
	g, err := newRepository(filepath.Join(w.dir, fmt.Sprintf("r%d.git", len(w.repos))))
	if err != nil {
		return err
	}
	r := &repo{path: o.repo, git: g, branches: map[string]*commit{"main": nil}, branch: "main", policy: workspace.Policy(o.policy)}
	w.repos[o.repo] = r
	if len(o.edits) > 0 {
		if err := w.move(r, op{kind: "outside", branch: "main", edits: o.edits}); err != nil {
			return err
		}
	}
	return w.hosts[o.host].project.SetRepo(ctx, workspace.Caller{}, r.registration())
}

// move moves a branch as somebody else does.
func (w *world) move(r *repo, o op) error {
	tip, known := r.branches[o.branch]
	if !known && o.kind != "outside" {
		return nil
	}
	var to *commit
	switch o.kind {
	case "outside":
		if !known {
			tip = r.branches["main"]
		}
		to = edited(tip, o.edits)
	case "merge": // into main
		main := r.branches["main"]
		if tip == nil || main.has(tip) && main != nil {
			return nil
		}
		to, o.branch = tip, "main"
		if !tip.has(main) {
			to = &commit{files: merged(main, tip), parents: []*commit{main, tip}}
		}
	case "reset-branch": // to what was there before
		if tip == nil || len(tip.parents) == 0 {
			return nil
		}
		to = tip.parents[0]
	case "delete-branch":
		if tip == nil || o.branch == "main" || o.branch == "dev" {
			return nil
		}
		delete(r.branches, o.branch)
		return r.git.point(o.branch, nil)
	}
	if to.id.IsZero() {
		w.clock++
		if err := r.git.commit(to, 1_700_000_000+w.clock); err != nil {
			return err
		}
	}
	r.branches[o.branch] = to
	if err := r.git.point(o.branch, to); err != nil {
		return err
	}
	return w.readBranch(r, o.branch)
}

// edited is a commit on top of another one.
func edited(tip *commit, edits []edit) *commit {
	c := &commit{files: files{}}
	if tip != nil {
		c.files, c.parents = maps.Clone(tip.files), []*commit{tip}
	}
	for _, e := range edits {
		if e.node.present() {
			c.files.put(e.path, e.node)
		} else {
			c.files.clear(e.path)
		}
	}
	return c
}

// merged takes all of both, and of two versions the other's.
func merged(one, other *commit) files {
	f := maps.Clone(one.files)
	for _, p := range sorted(other.files) {
		f.put(p, other.files[p])
	}
	return f
}
