package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"carrel.dev/tools"
)

func (c *cli) commit() *cobra.Command {
	var a asking
	var in tools.GitCommitIn
	var author string
	cmd := &cobra.Command{
		Use:   "commit -m MESSAGE [PATH ...]",
		Short: "Commit one mount's changes to its repository",
		Long: "Commit one mount's changes to its repository, as one commit on top of what is there now.\n" +
			"If somebody else changed the same path since, nothing is committed and the conflicts are listed.",
		Example: "  carrel commit -m 'say hello'\n" +
			"  carrel commit -m 'say hello' --author 'Ann <ann@example.com>' --key 42 /repos/app/main.go",
		RunE: c.does(func(ctx context.Context, args []string) error {
			in.Paths = args
			if author != "" {
				var err error
				if in.Author, err = c.author(author); err != nil {
					return err
				}
			}
			return c.tool(ctx, &a, "git.commit", in, c.print)
		}),
	}
	a.workspaceFlag(c, cmd)
	a.keyFlag(cmd)
	a.jsonFlag(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&in.Message, "message", "m", "", "what the commit does")
	flags.StringVar(&in.Scope, "scope", "", "mount point; needed if several mounts have changes")
	flags.BoolVar(&in.Force, "force", false, "take the ignored files that PATH names")
	flags.BoolVar(&in.AllowEmptyTree, "allow-empty-tree", false, "the repo may be left without files")
	flags.StringVar(&author, "author", "", "who made the change, as 'NAME <EMAIL>'")
	if err := cmd.MarkFlagRequired("message"); err != nil {
		panic("carrel: " + err.Error()) // the flag is not defined
	}
	return cmd
}

// author reads NAME <EMAIL>. What git takes is the tool's to say.
func (c *cli) author(s string) (*tools.Author, error) {
	name, rest, ok := strings.Cut(s, "<")
	email, closed := strings.CutSuffix(strings.TrimSpace(rest), ">")
	if !ok || !closed {
		return nil, c.usage("--author is %q, not of the form NAME <EMAIL>", s)
	}
	return &tools.Author{Name: strings.TrimSpace(name), Email: strings.TrimSpace(email)}, nil
}
