package mcpwire

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// Config says what a Server serves. Project is needed; the zero value of any
// other field means its default.
type Config struct {
	Project   *workspace.Project
	Workspace workspace.ID        // binds every session for good; default: none
	Tools     string              // server.Core or server.All; default Core
	Names     string              // of tools: NamesAuto, NamesDotted or NamesUnderscore; default NamesAuto
	Repos     []workspace.Repo    // that the instructions name; default: those of the project when a client connects
	Notes     []string            // further lines of the instructions
	Version   string              // of the program
	Actor     workspace.Signature // whom commits and records name
	Log       *slog.Logger        // default: discarded
	Run       server.Runner       // as of server.Config
	// Around, if not nil, is asked before each request is handled, which then has the
	// context that it returns; end is told the code of the error that the request is
	// answered with, or 0.
	Around func(ctx context.Context, method string) (_ context.Context, end func(code int))
	// Handler answers what clients ask, in the place of the tools, resources and
	// prompts of Project: suites that judge an implementation of the protocol want
	// their own. Default: what Project has.
	Handler Handler
	// Keep keeps what clients over HTTP go on with after a restart, by Last-Event-ID.
	// Nil: they go on within the process only.
	Keep Keeper
	// MaxMessage is the largest message that is read, in bytes; default 96 MiB.
	MaxMessage int
	// Grace is how long running calls may go on once the input has ended, or the
	// server is told to stop; default 10 seconds.
	Grace time.Duration
	// Idle is how long a session over HTTP may be unused before it is ended;
	// default 4 hours. What is kept is kept as long.
	Idle time.Duration
	// MaxSessions is how many sessions one client may have over HTTP. When it begins
	// another, the one ends that was unused for longest; default 4,096.
	MaxSessions int
	// Linger is how long the session of a client of HTTP+SSE waits for it when its stream
	// breaks; default 1 minute.
	Linger time.Duration
	Now    func() time.Time // default: time.Now
}

// Server serves one project over MCP. All methods are safe for concurrent use.
type Server struct {
	cfg     Config
	desk    *server.Desk
	handler Handler // of requests
}

// New returns a Server.
func New(cfg *Config) *Server {
	s := &Server{cfg: *cfg}
	if s.cfg.Log == nil {
		s.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if s.cfg.MaxMessage == 0 {
		s.cfg.MaxMessage = 96 << 20
	}
	if s.cfg.Grace == 0 {
		s.cfg.Grace = 10 * time.Second
	}
	if s.cfg.Idle == 0 {
		s.cfg.Idle = 4 * time.Hour
	}
	if s.cfg.MaxSessions == 0 {
		s.cfg.MaxSessions = 4096
	}
	if s.cfg.Linger == 0 {
		s.cfg.Linger = time.Minute
	}
	if s.cfg.Now == nil {
		s.cfg.Now = time.Now
	}
	s.desk = server.New(&server.Config{Project: cfg.Project, Log: s.cfg.Log, Run: cfg.Run})
	s.handler = cfg.Handler
	if s.handler == nil {
		s.handler = s.newHandler()
	}
	return s
}

// newHandler has mcp-go answer what concerns the project.
func (s *Server) newHandler() Handler {
	hooks := &mcpserver.Hooks{}
	hooks.AddAfterInitialize(s.greet)
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		r.Instructions = s.instructions(ctx)
	})
	hooks.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, r *mcp.ListToolsResult) {
		r.Tools = s.list(ctx)
	})
	hooks.AddBeforeCallTool(s.settleName)
	h := mcpserver.NewMCPServer("carrel", s.cfg.Version,
		mcpserver.WithTitle("Carrel"), mcpserver.WithToolCapabilities(false),
		mcpserver.WithHooks(hooks), mcpserver.WithToolFilter(allowed))
	for _, t := range s.desk.Tools() {
		h.AddTool(mcp.Tool{Name: t.Name}, s.call)
	}
	s.offer(h, hooks)
	return h
}

// greet notes who the client is and tells it how to work here.
func (s *Server) greet(ctx context.Context, _ any, r *mcp.InitializeRequest, result *mcp.InitializeResult) {
	callOf(ctx).conn.greet(r.Params.ClientInfo.Name)
	result.Instructions = s.instructions(ctx)
}

// list returns the tools as the client that asks is shown them.
func (s *Server) list(ctx context.Context) []mcp.Tool {
	who := s.client(ctx)
	shown := []mcp.Tool{}
	for _, l := range callOf(ctx).conn.session.Tools(who.spelling) {
		t := mcp.Tool{
			Name: l.Name, Title: l.Tool.Name, Description: l.Description, RawInputSchema: l.Input,
			Annotations: mcp.ToolAnnotation{
				ReadOnlyHint:    mcp.ToBoolPtr(l.Tool.ReadOnly),
				DestructiveHint: mcp.ToBoolPtr(l.Tool.Destructive),
				IdempotentHint:  mcp.ToBoolPtr(l.Tool.Idempotent),
				OpenWorldHint:   mcp.ToBoolPtr(false),
			},
		}
		if !who.host {
			t.RawOutputSchema = l.Output
		}
		shown = append(shown, t)
	}
	return shown
}

// settleName makes the name of a call the canonical one, by which the tool is
// registered. mcp-go refuses one that the session does not have; what is said
// then, with a suggestion, stands in the call.
func (s *Server) settleName(ctx context.Context, _ any, r *mcp.CallToolRequest) {
	k := callOf(ctx)
	if t, ok := k.conn.session.Tool(r.Params.Name); ok {
		r.Params.Name = t.Name
		return
	}
	k.unknown = "there is no tool " + k.conn.session.Suggest(r.Params.Name, s.client(ctx).spelling)
}

// allowed keeps the tools that the session may call.
func allowed(ctx context.Context, all []mcp.Tool) []mcp.Tool {
	session := callOf(ctx).conn.session
	return slices.DeleteFunc(all, func(t mcp.Tool) bool { _, ok := session.Tool(t.Name); return !ok })
}

// call runs a tool.
func (s *Server) call(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	who := s.client(ctx)
	key, err := keyOf(r.Params.Meta)
	if err != nil {
		return result(server.Reply{Code: workspace.Invalid, Text: []string{err.Error()}}, who.host), nil
	}
	k := callOf(ctx)
	reply := k.conn.session.Call(ctx, server.Request{
		Tool: r.Params.Name, Arguments: r.Params.RawArguments, Key: key, Client: who.name, Spelling: who.spelling,
		Progress: k.progress(progressToken(r.Params.Meta)),
	})
	return result(reply, who.host), nil
}
