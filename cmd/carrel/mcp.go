package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/server"
	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// mcpFlags are what carrel mcp was asked for.
type mcpFlags struct {
	repos     []string
	workspace string
	create    bool
	tools     string
	names     string
	cache     int64
}

// minCache is the least that --cache-bytes may be.
const minCache = 1 << 20

func (c *cli) mcp() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over MCP, on stdin and stdout",
		Long: "Serve an agent over MCP, on stdin and stdout.\n\n" +
			"A repository is served in place: nothing is copied, and what is checked out is never touched.\n" +
			"--repo adds it to the project, for good, and every agent of a project sees all of its repositories:\n" +
			"the project default, unless --project names another.\n" +
			"Without --repo and --project the repository around the working directory is served, in the project\n" +
			"that has it, else in one of its own. With --workspace every call acts on that workspace; without,\n" +
			"the agent makes or opens one.",
		Example: "  carrel mcp\n" +
			"  carrel mcp --repo app --repo lib=lib.git#main\n" +
			"  carrel mcp --workspace /agents/demo --create --tool-names underscore",
		Args: usageArgs(cobra.NoArgs, "mcp takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error { return c.serveMCP(ctx, f) }),
	}
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "bind every call to this workspace, for example /agents/demo")
	cmd.Flags().BoolVar(&f.create, "create", false, "create the workspace if it does not exist")
	c.toolFlags(cmd, &f)
	return cmd
}

// toolFlags are the flags that every server has.
func (c *cli) toolFlags(cmd *cobra.Command, f *mcpFlags) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.repos, "repo", nil, "repository to add and serve, as [NAME=]PATH[#BRANCH]; may be repeated")
	flags.StringVar(&f.tools, "tools", string(server.Core), "tools to offer: core or all")
	flags.StringVar(&f.names, "tool-names", mcpwire.NamesAuto, "how tools are listed: auto, dotted or underscore")
	flags.Int64Var(&f.cache, "cache-bytes", 128<<20, "bytes of memory for trees, lists and small contents of all repositories")
	c.completeWith(cmd, "tools", string(server.Core), string(server.All))
	c.completeWith(cmd, "tool-names", mcpwire.NamesAuto, mcpwire.NamesDotted, mcpwire.NamesUnderscore)
}

// check refuses flags that mean nothing.
func (f mcpFlags) check(c *cli) error {
	switch {
	case f.cache < minCache:
		return c.usage("--cache-bytes is %d, less than %d", f.cache, minCache)
	case f.tools != string(server.Core) && f.tools != string(server.All):
		return c.usage("--tools is %q, not core or all", f.tools)
	case f.names != mcpwire.NamesAuto && f.names != mcpwire.NamesDotted && f.names != mcpwire.NamesUnderscore:
		return c.usage("--tool-names is %q, not auto, dotted or underscore", f.names)
	case f.create && f.workspace == "":
		return c.usage("--create needs --workspace")
	}
	return nil
}

func (c *cli) serveMCP(ctx context.Context, f mcpFlags) (err error) {
	if err := f.check(c); err != nil {
		return err
	}
	h, err := c.open(ctx, homeOptions{create: true, cache: f.cache})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	offered, err := c.offer(ctx, h, f.repos)
	if err != nil {
		return err
	}
	id, err := c.bind(ctx, offered.project, f)
	if err != nil {
		return err
	}
	for _, n := range offered.notes {
		c.note("carrel: %s", n)
	}
	if isTerminal(c.stdin) {
		c.note("Serving MCP on stdin and stdout, until the input ends (Ctrl-D).")
		c.explain(h, offered, f, clientConfig(h, offered, f))
	}
	defer c.lookAround(ctx, h, offered)()
	s := mcpwire.New(&mcpwire.Config{
		Project: offered.project, Workspace: id, Tools: f.tools, Names: f.names,
		Notes: offered.instructions(c.dir), Version: buildVersion().Version, Log: h.log,
	})
	return s.ServeStdio(ctx, c.stdin, c.stdout)
}

// lookAround does what a server has to do when it begins, beside the serving of
// clients. The returned function ends it.
func (c *cli) lookAround(ctx context.Context, h *home, o *offer) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { c.warnUncommitted(ctx, h, o.repos) })
	looking.Go(func() {
		if err := h.host.SettleCommits(ctx); err != nil && ctx.Err() == nil {
			h.log.Warn("commits of ended processes are undecided", "err", err)
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}

// bind returns the workspace that every call is bound to, "" for none. One that
// was never created is made only if that is asked for.
func (c *cli) bind(ctx context.Context, p *workspace.Project, f mcpFlags) (workspace.ID, error) {
	if f.workspace == "" {
		return "", nil
	}
	id, err := workspace.ParseID(f.workspace)
	if err != nil {
		return "", err
	}
	caller := workspace.Caller{Client: c.running.CommandPath()}
	if f.create {
		digest := args.Digest(tools.WorkspaceCreateIn{Path: f.workspace})
		if _, err := p.Create(ctx, caller, workspace.CreateRequest{ID: id, Digest: digest}); err != nil {
			return "", err
		}
	}
	_, err = p.Workspace(ctx, id, caller)
	if errors.Is(err, workspace.NotExist) {
		err = workspace.Errorf(workspace.NotExist, "the workspace does not exist in the project %s", p.Name()).At(f.workspace).
			Hinted("Pass --create to make it.")
	}
	return id, err
}

// lookTime is how long carrel mcp looks for uncommitted files in a checkout.
const lookTime = 30 * time.Second

// warnUncommitted says which files on disk no workspace shows. It runs beside
// the server, since a look at a large checkout takes a while.
func (c *cli) warnUncommitted(ctx context.Context, h *home, repos []workspace.Repo) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for _, r := range repos {
		if r.Source.Managed {
			continue
		}
		switch n, err := h.repos.Uncommitted(ctx, r.Source); {
		case err != nil:
			h.log.Debug("uncommitted files not counted", "repo", r.Path, "err", err)
		case n == 1:
			c.note("carrel: 1 uncommitted file of %s's checkout is not visible here", r.Path.Name())
		case n > 1:
			c.note("carrel: %d uncommitted files of %s's checkout are not visible here", n, r.Path.Name())
		}
	}
}

// explain tells a person who starts a server by hand what it serves and what to
// paste into a client's configuration.
func (c *cli) explain(h *home, o *offer, f mcpFlags, config string) {
	c.note("  project    %s", o.project.Name())
	c.note("  data       %s", h.path)
	if f.workspace != "" {
		c.note("  workspace  %s", f.workspace)
	}
	for _, r := range o.repos {
		c.note("  %s  %s on %s, from %s", r.Path, r.Policy, r.Branch, location(r.Source))
	}
	c.note("\nFor the configuration of a client:\n%s\n", config)
}

// clientConfig is what a client that starts the server is configured with, in the
// form that most of them share.
func clientConfig(h *home, o *offer, f mcpFlags) string {
	binary, err := os.Executable()
	if err != nil {
		binary = "carrel"
	}
	line := []string{"mcp", "--data", h.path, "--project", o.project.Name()}
	for _, r := range o.repos {
		if !r.Source.Managed {
			line = append(line, "--repo", strings.TrimPrefix(string(r.Path), "/repos/")+"="+r.Source.Location)
		}
	}
	if f.workspace != "" {
		line = append(line, "--workspace", f.workspace, "--create")
	}
	if f.tools != string(server.Core) {
		line = append(line, "--tools", f.tools)
	}
	line = append(line, "--tool-names=underscore")
	type command struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	b, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]command{"carrel": {binary, line}}}, "", "  ")
	if err != nil {
		panic("carrel: a configuration always encodes: " + err.Error())
	}
	return string(b)
}
