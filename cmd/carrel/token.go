package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

// defaultExpiry is when a token expires if nobody says: soon enough that a forgotten
// one does no harm for long.
const defaultExpiry = "30d"

// maxTokenName is how long the name of a token may be, in bytes.
const maxTokenName = 100

func (c *cli) token() *cobra.Command {
	return c.group(&cobra.Command{
		Use:     "token",
		Short:   "Make, list and revoke the tokens by which agents are let in over HTTP",
		Example: "  carrel token list",
	}, c.tokenCreate(), c.tokenList(), c.tokenRevoke())
}

// withTokens runs f on the project and the tokens of the data directory.
func (c *cli) withTokens(ctx context.Context, f func(*workspace.Project, workspace.Tokens) error) (err error) {
	h, err := c.open(ctx, homeOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	p, err := c.existingProject(ctx, h)
	if err != nil {
		return err
	}
	return f(p, h.tokens)
}

// tokenFlags are what a token was asked for.
type tokenFlags struct {
	allow, workspaces, repos []string
	expires, name            string
}

func (c *cli) tokenCreate() *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "create --allow VERB,…",
		Short: "Make a token, and print it once",
		Long: "Make a token for the project and print it, alone on stdout: it is shown only once, and kept as a hash.\n" +
			"Whoever has it may do what --allow says, in the workspaces and with the repos that are named, and sees\n" +
			"nothing of any others.\n\n" +
			"In a pattern * stands for anything within a segment and ** for any number of segments. A repo's pattern\n" +
			"is below /repos: app is /repos/app. Of several --repo that match a repo the last counts, and a repo that\n" +
			"none matches is not there.",
		Example: "  carrel token create --allow read,write,commit,create --name ci\n" +
			"  carrel token create --allow read,write --workspace '/agents/ann/**' --repo '**=read-only' --repo app=branch\n" +
			"  carrel token create --allow read --project default --expires 2036-01-01T00:00:00Z",
		Args: usageArgs(cobra.NoArgs, "token create takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error {
			t, err := c.tokenOf(f)
			if err != nil {
				return err
			}
			return c.withTokens(ctx, func(p *workspace.Project, tokens workspace.Tokens) error {
				t.Project = p.Name()
				return c.makeToken(ctx, p, tokens, t)
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.allow, "allow", nil, "what it allows: read, write, commit, create (make and delete workspaces), admin (everything)")
	flags.StringArrayVar(&f.workspaces, "workspace", nil, "pattern of workspaces that it is for; repeatable; default all")
	flags.StringArrayVar(&f.repos, "repo", nil, "PATTERN=POLICY: repos that it is for, and commit-to-main, branch, read-only or none;\n"+
		"repeatable; default all, with the policy that each has")
	flags.StringVar(&f.expires, "expires", defaultExpiry, "when it expires: after a time such as 30d or 12h, at a time such as 2036-01-01T00:00:00Z, or never")
	flags.StringVar(&f.name, "name", "", "what it is for; commits and events made with it name it")
	if err := cmd.MarkFlagRequired("allow"); err != nil {
		panic("carrel: " + err.Error()) // the flag is not defined
	}
	c.completeWith(cmd, "allow", "read", "write", "commit", "create", "admin")
	c.completeWith(cmd, "expires", defaultExpiry, "1d", "never")
	c.complete(cmd, "workspace", c.completeWorkspaces)
	return cmd
}

// tokenOf reads what the flags ask for.
func (c *cli) tokenOf(f tokenFlags) (t workspace.Token, err error) {
	for _, s := range f.allow {
		v, err := workspace.ParseVerb(strings.TrimSpace(s))
		if err != nil {
			return t, err
		}
		if !slices.Contains(t.Grants.Verbs, v) {
			t.Grants.Verbs = append(t.Grants.Verbs, v)
		}
	}
	t.Grants.Workspaces = f.workspaces
	for _, s := range f.repos {
		g, err := auth.ParseRepoGrant(s)
		if err != nil {
			return t, err
		}
		t.Grants.Repos = append(t.Grants.Repos, g)
	}
	if err := t.Grants.Check(); err != nil {
		return t, err
	}
	if len(f.name) > maxTokenName || strings.ContainsFunc(f.name, func(r rune) bool { return !unicode.IsPrint(r) || r == '<' || r == '>' }) {
		return t, workspace.Errorf(workspace.Invalid, "the name of a token cannot be %.120q", f.name).
			Hinted("Commits name it as their author: write at most %d bytes on one line, without angle brackets.", maxTokenName)
	}
	t.Name, t.Created = f.name, c.now()
	t.Expires, err = c.expiry(f.expires)
	return t, err
}

// expiry reads when a token expires; zero for never.
func (c *cli) expiry(s string) (time.Time, error) {
	if s == "never" {
		return time.Time{}, nil
	}
	if d, err := parseAge(s); err == nil {
		return c.now().Add(d), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	switch {
	case err != nil:
		return at, c.usage("--expires is %q, not a time such as 30d, 12h, 2036-01-01T00:00:00Z or never", s)
	case !at.After(c.now()):
		return at, workspace.Errorf(workspace.Invalid, "the token would have expired %s ago", ago(c.now(), at)).Hinted("Name a time to come with --expires.")
	case at.Year() > 2200: // beyond what nanoseconds since 1970 can count
		return at, workspace.Errorf(workspace.Invalid, "the year %d is too far away", at.Year()).Hinted("Use --expires never.")
	}
	return at, nil
}

// makeToken keeps a token, and then prints it.
func (c *cli) makeToken(ctx context.Context, p *workspace.Project, tokens workspace.Tokens, t workspace.Token) error {
	m := auth.Mint()
	t.ID, t.Hash = m.ID, m.Hash
	if err := tokens.AddToken(ctx, t); err != nil {
		return err
	}
	if err := c.print(m.Bearer); err != nil {
		// Nobody has seen it: nobody shall be able to use it.
		return errors.Join(err, tokens.RevokeToken(context.WithoutCancel(ctx), t.Project, t.ID, c.now()))
	}
	c.note("Made the token %s for the project %s. This is the only time it is shown.", t.ID, t.Project)
	c.note("It allows: %s", grantsText(t.Grants))
	c.note("It expires: %s. Revoke it with `carrel token revoke %s --project %s`.", expiryText(t), t.ID, t.Project)
	return c.noteMissing(ctx, p, t.Grants)
}

// noteMissing tells of a repo that is granted and not there: a name may be mistyped.
func (c *cli) noteMissing(ctx context.Context, p *workspace.Project, g workspace.Grants) error {
	catalog, err := p.Catalog(ctx)
	if err != nil {
		return err
	}
	for _, r := range g.Repos {
		if repo, ok := catalog.Repos[workspace.RepoPath(r.Pattern)]; (!ok || repo.Removed) && !strings.ContainsAny(r.Pattern, `*?[{\`) {
			c.note("Note: the project has no repo %s now.", r.Pattern)
		}
	}
	return nil
}

// grantsText says what grants allow, in one line.
func grantsText(g workspace.Grants) string {
	var verbs, repos []string
	for _, v := range g.Verbs {
		verbs = append(verbs, string(v))
	}
	for _, r := range g.Repos {
		repos = append(repos, r.Pattern+"="+string(r.Policy))
	}
	return fmt.Sprintf("%s; workspaces: %s; repos: %s", strings.Join(verbs, ","),
		cmp.Or(strings.Join(g.Workspaces, " "), "all"), cmp.Or(strings.Join(repos, " "), "all"))
}

func expiryText(t workspace.Token) string {
	if t.Expires.IsZero() {
		return "never"
	}
	return t.Expires.UTC().Format(time.RFC3339)
}
