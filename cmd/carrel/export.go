package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"carrel.dev/cmd/carrel/export"
	"carrel.dev/workspace"
)

func (c *cli) export() *cobra.Command {
	var a asking
	var mount string
	var force bool
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a workspace's files to a directory, or bring one up to date",
		Long: "Write what a workspace shows to DIR as plain files, with symbolic links as links and submodules as\n" +
			"empty directories. DIR is new or empty, or holds an earlier export: then only what differs is\n" +
			"written, and what is gone is removed. Files that somebody else put there stay. If an exported file\n" +
			"was changed on disk, nothing is written without --force.",
		Example: "  carrel export out\n" +
			"  carrel export --mount /repos/app out/app",
		Args: usageArgs(cobra.ExactArgs(1), "export takes one DIR"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			report, err := c.exportTo(ctx, a.workspace, mount, c.abs(args[0]), force)
			switch {
			case err != nil:
				return workspace.InOp("export", err)
			case a.json:
				return c.printJSON(report)
			}
			return c.print(fmt.Sprintf("%d written, %d removed, %d unchanged", report.Written, report.Removed, report.Unchanged))
		}),
	}
	a.workspaceFlag(c, cmd)
	a.jsonFlag(cmd)
	cmd.Flags().StringVar(&mount, "mount", "", "mount point: export its content only, at the top of DIR")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite what was changed on disk")
	return cmd
}

// exportTo writes the view of a workspace, or of one of its mounts, to a
// directory.
func (c *cli) exportTo(ctx context.Context, named, mount, dir string, force bool) (report export.Report, err error) {
	id, err := c.workspaceOf(named)
	if err != nil {
		return report, err
	}
	err = c.inProject(ctx, func(p *workspace.Project) error {
		w, err := p.Workspace(ctx, id, workspace.Caller{Client: c.running.CommandPath()})
		if err != nil {
			return err
		}
		s, err := w.Snapshot(ctx)
		if err != nil {
			return err
		}
		top, err := topOf(s, mount)
		if err != nil {
			return err
		}
		report, err = export.Write(ctx, s, export.What{Project: p.Name(), Workspace: id, Top: top}, dir, force)
		return err
	})
	return report, err
}

// topOf returns what is exported: all, or a mount.
func topOf(s *workspace.Snapshot, mount string) (workspace.Path, error) {
	if mount == "" {
		return workspace.Root, nil
	}
	p, err := workspace.ParsePath(mount)
	if err != nil {
		return "", err
	}
	if s.Table.At(p) != nil {
		return p, nil
	}
	var points []string
	for _, m := range s.Table.Mounts {
		points = append(points, string(m.Point))
	}
	return "", workspace.Errorf(workspace.Invalid, "no mount at %s", p).Hinted("The mounts are: %s.", names(points))
}
