package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) revert() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "revert PATH ...",
		Short: "Drop a workspace's own changes at and below paths",
		Long: "Drop a workspace's own changes at and below paths, so that they read as committed.\n" +
			"Each path is one change; --key goes with a single one.",
		Example: "  carrel revert /repos/app/main.go",
		Args:    usageArgs(cobra.MinimumNArgs(1), "name a PATH to revert"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			if a.key != "" && len(args) > 1 {
				return c.usage("--key goes with a single PATH")
			}
			return c.revertAll(ctx, &a, args)
		}),
	}
	a.workspaceFlag(c, cmd)
	a.keyFlag(cmd)
	a.jsonFlag(cmd)
	return cmd
}

// revertAll reverts one path after the other, up to the first that fails.
func (c *cli) revertAll(ctx context.Context, a *asking, paths []string) (err error) {
	id, err := c.workspaceOf(a.workspace)
	if err != nil {
		return err
	}
	cl, err := c.connect(ctx, homeOptions{}, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cl.Close()) }()
	for _, p := range paths {
		r, err := cl.ask(ctx, "revert", map[string]string{"path": p}, a.key)
		if err == nil {
			err = c.show(r, a.json, c.print)
		}
		if err != nil {
			return inWords(err)
		}
	}
	return nil
}
