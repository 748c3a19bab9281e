package mcpwire

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server"
)

// methodListen is the request of 2026-07-28 that is answered by a stream.
const methodListen = string(mcp.MethodSubscriptionsListen)

// IsStream reports whether a request is answered by a stream that stays open. One
// that only says so is refused.
func IsStream(r *http.Request) bool {
	return r.Method == http.MethodGet ||
		mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) && r.Header.Get(mcp.HeaderMethod) == methodListen
}

// theList stands in an outbox for the list of resources, which has no URI.
const theList = ""

// subscriptions are what one stream, or one session, is told of.
type subscriptions struct {
	session *server.Session
	out     *outbox
	start   func() // runs at the first subscription; nil for nothing

	mu    sync.Mutex        // guards what follows
	stops map[string]func() // by URI, or theList; nil while it begins
}

func newSubscriptions(session *server.Session) *subscriptions {
	return &subscriptions{session: session, out: newOutbox(), stops: map[string]func(){}}
}

// add subscribes to a resource, once.
func (s *subscriptions) add(ctx context.Context, a server.Asked) error {
	return s.begin(a.URI, func(told func()) (func(), error) { return s.session.Watch(ctx, a, told) })
}

// addList subscribes to the list of resources, once.
func (s *subscriptions) addList(ctx context.Context, a server.Asked) error {
	return s.begin(theList, func(told func()) (func(), error) { return s.session.WatchOffers(ctx, a, told) })
}

func (s *subscriptions) begin(what string, watch func(told func()) (func(), error)) error {
	s.mu.Lock()
	_, known := s.stops[what]
	if !known {
		s.stops[what] = nil
	}
	s.mu.Unlock()
	if known {
		return nil
	}
	stop, err := watch(func() { s.told(what) })
	s.mu.Lock()
	_, wanted := s.stops[what] // else it was removed meanwhile
	switch {
	case err != nil:
		delete(s.stops, what)
	case wanted:
		s.stops[what] = stop
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		return err
	case !wanted:
		stop()
	case s.start != nil:
		s.start()
	}
	return nil
}

// told puts a change in the outbox, unless nobody wants it any more.
func (s *subscriptions) told(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, wanted := s.stops[what]; wanted {
		s.out.put(what)
	}
}

// remove ends a subscription, if there is one.
func (s *subscriptions) remove(what string) {
	s.mu.Lock()
	stop := s.stops[what]
	delete(s.stops, what)
	s.out.drop(what)
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (s *subscriptions) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.stops))
}

// pump sends what changes, until stop is closed.
func (o *outbox) pump(stop <-chan struct{}, send func(what string)) {
	for {
		select {
		case <-stop:
			return
		case <-o.ready:
		}
		if what, ok := o.take(); ok {
			send(what)
		}
	}
}

// changed is the notification of a change. The id is that of the request which
// asked for it, nil for none.
func (s *Server) changed(what string, subscription any) []byte {
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = string(mcp.MethodNotificationResourceUpdated)
	if what == theList {
		n.Method = mcp.MethodNotificationResourcesListChanged
	} else {
		n.Params.AdditionalFields = map[string]any{"uri": what}
	}
	if subscription != nil {
		n.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: subscription}
	}
	return s.encoded(n)
}

// carry has a stream of the client's carry what changes, until stop is called. What
// the stream before may have lost is told again. Of several streams, any one
// carries it.
func (c *conn) carry(out *events) (stop func()) {
	end := make(chan struct{})
	c.subs.out.redo()
	go c.subs.out.pump(end, func(what string) { out.note(c.server.changed(what, nil)) })
	return func() { close(end) }
}

// carryOnStream has the stream of all answers carry what changes, until the client
// is gone. Writing counts as something that runs.
func (c *conn) carryOnStream() {
	if c.stream == nil {
		return // a client of Streamable HTTP opens a stream for it
	}
	c.carrying.Do(func() {
		if c.enter() {
			go func() {
				defer c.leave()
				c.subs.out.pump(c.gone, func(what string) { c.stream.note(c.server.changed(what, nil)) })
			}()
		}
	})
}

// peer, for mcp-go, subscribes. What is subscribed to by subscriptions/listen ends
// with that request.
var (
	_ mcpserver.SessionWithResourceSubscriptionsErr = (*peer)(nil)
	_ mcpserver.SessionWithSubscriptionFilter       = (*peer)(nil)
)

// SubscribeToResourceErr subscribes. The request that fails is answered by the call.
func (p *peer) SubscribeToResourceErr(uri string) error {
	p.call.uri, p.call.asked.URI = uri, uri
	return p.call.fail(p.subs.add(p.ctx(), p.call.asked))
}

func (p *peer) SubscribeToResource(uri string)     { p.SubscribeToResourceErr(uri) }
func (p *peer) UnsubscribeFromResource(uri string) { p.subs.remove(uri) }
func (p *peer) SubscribedResources() []string      { return p.subs.all() }

func (p *peer) IsSubscribedToResource(uri string) bool { return slices.Contains(p.subs.all(), uri) }

// SetSubscriptionFilter takes what subscriptions/listen may be told of apart from
// single resources.
func (p *peer) SetSubscriptionFilter(f mcp.SubscriptionFilter) {
	p.filter = f
	if !f.ResourcesListChanged {
		p.subs.remove(theList)
	} else if p.call.fail(p.subs.addList(p.ctx(), p.call.asked)) != nil {
		p.call.cancel() // mcp-go would go on
	}
}

func (p *peer) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	return p.filter, !p.filter.IsEmpty()
}

// listen sends what mcp-go notifies while it handles subscriptions/listen, which is
// that it has begun, and from then on what changes. The call is told to end with the
// client and the server. It goes on until stop is called.
func (k *call) listen(p *peer) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	send := func(message []byte) {
		if !k.silent.Load() {
			k.out.note(message)
		}
	}
	go func() {
		defer close(ended)
		select {
		case n := <-p.notes:
			send(k.conn.server.encoded(n))
		case <-end:
			return
		}
		p.subs.out.pump(end, func(what string) { send(k.conn.server.changed(what, k.message.id)) })
	}()
	go func() {
		select {
		case <-k.conn.gone:
		case <-end:
		}
		k.cancel()
	}()
	return func() {
		close(end)
		<-ended
	}
}
