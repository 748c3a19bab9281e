package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) diff() *cobra.Command {
	var a asking
	var scope string
	var lines int
	cmd := &cobra.Command{
		Use:   "diff [PATH]",
		Short: "Show a workspace's uncommitted changes as a unified diff",
		Example: "  carrel diff\n" +
			"  carrel diff /repos/app/main.go --context 10",
		Args: usageArgs(cobra.MaximumNArgs(1), "diff takes one PATH at most"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			in := map[string]any{"context": lines}
			set(in, "scope", scope)
			if len(args) > 0 {
				in["path"] = args[0]
			}
			return c.tool(ctx, &a, "git.diff", in, func(text string) error { return c.page(c.paint(text, diffColour)) })
		}),
	}
	a.workspaceFlag(c, cmd)
	a.jsonFlag(cmd)
	cmd.Flags().StringVar(&scope, "scope", "", "mount point; default all mounts")
	cmd.Flags().IntVar(&lines, "context", 3, "unchanged lines around a change")
	return cmd
}

// diffColour colours a unified diff as git does.
func diffColour(line string) colour {
	for _, p := range []struct {
		prefix string
		colour colour
	}{
		{"diff ", bold}, {"index ", bold}, {"--- ", bold}, {"+++ ", bold}, {"old mode ", bold}, {"new mode ", bold},
		{"new file ", bold}, {"deleted file ", bold}, {"rename ", bold}, {"similarity ", bold},
		{"@@", cyan}, {"+", green}, {"-", red},
	} {
		if strings.HasPrefix(line, p.prefix) {
			return p.colour
		}
	}
	return ""
}
