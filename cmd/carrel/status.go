package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) status() *cobra.Command {
	var a asking
	var scope string
	var all bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what a workspace changed and did not commit",
		Example: "  carrel status\n" +
			"  carrel status --workspace /agents/demo --all",
		Args: usageArgs(cobra.NoArgs, "status takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			in := map[string]any{"all": all}
			set(in, "scope", scope)
			return c.tool(ctx, &a, "git.status", in, func(text string) error { return c.print(c.paint(text, statusColour)) })
		}),
	}
	a.workspaceFlag(c, cmd)
	a.jsonFlag(cmd)
	cmd.Flags().StringVar(&scope, "scope", "", "mount point; default all mounts")
	cmd.Flags().BoolVar(&all, "all", false, "list clean mounts and ignored files too")
	return cmd
}

// set adds an argument that was given.
func set(in map[string]any, name, value string) {
	if value != "" {
		in[name] = value
	}
}

// statusColour knows the lines of git.status by their letters.
func statusColour(line string) colour {
	entry, indented := strings.CutPrefix(line, "  ")
	letter, _, _ := strings.Cut(entry, " ")
	switch {
	case strings.Contains(line, " [conflict: "):
		return red
	case !indented && strings.HasPrefix(line, "/"):
		return bold
	case !indented:
		return ""
	}
	switch letter {
	case "A":
		return green
	case "M", "T":
		return yellow
	case "D":
		return red
	}
	return ""
}
