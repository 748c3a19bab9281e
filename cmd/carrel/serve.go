package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/cmd/carrel/traced"
	"carrel.dev/server"
	"carrel.dev/server/auth"
	"carrel.dev/server/mcpwire"
	"carrel.dev/server/web"
	"carrel.dev/workspace"
)

// defaultAddr is where a server listens if nobody says.
const defaultAddr = "127.0.0.1:7717"

// serveFlags are what carrel serve was asked for.
type serveFlags struct {
	mcpFlags
	addr      string
	tokens    bool
	url       string
	cert, key string
	origins   []string
	drain     time.Duration
	issuer    auth.IssuerConfig
	limits    web.Limits
	callTime  time.Duration
	sessions  int
	quotas    workspace.Limits
	traces    string
	checkOnly bool
}

func (c *cli) serve() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve agents over MCP, on HTTP",
		Long: "Serve agents over MCP, on HTTP, until it is interrupted; running calls then finish.\n\n" +
			"/mcp is Streamable HTTP, /sse and /message are the HTTP+SSE of 2024-11-05. Below the path of a\n" +
			"workspace, as in /agents/demo/mcp, every call acts on that workspace. /healthz, /readyz and /metrics\n" +
			"are for whoever runs it.\n\n" +
			"Without --tokens and --oidc-issuer only this machine is served, without authorization, and what is\n" +
			"served is chosen as by carrel mcp. With them every request needs a token, made by carrel token create\n" +
			"or by the issuer, which also says which project it is for: all projects of the data directory are served.\n\n" +
			"Each flag but --config and --check-config is a setting: --log-level is also the variable\n" +
			"CARREL_LOG_LEVEL, where commas separate the values of a flag that may be repeated, and the key log-level\n" +
			"in the file of --config. The command line counts before the environment, that before the file.",
		Example: "  carrel serve\n" +
			"  carrel serve --repo app --repo lib=lib.git#main\n" +
			"  carrel serve --config carrel.yaml --check-config\n" +
			"  carrel serve --addr :7717 --tokens --url https://carrel.example.com\n" +
			"  carrel serve --oidc-issuer https://login.example.com --oidc-audience https://carrel.example.com/mcp",
		Args: usageArgs(cobra.NoArgs, "serve takes no arguments, only flags"),
		RunE: c.does(func(ctx context.Context, _ []string) error { return c.serveHTTP(ctx, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", defaultAddr, "address to listen on; port 0 takes a free one")
	flags.BoolVar(&f.tokens, "tokens", false, "every request needs a capability token")
	flags.StringVar(&f.url, "url", "", "URL by which clients reach the server, for example https://carrel.example.com")
	flags.StringVar(&f.cert, "tls-cert", "", "file with the certificate and its chain, in PEM; read again when it changes")
	flags.StringVar(&f.key, "tls-key", "", "file with the certificate's key")
	flags.StringArrayVar(&f.origins, "origin", nil, "origin of pages in a browser that are served, for example https://example.com; may be repeated")
	flags.DurationVar(&f.drain, "drain", 0, "how long requests are still taken once /readyz says no, when it is to stop")
	flags.StringVar(&f.issuer.URL, "oidc-issuer", "", "OpenID issuer whose JWTs are taken as tokens")
	flags.StringArrayVar(&f.issuer.Audiences, "oidc-audience", nil, "audience that a JWT must name; may be repeated")
	flags.StringVar(&f.issuer.Project, "oidc-project", "", "project of a JWT that names none; default: such a JWT is refused")
	flags.Float64Var(&f.limits.Rate, "limit-rate", 500, "requests a second that one token may make; negative: any number")
	flags.IntVar(&f.limits.Burst, "limit-burst", 1000, "requests at once above that rate")
	flags.IntVar(&f.limits.InFlight, "limit-requests", 256, "requests of one token at a time, streams aside; negative: any number")
	flags.IntVar(&f.sessions, "limit-sessions", 4096, "sessions of one token; when it begins another, the one ends that was unused for longest")
	flags.DurationVar(&f.callTime, "limit-time", 5*time.Minute, "how long one call may take, waiting for its turn included; 0: any time")
	flags.IntVar(&f.quotas.ProjectWorkspaces, "quota-workspaces", 0, "workspaces of one project; 0: any number")
	flags.IntVar(&f.quotas.ProjectEntries, "quota-entries", 0, "uncommitted entries in all workspaces of a project together; 0: any number")
	flags.Int64Var(&f.quotas.ProjectBytes, "quota-bytes", 0, "bytes of uncommitted content in all workspaces of a project together; 0: any number")
	flags.IntVar(&f.quotas.UpperEntries, "workspace-entries", 1_000_000, "uncommitted entries of one workspace")
	flags.Int64Var(&f.quotas.UpperBytes, "workspace-bytes", 10<<30, "bytes of uncommitted content of one workspace")
	flags.Int64Var(&f.quotas.FileBytes, "file-bytes", 64<<20, "bytes of one file that is written")
	flags.IntVar(&f.quotas.ResultBytes, "max-result", 48<<10, "bytes of text in one result; known hosts refuse more")
	flags.StringVar(&f.traces, "traces", traced.Off, "where OpenTelemetry spans of requests go: off, otlp (as the OTEL_ variables say), stdout or file:NAME")
	flags.BoolVar(&f.checkOnly, "check-config", false, "only check the settings, print them with where each is from, and exit")
	c.toolFlags(cmd, &f.mcpFlags)
	return cmd
}

// authorized reports whether requests need a token.
func (f *serveFlags) authorized() bool { return f.tokens || f.issuer.URL != "" }

// check refuses flags that mean nothing.
func (f *serveFlags) check(c *cli) error {
	switch {
	case (f.cert == "") != (f.key == ""):
		return c.usage("--tls-cert and --tls-key go together")
	case f.issuer.URL == "" && len(f.issuer.Audiences)+len(f.issuer.Project) > 0:
		return c.usage("--oidc-audience and --oidc-project need --oidc-issuer")
	case f.issuer.URL != "" && len(f.issuer.Audiences) == 0:
		return c.usage("--oidc-issuer needs --oidc-audience: a JWT for somebody else is not one for this server")
	}
	for _, o := range f.origins {
		if u, err := url.Parse(o); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			return c.usage("--origin is %q, not the origin of a page, for example https://example.com", o)
		}
	}
	if f.sessions < 1 {
		return c.usage("--limit-sessions is %d: nobody could begin a session", f.sessions)
	}
	return f.mcpFlags.check(c)
}

func (c *cli) serveHTTP(ctx context.Context, f serveFlags) (err error) {
	if err := f.check(c); err != nil {
		return err
	}
	if f.checkOnly {
		return c.checkConfig(&f)
	}
	l, err := c.listen(ctx, &f)
	if err != nil {
		return err
	}
	defer l.Close() // unless the server did
	tracer, flush, err := c.startTraces(ctx, &f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush()) }()
	h, err := c.open(ctx, homeOptions{create: true, tracer: tracer, limits: f.quotas, cache: f.cache})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	offered, err := c.hosted(ctx, h, &f)
	if err != nil {
		return err
	}
	for _, n := range offered.notes {
		c.note("carrel: %s", n)
	}
	defer c.lookAround(ctx, h, offered)()
	s, err := c.web(h, offered, &f, tracer)
	if err != nil {
		return err
	}
	at := f.url
	if at == "" {
		at = f.scheme() + "://" + l.Addr().String()
	}
	c.note("Serving MCP on %s/mcp, and on %s/sse for older clients, until interrupted.", at, at)
	if f.authorized() {
		c.note("Every request needs a token: carrel token create makes one.")
	}
	if f.cert == "" && !isLoopback(l.Addr()) {
		c.note("carrel: tokens and files go over the network as they are: let a proxy on this machine end TLS, or pass --tls-cert and --tls-key.")
	}
	c.explain(h, offered, f.mcpFlags, urlConfig(at+"/mcp", f.authorized()))
	collectSeldom()
	return s.Serve(ctx, l)
}

func (f *serveFlags) scheme() string {
	if f.cert != "" {
		return "https"
	}
	return "http"
}

// hosted is offer, except that who may be served by a token need not be offered
// anything else.
func (c *cli) hosted(ctx context.Context, h *home, f *serveFlags) (*offer, error) {
	o, err := c.offer(ctx, h, f.repos)
	if err == nil || !f.authorized() || len(f.repos) > 0 || c.project != "" {
		return o, err
	}
	p, err := h.host.Project(ctx, defaultProject)
	return &offer{project: p}, err
}

// web wires the server.
func (c *cli) web(h *home, o *offer, f *serveFlags, tracer *traced.Tracer) (*web.Server, error) {
	metrics := web.NewMetrics(buildVersion().Version)
	run := metrics.Runner(server.Logged(h.log, server.Within(f.callTime, server.NewTurns(0).Runner(server.Run))))
	all := &projects{home: h, make: func(p *workspace.Project) *mcpwire.Server {
		cfg := &mcpwire.Config{
			Project: p, Tools: f.tools, Names: f.names, Version: buildVersion().Version, Log: h.log,
			Run: run, Keep: h.keep, MaxSessions: f.sessions,
		}
		if tracer != nil {
			cfg.Run, cfg.Around = tracer.Runner(cfg.Run), tracer.Request
		}
		if p == o.project {
			cfg.Notes = o.instructions(c.dir)
		}
		return mcpwire.New(cfg)
	}}
	front := mcpwire.NewFront(all.server(o.project))
	metrics.Watch(front)
	cfg := &web.Config{
		Front: front, Project: all.find, Origins: f.origins, Ready: h.ready,
		Limits: f.limits, Metrics: metrics, Drain: f.drain, Log: h.log,
	}
	if u, err := url.Parse(f.url); err == nil && u.Hostname() != "" {
		cfg.Hosts = []string{u.Hostname()}
	}
	if !f.authorized() {
		cfg.Limits = web.Limits{Rate: -1, InFlight: -1, Streams: -1} // everybody on this machine is one client
		return web.New(cfg), nil
	}
	var err error
	cfg.Auth, cfg.Guard, err = f.letIn(h.tokens, h.log)
	return web.New(cfg), err
}

// startTraces begins to export the spans of requests, if that is asked for.
func (c *cli) startTraces(ctx context.Context, f *serveFlags) (t *traced.Tracer, flush func() error, err error) {
	log, err := c.logger()
	if err != nil {
		return nil, nil, err
	}
	return traced.Start(ctx, &traced.Config{To: f.traces, Stdout: c.stdout, Version: buildVersion().Version, Log: log})
}

// letIn wires what lets requests in.
func (f *serveFlags) letIn(tokens workspace.Tokens, log *slog.Logger) (*auth.Authenticator, *auth.Guard, error) {
	guard := &auth.GuardConfig{Base: f.url, Log: log}
	if f.url == "" {
		guard.Host = func(string) bool { return true } // whatever reaches it
	}
	let := &auth.Config{Tokens: tokens}
	if f.issuer.URL != "" {
		f.issuer.Log = log
		issuer, err := auth.NewIssuer(&f.issuer)
		if err != nil {
			return nil, nil, err
		}
		let.Issuer, guard.Issuers = issuer, []string{f.issuer.URL}
	}
	a := auth.New(let)
	guard.Auth = a
	g, err := auth.NewGuard(guard)
	return a, g, err
}

// projects are the servers of the projects that principals have.
type projects struct {
	home *home
	make func(*workspace.Project) *mcpwire.Server

	mu sync.Mutex // guards of
	of map[*workspace.Project]*mcpwire.Server
}

// find returns the server of a project: NotExist if nobody has registered a repo in it.
func (a *projects) find(ctx context.Context, name string) (*mcpwire.Server, error) {
	p, err := mustExist(ctx, a.home, name)
	if err != nil {
		return nil, err
	}
	return a.server(p), nil
}

func (a *projects) server(p *workspace.Project) *mcpwire.Server {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[*workspace.Project]*mcpwire.Server{}
	}
	if a.of[p] == nil {
		a.of[p] = a.make(p)
	}
	return a.of[p]
}

// ready reports why the data directory cannot be used.
func (h *home) ready(ctx context.Context) error {
	_, err := h.host.Projects(ctx)
	return err
}

// address is where to listen: on this machine, unless requests need a token.
func (c *cli) address(f *serveFlags) (*net.TCPAddr, error) {
	a, err := net.ResolveTCPAddr("tcp", f.addr)
	switch {
	case err != nil:
		return nil, c.usage("--addr is %q, not HOST:PORT: %w", f.addr, err)
	case !a.IP.IsLoopback() && !f.authorized():
		return nil, workspace.Errorf(workspace.Permission, "%q is no loopback address, and no authorization is configured", f.addr).
			Hinted("Listen on 127.0.0.1 or [::1], or pass --tokens or --oidc-issuer, so that every request needs a token.")
	}
	return a, nil
}

// listen opens the address.
func (c *cli) listen(ctx context.Context, f *serveFlags) (net.Listener, error) {
	a, err := c.address(f)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", a.String())
	if err != nil {
		return nil, workspace.Errorf(workspace.Unavailable, "cannot listen: %w", err).Hinted("Choose another port with --addr, or 0 for a free one.")
	}
	if f.cert == "" {
		return l, nil
	}
	log, err := c.logger()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	pair, err := web.NewCertificate(f.cert, f.key, nil, log)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return tls.NewListener(l, pair.Config()), nil
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// urlConfig is what a client of a server at a URL is configured with, in the form
// that most of them share.
func urlConfig(url string, token bool) string {
	type remote struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	r := remote{Type: "http", URL: url}
	if token {
		r.Headers = map[string]string{"Authorization": "Bearer TOKEN"}
	}
	b, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]remote{"carrel": r}}, "", "  ")
	if err != nil {
		panic("carrel: a configuration always encodes: " + err.Error())
	}
	return string(b)
}
