package mcpwire

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"carrel.dev/server"
)

// The HTTP+SSE of 2024-11-05: a client opens a stream, is told on it where to
// post, and gets there what its requests lead to. One that is cut off opens another
// stream, and says by Last-Event-ID what it got last; it may not know that it does,
// since that is what EventSource does in a browser.

// maxAnswers is how many calls of a client run or wait for it to read their
// answers. Its further messages wait, so that one that never reads fills no memory.
const maxAnswers = 16

// sessionParam is the parameter of a URL that names the session.
const sessionParam = "sessionId"

// stream serves a client as long as its stream is open, and then for as long as it may
// come back.
func (f *Front) stream(w http.ResponseWriter, r *http.Request, at endpoint) {
	if r.Method != http.MethodGet {
		notAllowed(w, http.MethodGet)
		return
	}
	if !accepts(r, eventStream) {
		refuse(w, http.StatusNotAcceptable, "the client must accept "+eventStream)
		return
	}
	c, carrier, n := f.meet(r, at)
	if c == nil {
		f.server.tooMany(w, nil)
		return
	}
	out := newEvents(w)
	defer out.close()
	post := url.URL{Path: string(at.workspace) + "/" + doorMessage, RawQuery: url.Values{sessionParam: {c.key.id}}.Encode()}
	out.send(eventText(c.thread.id, n, "endpoint", []byte(post.String()+"\n")))
	done := make(chan struct{})
	defer close(done)
	go c.speak(out, carrier, n, done)
	left := f.watchUntil(r, carrier, nil, out.broken)
	if left {
		c.thread.detach(carrier)
	}
	if !left || !f.linger(c, carrier) {
		f.part(c, carrier)
	}
}

// speak sends the thread on a response, from behind message n on, until the response
// is done or broken, or does not carry it any more.
func (c *conn) speak(out *events, carrier chan struct{}, n int, done <-chan struct{}) {
	t := c.thread
	defer t.detach(carrier)
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		message, more := t.next(carrier, n)
		if message != nil {
			if n++; !out.send(eventText(t.id, n, "message", message)) || !t.carried(carrier, n) {
				return
			}
			continue
		}
		select {
		case <-more:
		case now := <-tick.C:
			t.forget(now.Add(-threadTime))
			c.remember()
		case <-carrier:
			return
		case <-out.broken:
			return
		case <-done:
			return
		}
	}
}

// meet returns the session that a stream belongs to, entered, and behind which message
// the stream goes on. It is the one whose client says what it got last, if nothing is
// missing since; one in its place, if that one is over; or a new one. It is nil if the
// client uses as many sessions as it may.
func (f *Front) meet(r *http.Request, at endpoint) (c *conn, carrier chan struct{}, n int) {
	id, n, ok := cutEvent(r.Header.Get(headerLastEvent))
	if ok {
		c, carrier, ok = f.takeOver(r, sessionKey{at, id}, n)
		if c != nil {
			return c, carrier, n
		}
	}
	if ok {
		c = f.revive(r, at, id, n)
	}
	if c == nil {
		c = f.connect(r, at, server.SessionConfig{})
		c.begin(newThread(&f.told))
	}
	c.enter()
	carrier, _ = c.thread.attach(0)
	if !f.sessions.add(at, c, f.server.cfg.MaxSessions) {
		c.end()
		c.leave()
		return nil, nil, 0
	}
	return c, carrier, 0
}

// begin makes a thread the stream of a client.
func (c *conn) begin(t *thread) {
	c.thread, c.stream, c.answers = t, t, make(chan struct{}, maxAnswers)
}

// takeOver has a stream carry the thread of a session that is there. If there is none,
// revivable says that one may be kept: an old one, of a session that has just ended.
func (f *Front) takeOver(r *http.Request, key sessionKey, n int) (c *conn, carrier chan struct{}, revivable bool) {
	c = f.sessions.withThread(key)
	if c == nil {
		return nil, nil, true
	}
	if c.enter() {
		if carrier, ok := c.thread.attach(n); ok {
			return c, carrier, false
		}
		c.leave()
	}
	if !c.thread.hasEnded() {
		return nil, nil, false // what is kept is older than what is there
	}
	select {
	case <-c.thread.over:
		return nil, nil, true
	case <-r.Context().Done():
		return nil, nil, false
	}
}

// maxAway is how many sessions wait for their clients to come back.
const maxAway = 1024

// linger has a session wait for its client to come back, and parts with it if it does
// not. It reports false if the session does not wait.
func (f *Front) linger(c *conn, carrier chan struct{}) bool {
	select {
	case <-f.stopping:
		return false
	default:
	}
	if !c.isGreeted() {
		return false
	}
	if f.away.Add(1) > maxAway {
		f.away.Add(-1)
		return false
	}
	f.lingering.Go(func() {
		defer f.away.Add(-1)
		t := time.NewTimer(c.server.cfg.Linger)
		defer t.Stop()
		select {
		case <-t.C:
		case <-carrier: // it is back on another stream
		case <-f.stopping:
		}
		f.part(c, carrier)
	})
	return true
}

// part ends the session that a stream was of, unless another stream is: what runs may
// finish, and what its client has not got then is kept.
func (f *Front) part(c *conn, carrier chan struct{}) {
	last := c.thread.end(carrier)
	c.leave()
	if !last {
		return
	}
	c.finish(nil)
	c.keep()
	f.sessions.remove(c)
	close(c.thread.over)
	c.thread.clear()
}

// message takes what a client posts.
func (f *Front) message(w http.ResponseWriter, r *http.Request, at endpoint) {
	if r.Method != http.MethodPost {
		notAllowed(w, http.MethodPost)
		return
	}
	id := r.URL.Query().Get(sessionParam)
	if id == "" {
		refuse(w, http.StatusBadRequest, sessionParam+" is missing: the event endpoint of "+doorSSE+" names it")
		return
	}
	c := f.sessions.enter(sessionKey{at, id}, f.idleSince())
	if c == nil {
		refuse(w, http.StatusNotFound, noSession)
		return
	}
	defer c.leave()
	m, release, ok := f.receive(w, r)
	if !ok {
		return
	}
	if m.id != nil {
		select {
		case c.answers <- struct{}{}:
		case <-r.Context().Done():
			release()
			return
		case <-c.gone:
			release()
			refuse(w, http.StatusNotFound, noSession)
			return
		}
		c.start(context.WithoutCancel(r.Context()), m, func() {
			<-c.answers
			release()
		})
	} else {
		release()
		c.take(m)
	}
	w.WriteHeader(http.StatusAccepted)
}
