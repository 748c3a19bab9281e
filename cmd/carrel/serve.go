package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"github.com/spf13/cobra"

	"carrel.dev/server/mcpwire"
	"carrel.dev/workspace"
)

// serveFlags are what carrel serve was asked for.
type serveFlags struct {
	mcpFlags
	addr string
}

func (c *cli) serve() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve agents on this machine over MCP, on HTTP",
		Long: "Serve agents on this machine over MCP, on HTTP, until it is interrupted; running calls then finish.\n\n" +
			"/mcp is Streamable HTTP, /sse and /message are the HTTP+SSE of 2024-11-05. Below the path of a\n" +
			"workspace, as in /agents/demo/mcp, every call acts on that workspace.\n" +
			"There is no authorization yet, so that only loopback addresses are listened on.\n" +
			"What is served is chosen as by carrel mcp.",
		Example: "  carrel serve\n" +
			"  carrel serve --repo app --repo lib=lib.git#main\n" +
			"  carrel serve --addr 127.0.0.1:0 --tools all",
		Args: usageArgs(cobra.NoArgs, "serve takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error { return c.serveHTTP(ctx, f) }),
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:7717", "loopback address to listen on; port 0 takes a free one")
	c.toolFlags(cmd, &f.mcpFlags)
	return cmd
}

func (c *cli) serveHTTP(ctx context.Context, f serveFlags) (err error) {
	if err := f.check(c); err != nil {
		return err
	}
	l, err := c.listen(ctx, f.addr)
	if err != nil {
		return err
	}
	defer l.Close() // unless the server did
	h, err := c.open(ctx, homeOptions{create: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	offered, err := c.offer(ctx, h, f.repos)
	if err != nil {
		return err
	}
	for _, n := range offered.notes {
		c.note("carrel: %s", n)
	}
	defer c.lookAround(ctx, h, offered)()
	s := mcpwire.New(&mcpwire.Config{
		Project: offered.project, Tools: f.tools, Names: f.names,
		Notes: offered.instructions(c.dir), Version: buildVersion().Version, Log: h.log,
	})
	url := "http://" + l.Addr().String()
	c.note("Serving MCP on %s/mcp, and on %s/sse for older clients, until interrupted.", url, url)
	c.explain(h, offered, f.mcpFlags, urlConfig(url+"/mcp"))
	return s.Serve(ctx, l)
}

// listen opens a loopback address.
func (c *cli) listen(ctx context.Context, addr string) (net.Listener, error) {
	a, err := net.ResolveTCPAddr("tcp", addr)
	switch {
	case err != nil:
		return nil, c.usage("--addr is %q, not HOST:PORT: %w", addr, err)
	case !a.IP.IsLoopback():
		return nil, workspace.Errorf(workspace.Permission, "%q is no loopback address, and there is no authorization yet", addr).
			Hinted("Listen on 127.0.0.1 or [::1]; from other machines an SSH tunnel reaches it.")
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", a.String())
	if err != nil {
		return nil, workspace.Errorf(workspace.Unavailable, "cannot listen: %w", err).Hinted("Choose another port with --addr, or 0 for a free one.")
	}
	return l, nil
}

// urlConfig is what a client of a server at a URL is configured with, in the form
// that most of them share.
func urlConfig(url string) string {
	type remote struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	b, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]remote{"carrel": {"http", url}}}, "", "  ")
	if err != nil {
		panic("carrel: a configuration always encodes: " + err.Error())
	}
	return string(b)
}
