package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

func (c *cli) repo() *cobra.Command {
	return c.group(&cobra.Command{
		Use:     "repo",
		Short:   "Add, list and configure the repositories of a project",
		Example: "  carrel repo list",
	}, c.repoCreate(), c.repoAdd(), c.repoList(), c.repoConfigure(), c.repoRemove())
}

// repoInfo is a repo as it is listed.
type repoInfo struct {
	Path    string `json:"path"`
	Source  string `json:"source"` // where it is, or the name of a managed one
	Managed bool   `json:"managed"`
	Branch  string `json:"branch"`
	Policy  string `json:"policy"`
}

func infoOf(r workspace.Repo) repoInfo {
	return repoInfo{string(r.Path), r.Source.Location, r.Source.Managed, r.Branch, string(r.Policy)}
}

// repoCommand is a command on the repos of a project: the one that exists, or,
// for a command that registers a repo, one that may begin with it.
type repoCommand struct {
	asking
	registers bool
}

// on runs f on the project and prints the repo that it returns, after a verb.
func (r *repoCommand) on(ctx context.Context, c *cli, verb string, f func(h *home, reg *registration) (workspace.Repo, error)) (err error) {
	h, err := c.open(ctx, homeOptions{create: r.registers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	choose := c.existingProject
	if r.registers {
		choose = c.newProject
	}
	p, err := choose(ctx, h)
	if err != nil {
		return err
	}
	reg := &registration{project: p, caller: workspace.Caller{Client: c.running.CommandPath()}}
	repo, err := f(h, reg)
	if err != nil {
		return err
	}
	for _, n := range reg.notes {
		c.note("%s", n)
	}
	if r.json {
		return c.printJSON(infoOf(repo))
	}
	return c.print(fmt.Sprintf("%s %s (%s on %s, from %s) in the project %s", verb, repo.Path, repo.Policy, repo.Branch, location(repo.Source), p.Name()))
}

func (c *cli) repoCreate() *cobra.Command {
	r := repoCommand{registers: true}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an empty repository in the data directory",
		Long: "Make an empty repository in the data directory, a bare one whose branch is main, and add it to the\n" +
			"project. A workspace makes its first commit.",
		Example: "  carrel repo create notes",
		Args:    usageArgs(cobra.ExactArgs(1), "repo create takes one NAME"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			return r.on(ctx, c, "created", func(h *home, reg *registration) (workspace.Repo, error) {
				return createRepo(ctx, h, reg, args[0])
			})
		}),
	}
	r.jsonFlag(cmd)
	return cmd
}

// createRepo makes a managed repository and registers it. One that was made and
// not registered, because the process died between, is taken up; one that was
// removed from the project comes back as it was.
func createRepo(ctx context.Context, h *home, reg *registration, name string) (workspace.Repo, error) {
	path, err := repoPathOf(name)
	if err != nil {
		return workspace.Repo{}, err
	}
	s := managedSource(reg.project.Name(), path)
	if err := reg.free(ctx, path, s); err != nil {
		return workspace.Repo{}, err
	}
	catalog, err := reg.project.Catalog(ctx)
	if err != nil {
		return workspace.Repo{}, err
	}
	if old := catalog.Repos[path]; old.Removed {
		reg.note("%s was removed before: it is back as it was, with its commits.", path)
		old.Removed = false
		return old, reg.project.SetRepo(ctx, reg.caller, old)
	}
	_, err = h.repos.Create(ctx, s.Location)
	if errors.Is(err, workspace.Exist) {
		err = h.unclaimed(ctx, s)
	}
	if err != nil {
		return workspace.Repo{}, err
	}
	repo := workspace.Repo{Path: path, Source: s, Branch: mounts.DefaultBranch, Policy: workspace.CommitToMain}
	return repo, reg.project.SetRepo(ctx, reg.caller, repo)
}

// managedSource is the managed repository of a repo's path: one name in the data
// directory for each project.
func managedSource(project string, path workspace.RepoPath) workspace.Source {
	name := string(path[len("/repos/"):])
	if project != defaultProject {
		name = project + "/" + name
	}
	return workspace.Source{Location: name, Managed: true}
}

// unclaimed refuses a managed repository that exists, unless nobody has
// registered it and nothing was committed to it.
func (h *home) unclaimed(ctx context.Context, s workspace.Source) error {
	names, err := h.host.Projects(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		catalog, err := h.catalog(ctx, name)
		if err != nil {
			return err
		}
		if r, ok := repoOf(catalog, s); ok {
			return workspace.Errorf(workspace.Exist, "the project %s has the repo already", name).At(string(r.Path)).
				Hinted("Choose another name, or use it as it is.")
		}
	}
	head, err := h.repos.Head(ctx, s, mounts.DefaultBranch)
	if err == nil && !head.IsZero() {
		err = workspace.Errorf(workspace.Exist, "a managed repository of that name exists and has commits").At(s.Location).
			Hinted("Choose another name.")
	}
	return err
}

func (c *cli) repoAdd() *cobra.Command {
	r := repoCommand{registers: true}
	cmd := &cobra.Command{
		Use:   "add PATH[#BRANCH] [NAME]",
		Short: "Use a bare repository or a checkout in place",
		Long: "Use a bare repository or a checkout in place: nothing is copied, and what is checked out is never\n" +
			"touched. The repo is /repos/NAME; NAME is the last segment of PATH unless it is given.",
		Example: "  carrel repo add app\n" +
			"  carrel repo add lib.git#main library",
		Args: usageArgs(cobra.RangeArgs(1, 2), "repo add takes a PATH and a NAME at most"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			specs, err := c.specs(args[:1])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				specs[0].Name = args[1]
			}
			return r.on(ctx, c, "added", func(_ *home, reg *registration) (workspace.Repo, error) {
				return reg.add(ctx, specs[0])
			})
		}),
	}
	r.jsonFlag(cmd)
	return cmd
}

func (c *cli) repoConfigure() *cobra.Command {
	var r repoCommand
	var branch, policy string
	cmd := &cobra.Command{
		Use:   "configure NAME",
		Short: "Change the branch or policy of a repo, for all workspaces",
		Example: "  carrel repo configure app --policy read-only\n" +
			"  carrel repo configure app --branch next",
		Args:              usageArgs(cobra.ExactArgs(1), "repo configure takes one NAME"),
		ValidArgsFunction: c.completeRepos,
		RunE: c.does(func(ctx context.Context, args []string) error {
			if branch == "" && policy == "" {
				return c.usage("nothing to configure: pass --branch or --policy")
			}
			return r.on(ctx, c, "configured", func(h *home, reg *registration) (workspace.Repo, error) {
				return configureRepo(ctx, h, reg, args[0], branch, workspace.Policy(policy))
			})
		}),
	}
	r.jsonFlag(cmd)
	cmd.Flags().StringVar(&branch, "branch", "", "branch to read and commit to")
	cmd.Flags().StringVar(&policy, "policy", "", "what a commit may do: commit-to-main, branch or read-only")
	c.completeWith(cmd, "policy", string(workspace.CommitToMain), string(workspace.WorkBranch), string(workspace.ReadOnly))
	return cmd
}

// configureRepo changes what is given of a repo.
func configureRepo(ctx context.Context, h *home, reg *registration, name, branch string, policy workspace.Policy) (workspace.Repo, error) {
	repo, err := reg.named(ctx, name)
	if err != nil {
		return repo, err
	}
	if branch != "" {
		// A branch that the repository does not have would show as an empty mount.
		if _, err := h.repos.Head(ctx, repo.Source, branch); err != nil {
			return repo, atPath(string(repo.Path), err)
		}
		repo.Branch = branch
	}
	repo.Policy = cmp.Or(policy, repo.Policy)
	return repo, reg.project.SetRepo(ctx, reg.caller, repo)
}

// named returns the repo that a person means.
func (r *registration) named(ctx context.Context, name string) (workspace.Repo, error) {
	path, err := repoPathOf(name)
	if err != nil {
		return workspace.Repo{}, err
	}
	catalog, err := r.project.Catalog(ctx)
	if err != nil {
		return workspace.Repo{}, err
	}
	repo, ok := catalog.Repos[path]
	if !ok || repo.Removed {
		return repo, workspace.Errorf(workspace.NotExist, "the project %s has no such repo", r.project.Name()).At(string(path)).
			Hinted("`carrel repo list` shows those that it has.")
	}
	return repo, nil
}

func (c *cli) repoRemove() *cobra.Command {
	var r repoCommand
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a repo out of the project; the repository itself stays as it is",
		Long: "Take a repo out of the project. The repository itself stays as it is, and a workspace with\n" +
			"uncommitted work in it keeps showing it.",
		Example:           "  carrel repo remove app",
		Args:              usageArgs(cobra.ExactArgs(1), "repo remove takes one NAME"),
		ValidArgsFunction: c.completeRepos,
		RunE: c.does(func(ctx context.Context, args []string) error {
			return r.on(ctx, c, "removed", func(_ *home, reg *registration) (workspace.Repo, error) {
				repo, err := reg.named(ctx, args[0])
				if err != nil {
					return repo, err
				}
				return repo, reg.project.RemoveRepo(ctx, reg.caller, repo.Path)
			})
		}),
	}
	r.jsonFlag(cmd)
	return cmd
}
