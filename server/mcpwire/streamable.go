package mcpwire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server"
)

const (
	eventStream = "text/event-stream"
	// noSession is what an unknown session, and one of somebody else, gets with 404.
	noSession = "there is no such session, or no longer: begin another"
)

// streamable serves an endpoint of Streamable HTTP. Each request says by which
// revision it is made: up to 2025-11-25 a client has a session, which initialize
// begins; since 2026-07-28 it has none.
func (f *Front) streamable(w http.ResponseWriter, r *http.Request, at endpoint) {
	if r.Method == http.MethodPost {
		m, release, ok := f.receive(w, r)
		if ok {
			defer release()
			if m.method == methodListen { // it takes no room while it waits
				release()
			}
			f.post(w, r, at, m)
		}
		return
	}
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	switch {
	case mcp.IsModernProtocol(version):
		notAllowed(w, http.MethodPost)
	case r.Method == http.MethodGet:
		f.listen(w, r, at)
	case r.Method == http.MethodDelete:
		f.hangUp(w, r, at)
	default:
		notAllowed(w, "GET, POST, DELETE")
	}
}

// post handles a message.
func (f *Front) post(w http.ResponseWriter, r *http.Request, at endpoint, m message) {
	header, named := r.Header.Get(mcp.HeaderProtocolVersion), m.version()
	switch {
	case mcp.IsModernProtocol(header) || mcp.IsModernProtocol(named):
		f.postStateless(w, r, at, m)
	case m.method == string(mcp.MethodInitialize) && m.id != nil && r.Header.Get(mcp.HeaderSessionID) == "":
		f.begin(w, r, at, m)
	default:
		if c := f.client(w, r, at, m.id); c != nil {
			defer c.leave()
			f.postSession(w, r, c, m)
		}
	}
}

// client returns the client whose session a request names, entered. If there is
// none that has been answered.
func (f *Front) client(w http.ResponseWriter, r *http.Request, at endpoint, id json.RawMessage) *conn {
	session := sessionOf(w, r, id)
	if session == "" {
		return nil
	}
	c := f.sessions.enter(sessionKey{at, session}, f.idleSince())
	if c == nil {
		reject(w, http.StatusNotFound, &refusal{id, mcp.INVALID_REQUEST, noSession})
	}
	return c
}

// sessionOf returns the session that a request names. If it names none, "", that has
// been answered.
func sessionOf(w http.ResponseWriter, r *http.Request, id json.RawMessage) (session string) {
	if v := r.Header.Get(mcp.HeaderProtocolVersion); v != "" && !mcp.IsValidProtocolVersion(v) {
		reject(w, http.StatusBadRequest, &refusal{id, mcp.INVALID_REQUEST, "the protocol version is none of " + strings.Join(mcp.ValidProtocolVersions, ", ")})
		return ""
	}
	if session = r.Header.Get(mcp.HeaderSessionID); session == "" {
		reject(w, http.StatusBadRequest, &refusal{id, mcp.INVALID_REQUEST, mcp.HeaderSessionID + " is missing: initialize begins a session"})
	}
	return session
}

// begin handles initialize. The session exists if that succeeds.
func (f *Front) begin(w http.ResponseWriter, r *http.Request, at endpoint, m message) {
	out, ok := newReply(w, r)
	if !ok {
		return
	}
	defer out.close()
	c := f.connect(r, at, server.SessionConfig{})
	k, ctx := c.admit(r.Context(), m, out)
	defer c.forget(k)
	response := k.handle(ctx)
	if _, failed := response.(mcp.JSONRPCError); failed {
		c.end()
	} else if !f.sessions.add(at, c, f.server.cfg.MaxSessions) {
		c.end()
		out.plain(func(w http.ResponseWriter) { f.server.tooMany(w, m.id) })
		return
	} else {
		out.header(mcp.HeaderSessionID, c.key.id)
	}
	k.answer(response)
}

// tooMany answers a client that uses as many sessions as it may.
func (s *Server) tooMany(w http.ResponseWriter, id json.RawMessage) {
	w.Header().Set("Retry-After", "1")
	reject(w, http.StatusTooManyRequests, &refusal{id, mcp.INVALID_REQUEST, fmt.Sprintf(
		"this client uses %d sessions at a time, which is the limit: end one, or go on in one", s.cfg.MaxSessions)})
}

// postSession handles a message on a session.
func (f *Front) postSession(w http.ResponseWriter, r *http.Request, c *conn, m message) {
	if m.id != nil {
		// A client that is cut off may not have meant to end its call, which goes on.
		c.reply(context.WithoutCancel(r.Context()), w, r, m)
		return
	}
	c.take(m)
	w.WriteHeader(http.StatusAccepted)
}

// postStateless handles a message of 2026-07-28. A client cancels a call by
// closing the response, so that notifications/cancelled, by whoever, does nothing.
func (f *Front) postStateless(w http.ResponseWriter, r *http.Request, at endpoint, m message) {
	switch {
	case m.method == "":
		refuse(w, http.StatusBadRequest, "there are no requests of the server that a response could be to")
	case m.id == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		if refused := misfit(r.Header, m, f.clientOf(r).Server.handler.GetTool); refused != nil {
			reject(w, http.StatusBadRequest, refused)
			return
		}
		c := f.connect(r, at, server.SessionConfig{Stateless: true})
		if m.method == methodListen {
			go func() { f.watch(r, c.gone, nil); c.end() }()
		}
		defer c.end()
		c.reply(r.Context(), w, r, m)
	}
}

// misfit says in what the headers of a stateless request differ from its message,
// which they must repeat; those of its arguments that a tool wants there, too.
func misfit(h http.Header, m message, tool func(name string) *mcpserver.ServerTool) *refusal {
	header, named := h.Get(mcp.HeaderProtocolVersion), m.version()
	switch {
	case named == "":
		return &refusal{m.id, mcp.INVALID_PARAMS, "_meta " + mcp.MetaKeyProtocolVersion + " is missing"}
	case header != named:
		return &refusal{m.id, mcp.HEADER_MISMATCH, mcp.HeaderProtocolVersion + " must repeat _meta " + mcp.MetaKeyProtocolVersion}
	}
	var params struct {
		Params json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(m.raw, &params)
	if err == nil {
		err = mcp.ValidateStandardHeaders(h.Get, named, mcp.MCPMethod(m.method), params.Params)
	}
	if t := tool(m.tool); err == nil && t != nil && m.method == string(mcp.MethodToolsCall) {
		err = mcp.ValidateParamHeadersLookup(func(name string) (string, bool) {
			return h.Get(name), len(h.Values(name)) > 0
		}, &t.Tool, params.Params)
	}
	if err != nil {
		return &refusal{m.id, mcp.HEADER_MISMATCH, err.Error()}
	}
	return nil
}

// listen is the stream of what belongs to no request, or, for a client that says what
// it got last, of what came behind that. A client that waits there keeps its session.
func (f *Front) listen(w http.ResponseWriter, r *http.Request, at endpoint) {
	if !accepts(r, eventStream) {
		refuse(w, http.StatusNotAcceptable, "the client must accept "+eventStream)
		return
	}
	session := sessionOf(w, r, nil)
	if session == "" {
		return
	}
	key := sessionKey{at, session}
	c := f.sessions.enter(key, f.idleSince())
	if c != nil {
		defer c.leave()
	}
	if f.resume(w, r, key, c) {
		return
	}
	if c == nil {
		refuse(w, http.StatusNotFound, noSession)
		return
	}
	out := newEvents(w)
	defer out.close()
	out.open()
	defer c.carry(out)()
	f.watch(r, c.gone, out.broken)
}

// headerLastEvent names the last event that a client got of a stream which it was
// cut off from.
const headerLastEvent = "Last-Event-ID"

// resume goes on with a stream that a client was cut off from, and reports whether
// that is known: as one of c, its session, if that is there, or as one that is kept.
func (f *Front) resume(w http.ResponseWriter, r *http.Request, key sessionKey, c *conn) bool {
	id, n, ok := cutEvent(r.Header.Get(headerLastEvent))
	if !ok {
		return false
	}
	if c != nil {
		if p := c.replays.find(id); p != nil {
			f.follow(w, r, c, p, n)
			return true
		}
	}
	s := f.clientOf(r).Server
	text, ok := s.kept(r.Context(), s.keptKey(key.endpoint, key.id, id))
	if ok {
		out := newEvents(w)
		defer out.close()
		out.send(after(string(text), n))
	}
	return ok
}

// follow sends what came on a stream after an event, and what still comes.
func (f *Front) follow(w http.ResponseWriter, r *http.Request, c *conn, p *replay, n int) {
	out := newEvents(w)
	defer out.close()
	out.open()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			events, last, over, more := p.after(n)
			for _, text := range events {
				out.send(text)
			}
			if n = last; over {
				return
			}
			select {
			case <-more:
			case <-c.gone:
				return
			case <-out.broken:
				return
			case <-r.Context().Done():
				return
			}
		}
	}()
	f.watchUntil(r, ended, c.gone, out.broken)
}

// hangUp ends a session at its client's wish. What runs still finishes.
func (f *Front) hangUp(w http.ResponseWriter, r *http.Request, at endpoint) {
	c := f.client(w, r, at, nil)
	if c == nil {
		return
	}
	defer c.leave()
	c.end()
	w.WriteHeader(http.StatusNoContent)
}

// reply answers a request on the response to its POST; ctx is that of the call.
func (c *conn) reply(ctx context.Context, w http.ResponseWriter, r *http.Request, m message) {
	out, ok := newReply(w, r)
	if !ok {
		return
	}
	if !c.stateless {
		out.log = c.replays.begin()
	}
	defer out.close()
	k, ctx := c.admit(ctx, m, out)
	if k == nil {
		out.plain(func(w http.ResponseWriter) {
			reject(w, http.StatusNotFound, &refusal{m.id, mcp.INVALID_REQUEST, noSession})
		})
		return
	}
	defer c.forget(k)
	k.serve(ctx)
}
