package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

// defaultProject is the project of whoever names none.
const defaultProject = "default"

// existingProject returns the project that a command works on which registers
// nothing: the one that is named, else the one that has the repository around
// the working directory, else the default one.
func (c *cli) existingProject(ctx context.Context, h *home) (*workspace.Project, error) {
	name := c.project
	if name == "" {
		around, err := c.projectAround(ctx, h)
		if err != nil {
			return nil, err
		}
		name = cmp.Or(around, defaultProject)
	}
	return mustExist(ctx, h, name)
}

// inProject runs f on the project of a command that registers nothing.
func (c *cli) inProject(ctx context.Context, f func(*workspace.Project) error) error {
	return c.inHome(ctx, func(_ *home, p *workspace.Project) error { return f(p) })
}

// inHome is inProject for what needs more than the project.
func (c *cli) inHome(ctx context.Context, f func(*home, *workspace.Project) error) (err error) {
	h, err := c.open(ctx, homeOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	p, err := c.existingProject(ctx, h)
	if err != nil {
		return err
	}
	return f(h, p)
}

// mustExist returns a project in which a repo was registered.
func mustExist(ctx context.Context, h *home, name string) (*workspace.Project, error) {
	p, err := h.host.Project(ctx, name)
	if err != nil {
		return nil, err
	}
	exists, err := p.Exists(ctx)
	if err != nil || exists {
		return p, err
	}
	hint := fmt.Sprintf("Add one with `carrel repo add PATH --project %s`, or start `carrel mcp` inside a checkout.", name)
	others, err := h.host.Projects(ctx)
	if err != nil {
		return nil, err
	}
	if len(others) > 0 {
		hint = fmt.Sprintf("The projects are: %s. Name one with --project, or work inside the checkout that it has.\n%s", names(others), hint)
	}
	return nil, workspace.Errorf(workspace.NotExist, "there is no project %q: nobody has registered a repo in it", name).Hinted("%s", hint)
}

// newProject returns the project of a command that names a repo to register,
// with which a project begins.
func (c *cli) newProject(ctx context.Context, h *home) (*workspace.Project, error) {
	return h.host.Project(ctx, cmp.Or(c.project, defaultProject))
}

// projectAround names the one project that has the repository around the working
// directory, or "".
func (c *cli) projectAround(ctx context.Context, h *home) (string, error) {
	found, _ := mounts.Discover(c.dir) // the source is enough: HEAD may be detached
	if found.Source.Location == "" {
		return "", nil
	}
	return h.projectHaving(ctx, found.Source)
}

// projectHaving names the one project that has a source, or "". Several are
// Invalid.
func (h *home) projectHaving(ctx context.Context, s workspace.Source) (string, error) {
	all, err := h.host.Projects(ctx)
	if err != nil {
		return "", err
	}
	var having []string
	for _, name := range all {
		catalog, err := h.catalog(ctx, name)
		if err != nil {
			return "", err
		}
		if _, ok := repoOf(catalog, s); ok {
			having = append(having, name)
		}
	}
	switch len(having) {
	case 0:
		return "", nil
	case 1:
		return having[0], nil
	}
	return "", workspace.Errorf(workspace.Invalid, "%d projects have the repository %s: %s", len(having), location(s), strings.Join(having, ", ")).
		Hinted("Name the one that is meant with --project.")
}

// catalog returns the catalog of a project.
func (h *home) catalog(ctx context.Context, project string) (*workspace.Catalog, error) {
	p, err := h.host.Project(ctx, project)
	if err != nil {
		return nil, err
	}
	return p.Catalog(ctx)
}

// directoryIn is where a directory on disk is in the mount of a repo, "" if it is
// not in the repository's work tree.
func directoryIn(repo workspace.Repo, dir string) workspace.Path {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil || repo.Source.Managed {
		return ""
	}
	rel, err := filepath.Rel(repo.Source.Location, resolved)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return ""
	case rel == ".":
		return workspace.Path(repo.Path)
	}
	return workspace.Path(repo.Path).Join(filepath.ToSlash(rel))
}
