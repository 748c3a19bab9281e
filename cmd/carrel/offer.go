package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

// offer is what a server serves.
type offer struct {
	project *workspace.Project
	repos   []workspace.Repo // of the project, by path
	notes   []string         // what a reader of the command line may not expect
}

// offer chooses the project to serve and registers what it names: the given
// repos, or the repository around the working directory if neither they nor a
// project are named.
func (c *cli) offer(ctx context.Context, h *home, repos []string) (*offer, error) {
	p, specs, err := c.offered(ctx, h, repos)
	if err != nil {
		return nil, err
	}
	r := &registration{project: p, caller: workspace.Caller{Client: c.running.CommandPath()}}
	for _, spec := range specs {
		if _, err := r.add(ctx, spec); err != nil {
			return nil, err
		}
	}
	catalog, err := p.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	return &offer{p, reposOf(catalog), r.notes}, nil
}

// offered returns the project to serve and what is to be registered in it.
func (c *cli) offered(ctx context.Context, h *home, repos []string) (*workspace.Project, []repoSpec, error) {
	if len(repos) > 0 {
		specs, err := c.specs(repos)
		if err != nil {
			return nil, nil, err
		}
		p, err := c.newProject(ctx, h)
		return p, specs, err
	}
	if c.project != "" {
		p, err := mustExist(ctx, h, c.project)
		return p, nil, err
	}
	found, err := mounts.Discover(c.dir)
	if found.Source.Location == "" {
		return nil, nil, c.nothingHere(err)
	}
	name, err := h.projectHaving(ctx, found.Source)
	if err != nil {
		return nil, nil, err
	}
	p, err := h.host.Project(ctx, cmp.Or(name, ownProject(found)))
	return p, []repoSpec{{Path: found.Source.Location}}, err
}

// nothingHere says why there is nothing to serve.
func (c *cli) nothingHere(why error) error {
	hint := fmt.Sprintf("Start %s inside a checkout, or pass --repo PATH or --project NAME.", c.running.CommandPath())
	if own := workspace.HintOf(why); own != "" {
		hint = own + "\n" + hint
	}
	return workspace.Errorf(workspace.KindOf(why), "there is no repository to serve: %w", why).At(c.dir).Hinted("%s", hint)
}

// specs reads the values of --repo.
func (c *cli) specs(repos []string) ([]repoSpec, error) {
	var specs []repoSpec
	for _, s := range repos {
		spec, err := parseRepoSpec(s, c.exists)
		if err != nil {
			return nil, err
		}
		spec.Path = c.abs(spec.Path)
		specs = append(specs, spec)
	}
	return specs, nil
}

// reposOf lists the repos that a catalog has, by path.
func reposOf(c *workspace.Catalog) []workspace.Repo {
	repos := []workspace.Repo{}
	for _, r := range c.Repos {
		if !r.Removed {
			repos = append(repos, r)
		}
	}
	slices.SortFunc(repos, func(a, b workspace.Repo) int { return cmp.Compare(a.Path, b.Path) })
	return repos
}

// instructions are what an agent is told beside what every agent is: where the
// directory that the server was started in is, and the notes.
func (o *offer) instructions(dir string) []string {
	var at workspace.Path
	inner := 0 // of nested repositories the inner one is meant
	for _, r := range o.repos {
		if p := directoryIn(r, dir); p != "" && len(r.Source.Location) > inner {
			at, inner = p, len(r.Source.Location)
		}
	}
	var all []string
	if at != "" {
		all = append(all, fmt.Sprintf("The directory that this server was started in is %s here.", at))
	}
	return append(all, o.notes...)
}
