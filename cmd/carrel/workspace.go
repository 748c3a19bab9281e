package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (c *cli) workspace() *cobra.Command {
	return c.group(&cobra.Command{
		Use:     "workspace",
		Short:   "Create, list, show, delete and prune workspaces",
		Example: "  carrel workspace list",
	}, c.workspaceCreate(), c.workspaceList(), c.workspaceShow(), c.workspaceDelete(), c.workspacePrune())
}

func (c *cli) workspaceCreate() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:     "create PATH",
		Short:   "Make a workspace, a private working copy of all repos of the project",
		Example: "  carrel workspace create /agents/fix-parser",
		Args:    usageArgs(cobra.ExactArgs(1), "workspace create takes one PATH, for example /agents/demo"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			a.workspace = args[0]
			return c.tool(ctx, &a, "workspace.create", map[string]string{"path": args[0]}, c.print)
		}),
	}
	a.keyFlag(cmd)
	a.jsonFlag(cmd)
	return cmd
}

func (c *cli) workspaceShow() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "show [PATH]",
		Short: "Show a workspace's mounts and how much is uncommitted",
		Example: "  carrel workspace show\n" +
			"  carrel workspace show /agents/demo --json",
		Args:              usageArgs(cobra.MaximumNArgs(1), "workspace show takes one PATH at most"),
		ValidArgsFunction: c.completeWorkspaces,
		RunE: c.does(func(ctx context.Context, args []string) error {
			if len(args) > 0 {
				a.workspace = args[0]
			}
			return c.tool(ctx, &a, "workspace.show", struct{}{}, c.print)
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

func (c *cli) workspaceDelete() *cobra.Command {
	var a asking
	var discard bool
	cmd := &cobra.Command{
		Use:   "delete PATH",
		Short: "End a workspace for good",
		Long: "End a workspace for good. One with uncommitted work is kept unless --discard is given. Its commits\n" +
			"stay where they are.",
		Example:           "  carrel workspace delete /agents/demo --discard",
		Args:              usageArgs(cobra.ExactArgs(1), "workspace delete takes one PATH"),
		ValidArgsFunction: c.completeWorkspaces,
		RunE: c.does(func(ctx context.Context, args []string) error {
			a.workspace = args[0]
			return c.tool(ctx, &a, "workspace.delete", map[string]any{"path": args[0], "discard": discard}, c.print)
		}),
	}
	a.keyFlag(cmd)
	a.jsonFlag(cmd)
	cmd.Flags().BoolVar(&discard, "discard", false, "lose its uncommitted work")
	return cmd
}
