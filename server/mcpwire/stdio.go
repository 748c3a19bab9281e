package mcpwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/sync/semaphore"

	"carrel.dev/server"
)

// Bounds on the requests of a connection that are handled at a time, by their
// bytes and a share for each. Beyond them the input waits.
const (
	maxInFlight = 192 << 20
	requestCost = 1 << 20
)

// ServeStdio serves one client, a message a line, until the input or ctx ends.
// Then running calls may finish, for the time of Config.Grace. Nothing that the
// client sends ends it earlier; the error is that of writing to the client.
//
// Calls run at the same time, except that they wait for a workspace.create or
// workspace.open sent before them, which may decide where they act. A blocked
// read of in cannot be ended: after ctx it stays until the input does.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := s.connect(out)
	defer c.session.Close()
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	lines := readLines(in, s.cfg.MaxMessage, done)
	for {
		select {
		case <-ctx.Done():
			return c.finish(s.cfg.Grace, cancel)
		case <-c.out.broken:
			return fmt.Errorf("answer the client: %w", c.out.err)
		case l, ok := <-lines:
			if !ok {
				return c.finish(s.cfg.Grace, cancel)
			}
			c.receive(ctx, calls, l)
		}
	}
}

// readLines reads ahead by one line, until the input ends or done is closed.
func readLines(in io.Reader, most int, done <-chan struct{}) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			l, err := readLine(r, most)
			if err != nil {
				return
			}
			select {
			case lines <- l:
			case <-done:
				return
			}
		}
	}()
	return lines
}

// conn is one client's connection.
type conn struct {
	server  *Server
	session *server.Session
	out     *lineWriter
	room    *semaphore.Weighted
	calls   sync.WaitGroup
	// turn is closed when the last call that binds the session, of those received
	// so far, is over. Only the receiving goroutine uses it.
	turn chan struct{}

	mu       sync.Mutex // guards what follows
	client   string
	inFlight map[string][]*call // by id; a client may reuse one too early
}

func (s *Server) connect(out io.Writer) *conn {
	c := &conn{
		server: s,
		session: s.desk.Open(&server.SessionConfig{
			Actor: s.cfg.Actor, Tools: server.ToolSet(s.cfg.Tools), Workspace: s.cfg.Workspace,
		}),
		out:      &lineWriter{w: out, broken: make(chan struct{})},
		room:     semaphore.NewWeighted(maxInFlight),
		turn:     make(chan struct{}),
		inFlight: map[string][]*call{},
	}
	close(c.turn)
	return c
}

func (c *conn) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

func (c *conn) setName(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = name
}

// finish waits for the running calls, and at last for their being cancelled.
func (c *conn) finish(grace time.Duration, cancel context.CancelFunc) error {
	over := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(over)
	}()
	for _, patience := range [...]time.Duration{grace, time.Second} {
		select {
		case <-over:
			return nil
		case <-c.out.broken:
			return nil
		case <-time.After(patience):
			cancel()
		}
	}
	c.server.cfg.Log.Warn("calls were still running at the end", "session", c.session.ID())
	return nil
}

// receive takes one line of input; requests are handled under calls.
func (c *conn) receive(ctx, calls context.Context, l line) {
	if l.tooLong {
		c.refuse(ctx, &refusal{l.id(), mcp.INVALID_REQUEST, fmt.Sprintf("the message is longer than %d bytes", c.server.cfg.MaxMessage)})
		return
	}
	raw := bytes.TrimSpace(l.text)
	if len(raw) == 0 {
		return
	}
	m, refused := parse(raw)
	switch {
	case refused != nil:
		c.refuse(ctx, refused)
	case m.id != nil:
		c.start(ctx, calls, m)
	case m.method == string(mcp.MethodNotificationCancelled):
		c.cancel(m.cancels)
	}
}

// refuse answers what is no valid request.
func (c *conn) refuse(ctx context.Context, r *refusal) {
	if c.room.Acquire(ctx, requestCost) != nil {
		return // the connection ends
	}
	c.calls.Go(func() {
		defer c.room.Release(requestCost)
		c.send(r.response())
	})
}

// send writes a message to the client.
func (c *conn) send(v any) {
	b, err := encode(v)
	if err != nil {
		c.server.cfg.Log.Error("a message has no JSON", "err", err)
		return
	}
	c.out.write(b)
}

// start handles a request in a goroutine of its own. What follows initialize
// may depend on it, so that is handled at once and only answered there.
func (c *conn) start(ctx, calls context.Context, m message) {
	cost := min(int64(len(m.raw))+requestCost, maxInFlight)
	if c.room.Acquire(ctx, cost) != nil {
		return // the connection ends
	}
	k, calls := c.admit(calls, m)
	var ready mcp.JSONRPCMessage
	if m.method == string(mcp.MethodInitialize) {
		ready = k.handle(calls)
	}
	c.calls.Go(func() {
		defer c.room.Release(cost)
		defer c.forget(k)
		if ready == nil {
			k.wait(calls)
			if k.silent.Load() {
				return // cancelled before it began
			}
			ready = k.handle(calls)
		}
		k.answer(ready)
	})
}

// admit makes a call of a request, which notifications/cancelled can end.
func (c *conn) admit(ctx context.Context, m message) (*call, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	k := &call{conn: c, message: m, cancel: cancel}
	if m.method == string(mcp.MethodToolsCall) {
		k.after = c.turn
		if t, ok := c.session.Tool(m.tool); ok && server.Binds(t) {
			k.turn = make(chan struct{})
			c.turn = k.turn
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight[string(m.id)] = append(c.inFlight[string(m.id)], k)
	return k, ctx
}

// cancel ends the call of an id; there may be none any more.
func (c *conn) cancel(id json.RawMessage) {
	c.mu.Lock()
	calls := c.inFlight[string(id)]
	c.mu.Unlock()
	for _, k := range calls {
		k.drop()
	}
}

// forget ends the bookkeeping of a call.
func (c *conn) forget(k *call) {
	k.cancel()
	if k.turn != nil {
		close(k.turn)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := string(k.message.id)
	var others []*call
	for _, o := range c.inFlight[id] {
		if o != k {
			others = append(others, o)
		}
	}
	if c.inFlight[id] = others; others == nil {
		delete(c.inFlight, id)
	}
}
