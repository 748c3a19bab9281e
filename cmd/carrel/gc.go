package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

// gcReport is what gc did, as it is printed for programs.
type gcReport struct {
	Contents  int     `json:"contents"`  // that were removed
	Bytes     int64   `json:"bytes"`     // of them
	Refs      []gcRef `json:"refs"`      // that were removed
	Processes int     `json:"processes"` // dead ones, whose files were removed
	Files     int     `json:"files"`     // abandoned ones
	Repos     int     `json:"repos"`     // that were begun and never finished
	Left      []gcRef `json:"left"`      // refs that stay
}

// gcRef is a ref in a repository.
type gcRef struct {
	Repository string       `json:"repository"`
	Ref        string       `json:"ref,omitempty"`
	Commit     string       `json:"commit,omitempty"`
	Workspace  workspace.ID `json:"workspace,omitempty"`
	Project    string       `json:"project,omitempty"`
	Why        string       `json:"why,omitempty"`
}

func (c *cli) gc() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove contents and refs that nothing needs any more",
		Long: "Remove contents that nothing refers to: what was stored and never recorded, and what only workspaces\n" +
			"refer to that were deleted. It must not have been used for a day. With it go the refs of deleted\n" +
			"workspaces whose commits a branch or tag has as well, and what dead processes have left. Branches\n" +
			"are never removed. Other processes may go on meanwhile.",
		Example: "  carrel gc",
		Args:    usageArgs(cobra.NoArgs, "gc takes no arguments"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			r, err := c.collect(ctx)
			switch {
			case err != nil:
				return err
			case a.json:
				return c.printJSON(r)
			}
			return c.print(r.String())
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

// collect removes what nothing needs from the data directory.
func (c *cli) collect(ctx context.Context) (r gcReport, err error) {
	h, err := c.open(ctx, homeOptions{asIs: true})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	tell, end := c.progress()
	defer end()
	done, err := h.host.GC(ctx, workspace.GC{Progress: tell})
	if err != nil {
		return r, err
	}
	r = gcReport{Contents: done.Contents, Bytes: done.Bytes, Refs: gcRefs(done.Refs), Left: gcRefs(done.Left)}
	if r.Processes, err = h.data.Clean(ctx); err != nil {
		return r, err
	}
	if r.Files, err = h.large.Clean(ctx); err != nil {
		return r, err
	}
	r.Repos, err = h.repos.RemoveUnfinished()
	return r, err
}

func gcRefs(refs []workspace.RepoRef) []gcRef {
	list := []gcRef{}
	for _, ref := range refs {
		r := gcRef{Repository: location(ref.Source), Ref: ref.Ref, Workspace: ref.Workspace, Project: ref.Project, Why: ref.Why}
		if !ref.Commit.IsZero() {
			r.Commit = ref.Commit.String()
		}
		list = append(list, r)
	}
	return list
}

// String is the report for a person.
func (r gcReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "removed: %s (%s), %s\n", count(r.Contents, "content", "contents"), bytesText(r.Bytes), count(len(r.Refs), "ref", "refs"))
	if left := r.Processes + r.Files + r.Repos; left > 0 {
		fmt.Fprintf(&b, "cleaned up: %s of dead processes\n", count(left, "leftover", "leftovers"))
	}
	t := table{head: []string{"LEFT", "REPOSITORY", "WORKSPACE", "WHY"}}
	for _, ref := range r.Left {
		t.add(ref.Ref, ref.Repository, string(ref.Workspace), ref.Why)
	}
	return b.String() + t.String()
}
