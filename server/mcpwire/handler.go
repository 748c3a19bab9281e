package mcpwire

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// Handler answers the requests of clients: mcp-go's server, or what wraps one. All
// methods are safe for concurrent use.
type Handler interface {
	// WithContext returns a context with the client that makes a request, a Peer.
	WithContext(ctx context.Context, client mcpserver.ClientSession) context.Context
	// HandleMessage answers a request.
	HandleMessage(ctx context.Context, request json.RawMessage) mcp.JSONRPCMessage
	// GetTool returns a tool, or nil. Arguments that its schema wants repeated in
	// headers of HTTP are held against them.
	GetTool(name string) *mcpserver.ServerTool
}

// Peer is the client as a Handler sees it, while it handles one request.
type Peer interface {
	mcpserver.SessionWithResourceSubscriptionsErr
	mcpserver.SessionWithSubscriptionFilter
	// Progress returns what tells the client how far its request is, or nil if it did
	// not ask for that by a token. It is told at once.
	Progress(token mcp.ProgressToken) func(done, total float64, text string)
	// Ask sends the client a request beside the answer to its own, and returns the
	// result when that has come. The error is the client's, or says that it cannot be
	// asked or has gone, or is that of ctx.
	Ask(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// peer is the client as mcp-go sees it while it handles one request: what is
// notified then goes out before the response.
type peer struct {
	id     string
	notes  chan mcp.JSONRPCNotification
	call   *call
	subs   *subscriptions         // that the request changes
	ctx    func() context.Context // of the request, which mcp-go does not hand on
	filter mcp.SubscriptionFilter
}

var _ Peer = (*peer)(nil)

func (p *peer) Initialize()                                         {}
func (p *peer) Initialized() bool                                   { return true }
func (p *peer) NotificationChannel() chan<- mcp.JSONRPCNotification { return p.notes }
func (p *peer) SessionID() string                                   { return p.id }

func (p *peer) Progress(token mcp.ProgressToken) func(done, total float64, text string) {
	return p.call.progress(token)
}

func (p *peer) Ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return p.call.ask(ctx, method, params)
}
