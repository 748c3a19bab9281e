package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

// tokenInfo is a token as it is listed.
type tokenInfo struct {
	ID         string                `json:"id"`
	Name       string                `json:"name"`
	State      string                `json:"state"` // good, expired or revoked
	Allow      []workspace.Verb      `json:"allow"`
	Workspaces []string              `json:"workspaces"` // none: all
	Repos      []workspace.RepoGrant `json:"repos"`      // none: all
	Created    time.Time             `json:"created"`
	Expires    *time.Time            `json:"expires,omitempty"` // nil: never
	Revoked    *time.Time            `json:"revoked,omitempty"`
}

func (c *cli) tokenList() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens of the project, the oldest first",
		Example: "  carrel token list\n" +
			"  carrel token list --project default --json",
		Args: usageArgs(cobra.NoArgs, "token list takes no arguments"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			all, err := c.listTokens(ctx)
			if err != nil {
				return err
			}
			if a.json {
				return c.printJSON(map[string][]tokenInfo{"tokens": c.tokenInfos(all)})
			}
			t := table{head: []string{"ID", "NAME", "STATE", "CREATED", "EXPIRES", "ALLOWS"}, empty: "no tokens"}
			for _, tok := range all {
				t.add(tok.ID, tok.Name, c.tokenState(tok), ago(c.now(), tok.Created), expiryText(tok), grantsText(tok.Grants))
			}
			return c.print(t.String())
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

// listTokens returns the tokens of the project.
func (c *cli) listTokens(ctx context.Context) (all []workspace.Token, err error) {
	err = c.withTokens(ctx, func(p *workspace.Project, tokens workspace.Tokens) (err error) {
		all, err = tokens.Tokens(ctx, p.Name())
		return err
	})
	return all, err
}

func (c *cli) tokenInfos(all []workspace.Token) []tokenInfo {
	infos := []tokenInfo{}
	for _, t := range all {
		i := tokenInfo{
			ID: t.ID, Name: t.Name, State: c.tokenState(t), Allow: t.Grants.Verbs, Created: t.Created,
			Workspaces: append([]string{}, t.Grants.Workspaces...), Repos: append([]workspace.RepoGrant{}, t.Grants.Repos...),
		}
		if !t.Expires.IsZero() {
			i.Expires = &t.Expires
		}
		if !t.Revoked.IsZero() {
			i.Revoked = &t.Revoked
		}
		infos = append(infos, i)
	}
	return infos
}

func (c *cli) tokenState(t workspace.Token) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked"
	case !t.Expires.IsZero() && !c.now().Before(t.Expires):
		return "expired"
	}
	return "good"
}

func (c *cli) tokenRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "End a token at once, for every running server",
		Long: "End a token: every server on the data directory refuses the next request that is made with it, and\n" +
			"ends what it holds open. A second time changes nothing.",
		Example:           "  carrel token revoke t-4k2m8qrx",
		Args:              usageArgs(cobra.ExactArgs(1), "token revoke takes one ID, which `carrel token list` shows"),
		ValidArgsFunction: c.completeTokens,
		RunE: c.does(func(ctx context.Context, args []string) error {
			if strings.HasPrefix(args[0], "carrel_") { // not to be repeated on a screen
				return workspace.Errorf(workspace.Invalid, "this is a token and not its id").
					Hinted("`carrel token list` shows the ids. The token is in your shell's history now: revoke it.")
			}
			return c.withTokens(ctx, func(p *workspace.Project, tokens workspace.Tokens) error {
				err := tokens.RevokeToken(ctx, p.Name(), args[0], c.now())
				if errors.Is(err, workspace.NotExist) {
					return workspace.Errorf(workspace.NotExist, "the project %s has no token %q", p.Name(), args[0]).
						Hinted("`carrel token list --project %s` shows those that it has.", p.Name())
				}
				if err != nil {
					return err
				}
				return c.print("revoked " + args[0] + " of the project " + p.Name())
			})
		}),
	}
	return cmd
}

// completeTokens offers the tokens that can be revoked.
func (c *cli) completeTokens(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if c.begin(cmd) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, err := c.listTokens(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, t := range all {
		if t.Revoked.IsZero() {
			ids = append(ids, t.ID+"\t"+t.Name)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
