package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

// registration registers repositories in a project.
type registration struct {
	project *workspace.Project
	caller  workspace.Caller
	// notes say what came out other than a reader of the command line may expect.
	notes []string
}

func (r *registration) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// add registers the repository at an absolute path, unless the project has it:
// then its branch and policy stay, but for a branch that is asked for.
func (r *registration) add(ctx context.Context, spec repoSpec) (workspace.Repo, error) {
	found, err := mounts.Inspect(spec.Path, spec.Branch)
	if found.Source.Location == "" {
		return workspace.Repo{}, atPath(spec.Path, err)
	}
	known, ok, lookup := r.having(ctx, found.Source)
	switch {
	case lookup != nil:
		return workspace.Repo{}, lookup
	case ok && (err == nil || spec.Branch == ""):
		return r.reuse(ctx, known, spec) // HEAD may be detached: its branch is known
	case err != nil:
		return workspace.Repo{}, atPath(spec.Path, err)
	}
	return r.addNew(ctx, spec, found)
}

// atPath names the repository on disk that an error is about.
func atPath(path string, err error) error {
	var e *workspace.Error
	if errors.As(err, &e) && e.Path == "" {
		return e.At(path)
	}
	return err
}

// having returns the repo of a source, if the project has it.
func (r *registration) having(ctx context.Context, s workspace.Source) (workspace.Repo, bool, error) {
	catalog, err := r.project.Catalog(ctx)
	if err != nil {
		return workspace.Repo{}, false, err
	}
	repo, ok := repoOf(catalog, s)
	return repo, ok, nil
}

// repoOf returns the repo of a source that a catalog has, of several the first
// by name.
func repoOf(c *workspace.Catalog, s workspace.Source) (repo workspace.Repo, ok bool) {
	for _, candidate := range c.Repos {
		if candidate.Source == s && !candidate.Removed && (!ok || candidate.Path < repo.Path) {
			repo, ok = candidate, true
		}
	}
	return repo, ok
}

// reuse takes a repo that the project has, by whatever name.
func (r *registration) reuse(ctx context.Context, repo workspace.Repo, spec repoSpec) (workspace.Repo, error) {
	if spec.Name != "" {
		path, err := repoPathOf(spec.Name)
		if err != nil {
			return repo, err
		}
		if err := r.free(ctx, path, repo.Source); err != nil {
			return repo, err
		}
		if path != repo.Path {
			r.note("%s is served as %s already; the name %s is not used.", spec.Path, repo.Path, path)
		}
	}
	if spec.Branch == "" || spec.Branch == repo.Branch {
		return repo, nil
	}
	repo.Branch = spec.Branch
	return repo, r.project.SetRepo(ctx, r.caller, repo)
}

// free refuses a path that belongs to another source.
func (r *registration) free(ctx context.Context, path workspace.RepoPath, s workspace.Source) error {
	catalog, err := r.project.Catalog(ctx)
	if err != nil {
		return err
	}
	other, taken := catalog.Repos[path]
	if !taken || other.Source == s {
		return nil
	}
	state := ""
	if other.Removed {
		state = ", which was removed"
	}
	return workspace.Errorf(workspace.Exist, "the name is taken by the repository at %s%s", location(other.Source), state).
		At(string(path)).Hinted("Choose another name, as NAME=PATH.")
}

// location tells a person where a repository is.
func location(s workspace.Source) string {
	if s.Managed {
		return s.Location + " (managed)"
	}
	return s.Location
}

// addNew registers a repository that the project does not have.
func (r *registration) addNew(ctx context.Context, spec repoSpec, found mounts.Found) (workspace.Repo, error) {
	repo := workspace.Repo{Source: found.Source, Branch: found.Branch, Policy: workspace.Policy(found.Policy)}
	var err error
	if spec.Name != "" {
		if repo.Path, err = repoPathOf(spec.Name); err != nil {
			return repo, err
		}
		if err := r.free(ctx, repo.Path, repo.Source); err != nil {
			return repo, err
		}
		return repo, r.project.SetRepo(ctx, r.caller, repo)
	}
	for {
		if repo.Path, err = r.derive(ctx, found); err != nil {
			return repo, err
		}
		err = r.project.SetRepo(ctx, r.caller, repo)
		if errors.Is(err, workspace.Exist) && ctx.Err() == nil {
			continue // somebody else took the name a moment ago
		}
		if plain := derivedName(found.Name); err == nil && repo.Path.Name() != plain {
			r.note("%s is served as %s: another repository has the name %s.", spec.Path, repo.Path, plain)
		}
		return repo, err
	}
}

// derive returns the path of a repo that nobody named: after its directory, with
// a number if another source has or had that path.
func (r *registration) derive(ctx context.Context, found mounts.Found) (workspace.RepoPath, error) {
	catalog, err := r.project.Catalog(ctx)
	if err != nil {
		return "", err
	}
	name := derivedName(found.Name)
	for n := 1; ; n++ {
		path := workspace.RepoPath("/repos/" + name)
		if n > 1 {
			path = workspace.RepoPath(fmt.Sprintf("/repos/%s-%d", name, n))
		}
		if other, taken := catalog.Repos[path]; !taken || other.Source == found.Source {
			return path, nil
		}
	}
}

// ownProject is the name of the project that a repository in place has to
// itself: its name and a hash of where it is.
func ownProject(found mounts.Found) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(derivedName(found.Name)))
	sum := sha256.Sum256([]byte(found.Source.Location))
	return name + "-" + hex.EncodeToString(sum[:4])
}
