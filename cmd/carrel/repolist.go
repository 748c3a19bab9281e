package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

func (c *cli) repoList() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the repositories of the project",
		Example: "  carrel repo list\n" +
			"  carrel repo list --project default --json",
		Args: usageArgs(cobra.NoArgs, "repo list takes no arguments"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			repos, err := c.listRepos(ctx)
			switch {
			case err != nil:
				return err
			case a.json:
				return c.printJSON(map[string][]repoInfo{"repos": repos})
			}
			t := table{head: []string{"PATH", "BRANCH", "POLICY", "SOURCE"}, empty: "no repos"}
			for _, r := range repos {
				source := r.Source
				if r.Managed {
					source += " (managed)"
				}
				t.add(r.Path, r.Branch, r.Policy, source)
			}
			return c.print(t.String())
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

// listRepos returns the repos of the project.
func (c *cli) listRepos(ctx context.Context) (repos []repoInfo, err error) {
	repos = []repoInfo{}
	err = c.inProject(ctx, func(p *workspace.Project) error {
		catalog, err := p.Catalog(ctx)
		if err != nil {
			return err
		}
		for _, r := range reposOf(catalog) {
			repos = append(repos, infoOf(r))
		}
		return nil
	})
	return repos, err
}

// completeRepos offers the names of the project's repos.
func (c *cli) completeRepos(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if c.begin(cmd) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	repos, err := c.listRepos(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, r := range repos {
		names = append(names, strings.TrimPrefix(r.Path, "/repos/"))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
