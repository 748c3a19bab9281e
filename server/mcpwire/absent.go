package mcpwire

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// absent is a session of HTTP+SSE as it is kept for a client that comes back when it is
// there no more. The client does not know, and does not initialize another one.
type absent struct {
	Client   string            `json:"client,omitempty"` // its program
	Greeted  bool              `json:"greeted,omitempty"`
	Start    workspace.ID      `json:"start,omitempty"`
	Rivals   []workspace.ID    `json:"rivals,omitempty"`
	Watched  []string          `json:"watched,omitempty"` // as in an outbox
	Lost     int               `json:"lost,omitempty"`    // messages before those that follow
	Messages []json.RawMessage `json:"messages,omitempty"`
}

// absent is the session as it is now, without messages.
func (c *conn) absent() *absent {
	a := &absent{Client: c.name(), Greeted: c.isGreeted(), Watched: c.subs.all()}
	a.Start, a.Rivals = c.session.Bound()
	slices.Sort(a.Watched)
	return a
}

// remember keeps the session for the case that the process ends without a word, if it
// is not what was kept before, or that was long ago.
func (c *conn) remember() {
	t, cfg := c.thread, &c.server.cfg
	if cfg.Keep == nil {
		return
	}
	t.keeping.Lock()
	defer t.keeping.Unlock()
	as := string(c.server.encoded(c.absent()))
	if now := cfg.Now(); as != t.kept || now.Sub(t.keptAt) > cfg.Idle/2 {
		t.kept, t.keptAt = as, now
		c.keepLocked()
	}
}

// keep keeps the session with what its client may not have got. One that has begun with
// nothing is not worth it.
func (c *conn) keep() {
	c.thread.keeping.Lock()
	defer c.thread.keeping.Unlock()
	c.keepLocked()
}

func (c *conn) keepLocked() {
	a := c.absent()
	if !a.Greeted || c.server.cfg.Keep == nil {
		return
	}
	var messages [][]byte
	messages, a.Lost = c.thread.remembered(replayBytes)
	for _, m := range messages {
		a.Messages = append(a.Messages, m)
	}
	c.server.keep(c.server.keptKey(c.key.endpoint, c.thread.id), c.server.encoded(a))
}

// revive begins a session in the place of one that is over, with what its client did
// not get, or returns nil: none is kept, or something is missing since message n.
func (f *Front) revive(r *http.Request, at endpoint, id string, n int) *conn {
	s := f.clientOf(r).Server
	b, ok := s.kept(r.Context(), s.keptKey(at, id))
	var a absent
	if !ok || json.Unmarshal(b, &a) != nil || n < a.Lost {
		return nil
	}
	var missed [][]byte
	for _, m := range a.Messages[min(n-a.Lost, len(a.Messages)):] {
		missed = append(missed, append(m, '\n'))
	}
	c := f.connect(r, at, server.SessionConfig{Start: a.Start, Rivals: a.Rivals})
	c.begin(newThread(&f.told, missed...))
	if a.Greeted {
		c.greet(a.Client)
	}
	if len(a.Watched) > 0 && c.enter() {
		c.run(func() {
			defer c.leave()
			c.watchAgain(context.WithoutCancel(r.Context()), a.Watched)
		})
	}
	return c
}

// watchAgain subscribes to what a session before was subscribed to. Its client is told
// of all of it: nobody has watched in between.
func (c *conn) watchAgain(ctx context.Context, watched []string) {
	for _, what := range watched {
		asked := server.Asked{URI: what, Client: c.name()}
		add := c.subs.add
		if what == theList {
			add = c.subs.addList
		}
		if err := add(ctx, asked); err != nil {
			c.server.cfg.Log.InfoContext(ctx, "a resource is not watched any more", "err", err)
		}
		c.subs.told(what)
	}
}
