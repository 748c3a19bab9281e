package mcpwire

import (
	"context"
	"net/http"
	"net/url"
)

// The HTTP+SSE of 2024-11-05: a client opens a stream, is told on it where to
// post, and gets there what its requests lead to.

// maxAnswers is how many calls of a client run or wait for it to read their
// answers. Its further messages wait, so that one that never reads fills no memory.
const maxAnswers = 16

// sessionParam is the parameter of a URL that names the session.
const sessionParam = "sessionId"

// stream serves a client as long as its stream is open.
func (f *Front) stream(w http.ResponseWriter, r *http.Request, at endpoint) {
	if r.Method != http.MethodGet {
		notAllowed(w, http.MethodGet)
		return
	}
	if !accepts(r, eventStream) {
		refuse(w, http.StatusNotAcceptable, "the client must accept "+eventStream)
		return
	}
	out := newEvents(w)
	defer out.close()
	c := f.connect(r, at, false)
	c.stream, c.answers = out, make(chan struct{}, maxAnswers)
	c.enter() // for as long as the stream is open
	key := f.sessions.add(at, c)
	defer f.sessions.remove(key)
	post := url.URL{Path: string(at.workspace) + "/" + doorMessage, RawQuery: url.Values{sessionParam: {key.id}}.Encode()}
	out.event("endpoint", []byte(post.String()+"\n"))
	f.watch(r, nil, out.broken)
	c.leave()
	c.finish(nil)
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
