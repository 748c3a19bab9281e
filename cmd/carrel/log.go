package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (c *cli) log() *cobra.Command {
	var a asking
	var scope string
	var limit int
	cmd := &cobra.Command{
		Use:   "log [PATH]",
		Short: "List a mount's commits, newest first",
		Example: "  carrel log -n 5\n" +
			"  carrel log --scope /repos/app /repos/app/main.go",
		Args: usageArgs(cobra.MaximumNArgs(1), "log takes one PATH at most"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			in := map[string]any{"limit": limit}
			set(in, "scope", scope)
			if len(args) > 0 {
				in["path"] = args[0]
			}
			return c.tool(ctx, &a, "git.log", in, func(text string) error { return c.page(c.paint(text, logColour)) })
		}),
	}
	a.workspaceFlag(c, cmd)
	a.jsonFlag(cmd)
	cmd.Flags().StringVar(&scope, "scope", "", "mount point; needed if there are several mounts and no PATH")
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "commits to list, 200 at most")
	return cmd
}

// logColour marks the lines that begin a commit.
func logColour(line string) colour {
	if line == "" || line[0] == ' ' || line[0] == '[' {
		return ""
	}
	return yellow
}
