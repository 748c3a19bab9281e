package workspace

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sweepRefs removes the refs by which workspaces that have ended held their
// commits, where a branch or tag has the commit as well. Work branches stay:
// they are for people, who may be about to merge one.
func (g *garbage) sweepRefs(ctx context.Context) error {
	keeper, ok := g.host.cfg.Trees.(RefKeeper)
	if !ok || g.host.cfg.DataID == "" || len(g.ended) == 0 {
		return nil
	}
	sources, err := g.sources(ctx)
	if err != nil {
		return err
	}
	made := g.branches()
	for i, at := range sources {
		g.progress.tell("looking at repositories", int64(i), int64(len(sources)))
		if err := g.sweepSource(ctx, keeper, at, made); err != nil {
			return err
		}
	}
	return nil
}

// sourceAt is a repository with the branch that one of its repos is read at.
type sourceAt struct {
	source Source
	branch string
}

// sources returns the repositories of the projects of which a workspace has
// ended, those of removed repos among them.
func (g *garbage) sources(ctx context.Context) ([]sourceAt, error) {
	projects := map[string]bool{}
	for id := range g.ended {
		projects[id.Project] = true
	}
	found := map[Source]string{}
	for _, name := range slices.Sorted(maps.Keys(projects)) {
		p, err := g.host.Project(ctx, name)
		if err != nil {
			return nil, err
		}
		catalog, err := p.Catalog(ctx)
		if err != nil {
			return nil, err
		}
		for _, repo := range catalog.Repos {
			found[repo.Source] = repo.Branch
		}
	}
	var all []sourceAt
	for s, branch := range found {
		all = append(all, sourceAt{s, branch})
	}
	slices.SortFunc(all, func(a, b sourceAt) int { return cmp.Compare(a.source.Location, b.source.Location) })
	return all, nil
}

// branches returns the names that the work branches of workspaces which have
// ended had. One that a workspace which lives would give as well is not among
// them.
func (g *garbage) branches() map[string]StreamID {
	made := map[string]StreamID{}
	for id := range g.ended {
		made[workBranch(g.host.cfg.DataID, id.Project, ID(id.Name))] = id
	}
	for id := range g.census.workspaces {
		if !g.ended[id] {
			delete(made, workBranch(g.host.cfg.DataID, id.Project, ID(id.Name)))
		}
	}
	return made
}

// sweepSource removes refs of one repository. One that cannot be read is
// reported.
func (g *garbage) sweepSource(ctx context.Context, keeper RefKeeper, at sourceAt, made map[string]StreamID) error {
	leave := func(r RepoRef, why string) {
		r.Why = why
		g.done.Left = append(g.done.Left, r)
	}
	folder := keepRef(g.host.cfg.DataID, "")
	kept, err := keeper.Refs(ctx, at.source, strings.TrimSuffix(folder, "/"))
	if err != nil && ctx.Err() == nil {
		leave(RepoRef{Source: at.source}, fmt.Sprintf("the repository cannot be read: %v", err))
		return nil
	}
	for _, ref := range kept {
		owner, ours := made["carrel/"+strings.TrimPrefix(ref.Name, folder)]
		if !ours {
			continue
		}
		r := RepoRef{Source: at.source, Ref: ref.Name, Commit: ref.ID, Project: owner.Project, Workspace: ID(owner.Name)}
		reached, err := keeper.Reached(ctx, at.source, ref.ID)
		if err == nil && reached {
			err = keeper.RemoveRef(ctx, at.source, ref.Name, ref.ID)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			leave(r, fmt.Sprintf("it cannot be removed now: %v", err))
		case !reached:
			leave(r, "nothing else holds its commit")
		default:
			g.done.Refs = append(g.done.Refs, r)
		}
	}
	return errOf(ctx, g.reportBranches(ctx, keeper, at, made))
}

// errOf is why ctx ended, else nothing: what a report lacks does no harm.
func errOf(ctx context.Context, err error) error {
	if err != nil {
		return ctx.Err()
	}
	return nil
}

// reportBranches says which work branches of workspaces that have ended are left.
func (g *garbage) reportBranches(ctx context.Context, keeper RefKeeper, at sourceAt, made map[string]StreamID) error {
	branches, err := keeper.Refs(ctx, at.source, "refs/heads/carrel")
	if err != nil {
		return err
	}
	head, err := headOrNone(ctx, g.host.cfg, at.source, at.branch)
	if err != nil {
		return err
	}
	for _, ref := range branches {
		owner, ours := made[strings.TrimPrefix(ref.Name, "refs/heads/")]
		if !ours {
			continue
		}
		merged, err := contains(ctx, g.host.cfg, at.source, head, ref.ID)
		if err != nil {
			return err
		}
		why := fmt.Sprintf("a work branch that %s has not merged", at.branch)
		if merged {
			why = fmt.Sprintf("a work branch that %s has merged", at.branch)
		}
		g.done.Left = append(g.done.Left, RepoRef{
			Source: at.source, Ref: ref.Name, Commit: ref.ID, Project: owner.Project, Workspace: ID(owner.Name), Why: why,
		})
	}
	return nil
}
