package mcpwire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

const (
	// bodyTime is how long a client may take to send a message, and unreadTime
	// the rest of one that nobody reads.
	bodyTime   = time.Minute
	unreadTime = 5 * time.Second
)

// Front is MCP over HTTP: Streamable HTTP at /mcp, and the HTTP+SSE of 2024-11-05
// at /sse and /message. The same below the path of a workspace, as in
// /agents/demo/mcp, is bound to that. Whoever stands before it decides who is
// served, and says so with [WithClient].
type Front struct {
	server   *Server
	sessions sessions
	rooms    *rooms
	stopping chan struct{} // closed when streams have to end
	streams  atomic.Int64  // that are open
	// lingering are the sessions that wait for their clients to come back, as many as
	// away says.
	lingering sync.WaitGroup
	away      atomic.Int64
	told      atomic.Int64 // bytes that the threads remember
}

// NewFront returns a Front whose settings are those of a Server, which serves
// whoever is no Client.
func NewFront(s *Server) *Front {
	return &Front{
		server: s, sessions: newSessions(), stopping: make(chan struct{}),
		rooms: newRooms(),
	}
}

// Serve serves clients on this machine over HTTP until ctx ends, without
// authorization: every program that reaches the listener is served, so that it
// has to be on a loopback address. Pages in a browser are not.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	f := NewFront(s)
	return f.Serve(ctx, l, Local(f))
}

// Serve has a handler, behind which the front stands, serve a listener until ctx
// ends, once. Then running calls may finish, for the time of Config.Grace. The
// error is that of the listener, which is closed.
func (f *Front) Serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer f.lingering.Wait()
	sweeping.Go(func() { f.sweep(calls) })
	cfg := &f.server.cfg
	h := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	select {
	case err := <-served:
		close(f.stopping)
		return errors.Join(err, h.Close())
	case <-ctx.Done():
		close(f.stopping)
	}
	for _, patience := range [...]time.Duration{cfg.Grace, time.Second} {
		waiting, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
		err := h.Shutdown(waiting)
		stop()
		if err == nil {
			return nil
		}
		cancel()
		f.sessions.cancel()
	}
	cfg.Log.Warn("calls were still running at the end")
	h.Close() // what it closes is broken off anyway
	return nil
}

// sweep ends unused sessions from time to time, until ctx ends.
func (f *Front) sweep(ctx context.Context) {
	tick := time.NewTicker(max(f.server.cfg.Idle/16, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.sessions.sweep(f.idleSince())
		case <-ctx.Done():
			return
		}
	}
}

// idleSince is how long ago a session may have been used last.
func (f *Front) idleSince() time.Time { return f.server.cfg.Now().Add(-f.server.cfg.Idle) }

// ServeHTTP finds the endpoint of a request.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.SetWriteDeadline(time.Time{}) // that of an earlier response
	if r.ContentLength != 0 {             // a refusal does not wait for a body that nobody reads
		control.SetReadDeadline(time.Now().Add(unreadTime))
		w.Header().Set("Connection", "close")
	}
	door, bound, ok := doorOf(r.URL.Path)
	if fixed := f.server.cfg.Workspace; fixed != "" {
		ok = ok && (bound == "" || bound == fixed)
		bound = fixed
	}
	at := endpoint{door, bound, f.clientOf(r).standing()}
	switch {
	case !ok:
		http.NotFound(w, r)
	case door == doorMCP:
		f.streamable(w, r, at)
	case door == doorSSE:
		f.stream(w, r, at)
	default:
		at.door = doorSSE
		f.message(w, r, at)
	}
}

// doorOf splits the path of a URL into the door and the workspace it is bound to.
func doorOf(path string) (door string, bound workspace.ID, ok bool) {
	i := strings.LastIndexByte(path, '/')
	door = path[i+1:]
	if door != doorMCP && door != doorSSE && door != doorMessage {
		return "", "", false
	}
	if i <= 0 {
		return door, "", i == 0
	}
	bound, err := workspace.ParseID(path[:i])
	return door, bound, err == nil && string(bound) == path[:i]
}

// Local serves requests that were made on this machine, and refuses others.
func Local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !fromHere(r) {
			w.Header().Set("Connection", "close") // nobody reads the body
			refuse(w, http.StatusForbidden, "only programs on this machine are served: Host and Origin must be localhost or a loopback address")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// fromHere reports whether a request was made on this machine, and not by a page
// that a browser has from elsewhere: such a page may reach a loopback address by
// a name that it makes resolve to it, but has to say so.
func fromHere(r *http.Request) bool {
	if !server.IsLoopback(r.Host) {
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !server.IsLoopback(u.Host) {
			return false
		}
	}
	return true
}

// refuse answers a request that is not served, in words.
func refuse(w http.ResponseWriter, status int, text string) {
	reject(w, status, &refusal{code: mcp.INVALID_REQUEST, text: text})
}

// reject answers what is no valid message, or is not for whoever sent it.
func reject(w http.ResponseWriter, status int, r *refusal) {
	b, err := encode(r.response())
	if err != nil {
		panic("mcpwire: a refusal always encodes: " + err.Error())
	}
	writeJSON(w, status, b)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // a client that is gone gets nothing
}

// notAllowed answers a method that an endpoint does not have.
func notAllowed(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	refuse(w, http.StatusMethodNotAllowed, "the methods are "+methods)
}

// receive reads the message of a POST and takes room for it, which release gives
// back: one that never comes to its end takes none. What is none has been answered, and
// ok is false.
func (f *Front) receive(w http.ResponseWriter, r *http.Request) (m message, release func(), ok bool) {
	// A page may send other types to anywhere without asking.
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "the content type must be application/json")
		return message{}, nil, false
	}
	m, bulk, ok := f.read(w, r)
	who := f.clientOf(r).ID
	if !ok {
		f.rooms.give(who, bulk)
		return message{}, nil, false
	}
	leave, ok := f.rooms.enter(r.Context())
	if !ok {
		f.rooms.give(who, bulk)
		full(w, "requests")
		return message{}, nil, false
	}
	return m, sync.OnceFunc(func() {
		leave()
		f.rooms.give(who, bulk)
	}), true
}

// read reads the message of a POST, and takes bulk room as its bytes arrive.
func (f *Front) read(w http.ResponseWriter, r *http.Request) (m message, bulk int64, ok bool) {
	if r.ContentLength > int64(f.server.cfg.MaxMessage) {
		reject(w, http.StatusRequestEntityTooLarge, tooLong(nil, f.server.cfg.MaxMessage))
		return message{}, 0, false
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyTime))
	body := http.MaxBytesReader(w, r.Body, int64(f.server.cfg.MaxMessage))
	var raw bytes.Buffer
	_, err := io.CopyN(&raw, body, httpCost)
	for err == nil {
		if !f.rooms.take(r.Context(), f.clientOf(r).ID) {
			full(w, "large messages")
			return message{}, bulk, false
		}
		bulk += httpCost
		_, err = io.CopyN(&raw, body, httpCost)
	}
	control.SetReadDeadline(time.Time{}) // else the connection ends while the call runs
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		reject(w, http.StatusRequestEntityTooLarge, tooLong(nil, f.server.cfg.MaxMessage))
		return message{}, bulk, false
	case err != io.EOF:
		refuse(w, http.StatusBadRequest, "the message broke off")
		return message{}, bulk, false
	}
	if r.ContentLength > 0 { // else a proxy before us may see another end of the message
		w.Header().Del("Connection")
	}
	m, refused := parse(bytes.TrimSpace(raw.Bytes()))
	if refused != nil {
		reject(w, http.StatusBadRequest, refused)
		return message{}, bulk, false
	}
	return m, bulk, true
}
