package mcpwire

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// Bounds of the instructions, which a host puts before every conversation.
const (
	maxNamedRepos = 8
	maxNotes      = 3
)

// instructions teach a client the namespace, in at most ten lines.
func (s *Server) instructions(ctx context.Context) string {
	lines := []string{
		"Carrel gives you a private, durable working copy of git repositories, without clone or checkout.",
		s.served(ctx),
		"/repos/NAME/** is a repository as your workspace sees it; /workspace is private scratch, never committed, and relative paths resolve there.",
		"What you write is private to your workspace, and durable at once. Others see it after `git.commit`, which takes one repository's changes at a time.",
		"Your own shell and file tools see the machine's disk, not this workspace: read and write here with these tools only.",
		beginning(callOf(ctx).conn),
		"If a commit conflicts, nothing was committed: look at your change with `git.diff`, `revert` the path to take theirs, and edit again.",
	}
	if callOf(ctx).conn.grants == nil { // they speak of all repos
		lines = append(lines, s.cfg.Notes[:min(len(s.cfg.Notes), maxNotes)]...)
	}
	session, spelling := callOf(ctx).conn.session, s.client(ctx).spelling
	var said []string
	for _, l := range lines {
		if l = session.Say(strings.ReplaceAll(l, "\n", " "), spelling); l != "" {
			said = append(said, l)
		}
	}
	return strings.Join(said, "\n")
}

// beginning says how a client's calls find their workspace.
func beginning(c *conn) string {
	switch {
	case c.session.Fixed() != "":
		return fmt.Sprintf("Every call acts on the workspace %s. If it does not exist yet, create it with `workspace.create`.", c.session.Fixed())
	case c.stateless:
		return "Begin with `workspace.create`, for example at /agents/NAME, or go on in one that `workspace.list` has. " +
			"Pass its path in the argument workspace of every call."
	}
	return "Begin with `workspace.create`, for example at /agents/NAME, or `workspace.open` to go on in one; calls then act there. " +
		"Sub-agents take a workspace each and pass it in the argument workspace of every call."
}

// served names the repos and what a commit does to them.
func (s *Server) served(ctx context.Context) string {
	repos, grants := s.cfg.Repos, callOf(ctx).conn.grants
	if repos == nil || grants != nil {
		repos = s.catalogued(ctx, grants)
	}
	if len(repos) == 0 {
		return "No repository is served yet."
	}
	var named []string
	for _, r := range repos[:min(len(repos), maxNamedRepos)] {
		named = append(named, fmt.Sprintf("%s (%s)", r.Path, effect(r)))
	}
	line := "Repositories: " + strings.Join(named, ", ")
	if more := len(repos) - len(named); more > 0 {
		return fmt.Sprintf("%s and %d more, which `readDir` of /repos lists.", line, more)
	}
	return line + "."
}

// effect says what a commit to a repo does.
func effect(r workspace.Repo) string {
	switch r.Policy {
	case workspace.CommitToMain:
		return "commits land on " + r.Branch
	case workspace.ReadOnly:
		return r.Branch + ", read-only"
	}
	return r.Branch + ", commits go to a work branch"
}

// catalogued returns those of the project's repos that are granted, by path.
func (s *Server) catalogued(ctx context.Context, g *workspace.Grants) []workspace.Repo {
	catalog, err := s.cfg.Project.Visible(ctx, g)
	if err != nil {
		s.cfg.Log.ErrorContext(ctx, "the repos are not known", "err", err)
		return nil
	}
	var repos []workspace.Repo
	for _, r := range catalog.Repos {
		if !r.Removed {
			repos = append(repos, r)
		}
	}
	slices.SortFunc(repos, func(a, b workspace.Repo) int { return cmp.Compare(a.Path, b.Path) })
	return repos
}
