package mcpwire

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// Client is who makes a request over HTTP, as whoever let it in knows it.
type Client struct {
	ID string // names it in records and logs; no secret
	// Standing is who it is with all that it may do: a session that one began is
	// known to nobody of another standing. Default: ID.
	Standing string
	Actor    workspace.Signature // whom its commits name
	Grants   *workspace.Grants   // what it may do; nil: everything
	Server   *Server             // of its project
	// Good reports why what let it in does so no longer: it was revoked, or has
	// expired. Streams that are open are ended then. Nil: it stays good.
	Good func(ctx context.Context) error
}

type clientKey struct{}

// WithClient returns a context whose requests are made by a client.
func WithClient(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// clientOf returns who makes a request: whoever is on this machine, if nobody says.
func (f *Front) clientOf(r *http.Request) *Client {
	if c, ok := r.Context().Value(clientKey{}).(*Client); ok {
		return c
	}
	return &Client{Actor: f.server.cfg.Actor, Server: f.server}
}

// standing is what keys a client's sessions.
func (c *Client) standing() string { return cmp.Or(c.Standing, c.ID) }

// connect begins a session for who makes a request; c says what else is known of it.
func (f *Front) connect(r *http.Request, at endpoint, c server.SessionConfig) *conn {
	who := f.clientOf(r)
	c.Actor, c.Principal, c.Grants, c.Workspace = who.Actor, who.ID, who.Grants, at.workspace
	return who.Server.connect(&c)
}

// ClientID names who makes a request; "" is whoever is on this machine.
func ClientID(r *http.Request) string {
	if c, ok := r.Context().Value(clientKey{}).(*Client); ok {
		return c.ID
	}
	return ""
}

// Sessions is how many clients come back by an id.
func (f *Front) Sessions() int {
	f.sessions.mu.Lock()
	defer f.sessions.mu.Unlock()
	return len(f.sessions.byKey)
}

// Streams is how many streams are open.
func (f *Front) Streams() int { return int(f.streams.Load()) }

// recheck is how often an open stream asks whether its client is still good.
const recheck = 2 * time.Second

// watch waits until a stream has to end: its client has gone or is good no longer,
// or the server stops.
func (f *Front) watch(r *http.Request, gone, broken <-chan struct{}) {
	f.watchUntil(r, nil, gone, broken)
}

// watchUntil is watch of a stream that may also end by itself. It reports whether the
// client has left.
func (f *Front) watchUntil(r *http.Request, ended, gone, broken <-chan struct{}) (left bool) {
	f.streams.Add(1)
	defer f.streams.Add(-1)
	who := f.clientOf(r)
	var tick <-chan time.Time
	if who.Good != nil {
		t := time.NewTicker(recheck)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ended:
		case <-gone:
		case <-broken:
			left = true
		case <-r.Context().Done():
			left = true
		case <-f.stopping:
		case <-tick:
			if who.Good(r.Context()) == nil {
				continue
			}
		}
		return left
	}
}
