package mcpwire

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"carrel.dev/server"
)

// sink is where what belongs to a call goes, in the order in which it is given:
// messages as encode writes them. It is safe for concurrent use, and may wait for
// the client.
type sink interface {
	// note sends a notification. The client may not want any.
	note(message []byte)
	// answer sends the response, the last message of a call; code is that of an
	// error, or 0.
	answer(message []byte, code int)
}

// call is one request that is being handled.
type call struct {
	conn    *conn
	message message
	out     sink
	cancel  context.CancelFunc
	after   <-chan struct{} // closed once the call may begin; nil: now
	turn    chan struct{}   // closed once the call is over, if others wait for it

	silent atomic.Bool // cancelled: nobody waits for the answer
	// Only the goroutine that handles the call uses what follows, up to mu.
	unknown string                   // what is said of a tool that the session does not have
	uri     string                   // of the resource that it is about
	cursor  string                   // of the list that it asks for
	asked   server.Asked             // of one that subscribes
	failed  *mcp.JSONRPCErrorDetails // what it is answered with, whatever mcp-go says

	mu   sync.Mutex // guards what follows, and that progress is sent before the answer
	over bool       // nothing is notified any more
	last float64    // progress that was sent
}

type callKey struct{}

// callOf returns the call that ctx belongs to.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// wait waits for the call's turn, or its end.
func (k *call) wait(ctx context.Context) {
	if k.after == nil {
		return
	}
	select {
	case <-k.after:
	case <-ctx.Done():
	}
}

// serve answers the call when its turn has come. One that was cancelled before it
// began does nothing.
func (k *call) serve(ctx context.Context) {
	k.wait(ctx)
	if !k.silent.Load() {
		k.answer(k.handle(ctx))
	}
}

// handle lets mcp-go answer the request, and sends what it notifies.
func (k *call) handle(ctx context.Context) (response mcp.JSONRPCMessage) {
	c := k.conn
	ctx = server.WithLabels(ctx, server.Labels{Session: c.session.ID()})
	if around := c.server.cfg.Around; around != nil {
		var end func(code int)
		ctx, end = around(ctx, k.message.method)
		defer func() { end(codeOf(response)) }()
	}
	defer func() {
		if p := recover(); p != nil {
			c.server.cfg.Log.ErrorContext(ctx, "a request panicked", "method", k.message.method, "panic", p, "stack", string(debug.Stack()))
			response = (&refusal{k.message.id, mcp.INTERNAL_ERROR, "internal error"}).response()
		}
	}()
	if k.message.method == string(mcp.MethodInitialize) && c.isGreeted() {
		return (&refusal{k.message.id, mcp.INVALID_REQUEST, "initialize was answered before: begin another connection"}).response()
	}
	p := &peer{id: c.session.ID(), notes: make(chan mcp.JSONRPCNotification, 16), call: k, subs: c.subs}
	ctx = context.WithValue(c.server.handler.WithContext(ctx, p), callKey{}, k)
	p.ctx = func() context.Context { return ctx }
	if k.message.method == methodListen {
		p.subs = newSubscriptions(c.session)
		defer k.listen(p)()
	}
	response = c.server.handler.HandleMessage(ctx, k.message.raw)
	if k.unknown != "" {
		response = (&refusal{code: mcp.INVALID_PARAMS, text: k.unknown}).response()
	}
	response = addressed(response, k.message)
	if k.failed != nil {
		response = mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(k.message.id), Error: *k.failed}
	}
	for {
		select {
		case n := <-p.notes:
			k.out.note(c.server.encoded(n))
		default:
			return response
		}
	}
}

// answer sends the response, unless the call was cancelled.
func (k *call) answer(response mcp.JSONRPCMessage) {
	k.mu.Lock()
	k.over = true
	k.mu.Unlock()
	if k.silent.Load() {
		return
	}
	k.out.answer(k.conn.server.encoded(response), codeOf(response))
}

// codeOf is the code of an error, or 0.
func codeOf(response mcp.JSONRPCMessage) int {
	if e, ok := response.(mcp.JSONRPCError); ok {
		return e.Error.Code
	}
	return 0
}

// drop cancels the call: it is told to stop, and its answer is not sent.
func (k *call) drop() {
	k.silent.Store(true)
	k.cancel()
}

// progress returns what tells the client how far the call is, or nil if it did
// not ask. What comes after the answer, or does not go on from what was sent,
// is dropped: the protocol wants neither.
func (k *call) progress(token mcp.ProgressToken) func(done, total float64, text string) {
	if token == nil {
		return nil
	}
	return func(done, total float64, text string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.over || k.silent.Load() || done <= k.last {
			return
		}
		k.last = done
		fields := map[string]any{"progressToken": token, "progress": done}
		if total > 0 {
			fields["total"] = total
		}
		if text != "" {
			fields["message"] = text
		}
		k.out.note(k.conn.server.encoded(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
			Method: "notifications/progress", Params: mcp.NotificationParams{AdditionalFields: fields},
		}}))
	}
}
