package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

// workspaceInfo is a workspace as it is listed.
type workspaceInfo struct {
	Path      workspace.ID `json:"path"`
	CreatedAt time.Time    `json:"createdAt"`
	ChangedAt time.Time    `json:"changedAt"`       // when its last record was made
	Dirty     *int         `json:"dirty,omitempty"` // uncommitted files; absent if they cannot be told
	Branches  []string     `json:"branches"`        // its work branches, else those that it reads
	Client    string       `json:"client"`          // the program that made the last record
	Problem   string       `json:"problem,omitempty"`
}

// workspaceList is a page of the workspaces of a project.
type workspaceList struct {
	Workspaces []workspaceInfo `json:"workspaces"`
	More       int             `json:"more"` // that are not listed
}

func (c *cli) workspaceList() *cobra.Command {
	var a asking
	var limit int
	cmd := &cobra.Command{
		Use:   "list [PREFIX]",
		Short: "List workspaces with their age, uncommitted files and last client",
		Example: "  carrel workspace list\n" +
			"  carrel workspace list /agents/ --limit 20 --json",
		Args: usageArgs(cobra.MaximumNArgs(1), "workspace list takes one PREFIX at most"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			list, err := c.listWorkspaces(ctx, strings.Join(args, ""), limit)
			switch {
			case err != nil:
				return err
			case a.json:
				return c.printJSON(list)
			}
			return c.printWorkspaces(list)
		}),
	}
	a.jsonFlag(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "workspaces to list, by path")
	return cmd
}

// listWorkspaces looks at the workspaces whose identity starts with a prefix, up
// to a limit.
func (c *cli) listWorkspaces(ctx context.Context, prefix string, limit int) (workspaceList, error) {
	list := workspaceList{Workspaces: []workspaceInfo{}}
	err := c.inProject(ctx, func(p *workspace.Project) error {
		catalog, err := p.Catalog(ctx)
		if err != nil {
			return err
		}
		for w := range catalog.List(prefix, "") {
			if len(list.Workspaces) >= limit {
				list.More++
				continue
			}
			info, err := describe(ctx, p, w)
			switch {
			case errors.Is(err, workspace.Closed):
				continue // deleted a moment ago
			case ctx.Err() != nil:
				return err
			case err != nil: // the others can be told
				info.Problem, info.Branches = err.Error(), []string{}
			}
			list.Workspaces = append(list.Workspaces, info)
		}
		return nil
	})
	return list, err
}

// describe looks at one workspace. It costs the reading of what its stream has
// since the last checkpoint and of the trees where it changed something.
func describe(ctx context.Context, p *workspace.Project, l workspace.Listed) (workspaceInfo, error) {
	info := workspaceInfo{Path: l.ID, CreatedAt: l.CreatedAt.UTC()}
	w, err := p.Workspace(ctx, l.ID, workspace.Caller{})
	if err != nil {
		return info, err
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return info, err
	}
	for r, err := range p.Records(ctx, string(l.ID), s.State.Seq-1) {
		if err != nil {
			return info, err
		}
		info.ChangedAt, info.Client = r.At.UTC(), r.Client
	}
	info.Branches = branchesOf(s)
	if n, err := s.Unsaved(ctx); err != nil {
		info.Problem = err.Error()
	} else {
		info.Dirty = &n
	}
	return info, ctx.Err()
}

// branchesOf names the branches that a workspace has commits on, else those that
// it reads.
func branchesOf(s *workspace.Snapshot) []string {
	work, read := []string{}, []string{}
	for _, m := range s.Table.Mounts {
		read = append(read, m.Branch)
		if !m.Work.IsZero() {
			work = append(work, m.Branch)
		}
	}
	if len(work) > 0 {
		read = work
	}
	slices.Sort(read)
	return slices.Compact(read)
}

func (c *cli) printWorkspaces(list workspaceList) error {
	t := table{head: []string{"PATH", "AGE", "LAST CHANGE", "DIRTY", "BRANCH", "LAST CLIENT"}, empty: "no workspaces"}
	now := c.now()
	for _, w := range list.Workspaces {
		dirty := "?"
		if w.Dirty != nil {
			dirty = strconv.Itoa(*w.Dirty)
		}
		t.add(string(w.Path), ago(now, w.CreatedAt), ago(now, w.ChangedAt), dirty, short(w.Branches), w.Client)
		if w.Problem != "" {
			c.note("%s: %s", w.Path, printable(w.Problem))
		}
	}
	if list.More > 0 {
		c.note("%d more; raise --limit or give a PREFIX", list.More)
	}
	return c.print(t.String())
}

// ago is how long something is past, in one unit.
func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return "?"
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// short lists a few names.
func short(names []string) string {
	const most = 2
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// completeWorkspaces offers the workspaces of the project.
func (c *cli) completeWorkspaces(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if c.begin(cmd) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	err := c.inProject(cmd.Context(), func(p *workspace.Project) error {
		catalog, err := p.Catalog(cmd.Context())
		if err != nil {
			return err
		}
		for w := range catalog.List(typed, "") {
			names = append(names, string(w.ID))
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
