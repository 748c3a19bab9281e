package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

// pruneReport is what prune did, as it is printed for programs.
type pruneReport struct {
	DryRun bool         `json:"dryRun"`
	Idle   []prunedInfo `json:"idle"` // the workspaces that were found idle
}

type prunedInfo struct {
	Path      workspace.ID `json:"path"`
	ChangedAt time.Time    `json:"changedAt"`
	Client    string       `json:"client"`
	Dirty     int          `json:"dirty"` // uncommitted files
	// Deleted says that it was, or would be.
	Deleted bool   `json:"deleted"`
	Kept    string `json:"kept,omitempty"` // why
}

func (c *cli) workspacePrune() *cobra.Command {
	var a asking
	var idle string
	var o workspace.Prune
	cmd := &cobra.Command{
		Use:   "prune --idle TIME",
		Short: "End the workspaces that nobody has changed for long",
		Long: "End the workspaces of the project of which nothing was recorded for TIME: 14d, 36h, 2w. Those with\n" +
			"uncommitted work are kept and listed unless --discard is given. Their commits stay where they are;\n" +
			"`carrel gc` removes what only they needed, a day later.",
		Example: "  carrel workspace prune --idle 14d --dry-run\n" +
			"  carrel workspace prune --idle 4w --discard",
		Args: usageArgs(cobra.NoArgs, "workspace prune takes no arguments; which workspaces it ends is said by --idle"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			var err error
			if o.Idle, err = parseAge(idle); err != nil {
				return c.usage("--idle is %q, not a time such as 14d, 36h or 2w", idle)
			}
			r, err := c.prune(ctx, o)
			switch {
			case err != nil:
				return err
			case a.json:
				return c.printJSON(r)
			}
			return c.print(c.pruneText(r))
		}),
	}
	a.jsonFlag(cmd)
	cmd.Flags().StringVar(&idle, "idle", "", "for how long nothing was recorded: a number with d, w, h or m")
	cmd.Flags().BoolVar(&o.Discard, "discard", false, "end also those with uncommitted work, and lose it")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only tell what would be done")
	if err := cmd.MarkFlagRequired("idle"); err != nil {
		panic("carrel: " + err.Error()) // the flag is not defined
	}
	return cmd
}

// prune ends the idle workspaces of the project.
func (c *cli) prune(ctx context.Context, o workspace.Prune) (pruneReport, error) {
	r := pruneReport{DryRun: o.DryRun, Idle: []prunedInfo{}}
	err := c.inProject(ctx, func(p *workspace.Project) error {
		var end func()
		o.Progress, end = c.progress()
		defer end()
		idle, err := p.Prune(ctx, workspace.Caller{Client: "carrel workspace prune"}, o)
		for _, w := range idle {
			r.Idle = append(r.Idle, prunedInfo{w.ID, w.ChangedAt, w.Client, w.Unsaved, w.Deleted, w.Why})
		}
		return err
	})
	return r, err
}

// parseAge reads a time in days, weeks, hours or minutes, more than nothing.
func parseAge(s string) (time.Duration, error) {
	units := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	for suffix, unit := range units {
		digits, ok := strings.CutSuffix(s, suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 16)
		if err == nil && n > 0 && n <= 10_000 {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, fmt.Errorf("%q is no age", s)
}

func (c *cli) pruneText(r pruneReport) string {
	t := table{head: []string{"PATH", "LAST CHANGE", "DIRTY", "LAST CLIENT", "RESULT"}, empty: "no workspace has been idle for that long"}
	deleted, now := 0, c.now()
	for _, w := range r.Idle {
		result := "kept: " + w.Kept
		switch {
		case w.Deleted && r.DryRun:
			result = "would be deleted"
		case w.Deleted:
			result = "deleted"
			deleted++
		}
		t.add(string(w.Path), ago(now, w.ChangedAt), strconv.Itoa(w.Dirty), w.Client, result)
	}
	text := t.String()
	if deleted > 0 {
		text += "deleted: " + strconv.Itoa(deleted)
	}
	return text
}
