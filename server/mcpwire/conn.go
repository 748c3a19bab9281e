package mcpwire

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// conn is one client: its session, and what of it is being handled. A request of
// the stateless revision is a client of its own.
type conn struct {
	server    *Server
	session   *server.Session
	stateless bool              // its calls are bound by their arguments only
	grants    *workspace.Grants // what it may do; nil: everything
	stream    sink              // where all answers go; nil if each goes with its request
	answers   chan struct{}     // has an item for each call on the stream
	work      chan func()       // takes a job while somebody waits for one
	gone      chan struct{}     // closed by end
	over      chan struct{}     // closed once the client is gone and nothing of it runs
	subs      *subscriptions    // of the session
	key       sessionKey        // by which it comes back over HTTP; zero if it does not
	thread    *thread           // the stream of a client of HTTP+SSE, else nil
	replays   replays
	questions questions // that it was asked
	carrying  sync.Once // what changes goes out on the stream

	mu       sync.Mutex // guards what follows
	client   string
	greeted  bool               // initialize was answered
	inFlight map[string][]*call // by id; a client may reuse one too early
	running  int                // requests and streams
	ended    bool
	used     time.Time // when something last ran
	// turn is closed when the last call that binds the session, of those admitted
	// so far, is over.
	turn chan struct{}
}

// connect begins a client's session; the tools that it has are those of the server.
func (s *Server) connect(session *server.SessionConfig) *conn {
	session.Tools = server.ToolSet(s.cfg.Tools)
	c := &conn{
		server: s, stateless: session.Stateless, grants: session.Grants,
		session:  s.desk.Open(session),
		work:     make(chan func()),
		gone:     make(chan struct{}),
		over:     make(chan struct{}),
		inFlight: map[string][]*call{},
		turn:     make(chan struct{}),
	}
	close(c.turn)
	c.subs = newSubscriptions(c.session)
	c.subs.start = c.carryOnStream
	if s.cfg.Keep != nil {
		c.replays.store = func(id, text string) bool {
			return s.keep(s.keptKey(c.key.endpoint, c.key.id, id), []byte(text))
		}
	}
	return c
}

func (c *conn) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// greet notes that the client has said who it is.
func (c *conn) greet(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client, c.greeted = name, true
}

func (c *conn) isGreeted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeted
}

// enter reports whether something may still run for the client; then leave is
// called when it is over.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enterLocked()
}

func (c *conn) enterLocked() bool {
	if c.ended {
		return false
	}
	c.running++
	return true
}

func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.used = c.server.cfg.Now()
	c.settle()
}

// end says that the client is gone: what runs may finish, and nothing more begins.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
}

func (c *conn) endLocked() {
	if !c.ended {
		c.ended = true
		close(c.gone)
		c.settle()
	}
}

// settle closes the session when its last request is over. c.mu is held.
func (c *conn) settle() {
	if c.ended && c.running == 0 {
		c.session.Close()
		close(c.over)
	}
}

// unusedSince says when something last ran for a client, if nothing does now.
func (c *conn) unusedSince() (used time.Time, unused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.running == 0
}

// endIfUnused ends a client that nothing runs for and nothing ran for since a
// time, and reports whether it is over, by this or before.
func (c *conn) endIfUnused(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == 0 && !c.used.After(since) {
		c.endLocked()
	}
	return c.ended && c.running == 0
}

// finish ends the client and waits for what runs, at last for its being
// cancelled. When broken is closed, it waits no longer.
func (c *conn) finish(broken <-chan struct{}) {
	c.end()
	for _, patience := range [...]time.Duration{c.server.cfg.Grace, time.Second} {
		select {
		case <-c.over:
			return
		case <-broken:
			return
		case <-time.After(patience):
			c.cancelAll()
		}
	}
	c.server.cfg.Log.Warn("calls were still running at the end", "session", c.session.ID())
}

// start handles a request beside others, answers it on the stream, and
// calls over at the end. What follows initialize may depend on it, so that is
// handled at once and only answered there.
func (c *conn) start(ctx context.Context, m message, over func()) {
	k, ctx := c.admit(ctx, m, c.stream)
	if k == nil {
		over()
		return
	}
	if m.method == methodListen { // it takes no room while it waits
		over = sync.OnceFunc(over)
		over()
	}
	var ready mcp.JSONRPCMessage
	if m.method == string(mcp.MethodInitialize) {
		ready = k.handle(ctx)
	}
	c.run(func() {
		defer over()
		defer c.forget(k)
		if ready == nil {
			k.serve(ctx)
		} else {
			k.answer(ready)
		}
		if c.thread != nil {
			c.remember()
		}
	})
}

// workerRest is how long a goroutine that has run a job waits for another one.
const workerRest = time.Second

// run runs a job in a goroutine of its own: one that waits, whose stack has grown
// to what jobs need, or a new one.
func (c *conn) run(job func()) {
	select {
	case c.work <- job:
	default:
		go c.runAll(job)
	}
}

// runAll runs a job, and those that come while it waits.
func (c *conn) runAll(job func()) {
	rest := time.NewTimer(workerRest)
	defer rest.Stop()
	for {
		job()
		rest.Reset(workerRest)
		select {
		case job = <-c.work:
		case <-rest.C:
			return
		case <-c.gone:
			return
		}
	}
}

// admit makes a call of a request, which notifications/cancelled can end; nil if
// the client is gone. Then forget ends the bookkeeping.
func (c *conn) admit(ctx context.Context, m message, out sink) (*call, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.enterLocked() {
		return nil, ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	k := &call{conn: c, message: m, out: out, cancel: cancel}
	if m.method == string(mcp.MethodToolsCall) {
		k.after = c.turn
		if t, ok := c.session.Tool(m.tool); ok && server.Binds(t) {
			k.turn = make(chan struct{})
			c.turn = k.turn
		}
	}
	c.inFlight[string(m.id)] = append(c.inFlight[string(m.id)], k)
	return k, ctx
}

// take takes a message that is no request.
func (c *conn) take(m message) {
	switch m.method {
	case "":
		c.questions.answer(m)
	case string(mcp.MethodNotificationCancelled):
		c.cancel(m.cancels)
	}
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

// cancelAll tells all calls to stop. They are still answered.
func (c *conn) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, calls := range c.inFlight {
		for _, k := range calls {
			k.cancel()
		}
	}
}

// forget ends the bookkeeping of a call.
func (c *conn) forget(k *call) {
	k.cancel()
	if k.turn != nil {
		close(k.turn)
	}
	defer c.leave()
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
