package mcpwire

import (
	"crypto/rand"
	"sync"
	"time"

	"carrel.dev/workspace"
)

// endpoint is where a client began. Its session is known there and nowhere else.
type endpoint struct {
	door      string       // doorMCP or doorSSE
	workspace workspace.ID // that the endpoint is bound to; "" for none
	client    string       // who began there: nobody else knows the session
}

// The doors of an endpoint, by the last segments of their URLs.
const (
	doorMCP     = "mcp"     // Streamable HTTP
	doorSSE     = "sse"     // HTTP+SSE of 2024-11-05: the stream,
	doorMessage = "message" // and where its client posts
)

// sessionKey is a session where it began. The id is the client's secret: it is
// not that of the records, and is never logged.
type sessionKey struct {
	endpoint
	id string
}

// sessions are the clients that come back by an id. A restart forgets them.
type sessions struct {
	mu       sync.Mutex // guards what follows; taken before that of a conn
	byKey    map[sessionKey]*conn
	byThread map[sessionKey]*conn // those with a thread, by the id of that
	of       map[string]int       // how many whoever began them has
}

func newSessions() sessions {
	return sessions{byKey: map[sessionKey]*conn{}, byThread: map[sessionKey]*conn{}, of: map[string]int{}}
}

// add makes a client known by a key, which it has from then on. If whoever it is has
// most sessions, the one ends that was unused for longest; it reports false if all are
// in use.
func (s *sessions) add(at endpoint, c *conn, most int) bool {
	c.key = sessionKey{at, rand.Text()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[at.client] >= most && !s.endOldest(at.client) {
		return false
	}
	s.byKey[c.key] = c
	if c.thread != nil {
		s.byThread[sessionKey{at, c.thread.id}] = c
	}
	s.of[at.client]++
	return true
}

// endOldest ends the unused session of somebody that was used last before the others,
// and reports whether there was one. The caller holds mu.
func (s *sessions) endOldest(client string) bool {
	var oldest *conn
	var used time.Time
	for key, c := range s.byKey {
		if key.client != client {
			continue
		}
		if at, unused := c.unusedSince(); unused && (oldest == nil || at.Before(used)) {
			oldest, used = c, at
		}
	}
	if oldest == nil || !oldest.endIfUnused(used) {
		return false
	}
	s.drop(oldest)
	return true
}

// drop makes a client unknown. The caller holds mu.
func (s *sessions) drop(c *conn) {
	if _, ok := s.byKey[c.key]; !ok {
		return
	}
	delete(s.byKey, c.key)
	if c.thread != nil {
		delete(s.byThread, sessionKey{c.key.endpoint, c.thread.id})
	}
	if s.of[c.key.client]--; s.of[c.key.client] == 0 {
		delete(s.of, c.key.client)
	}
}

// withThread returns the client of a thread, or nil.
func (s *sessions) withThread(key sessionKey) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byThread[key]
}

// enter returns the client of a key, entered, or nil: if there is none, or it has
// not been used since a time.
func (s *sessions) enter(key sessionKey, since time.Time) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.byKey[key]; c != nil && !c.endIfUnused(since) && c.enter() {
		return c
	}
	return nil
}

// remove makes a client unknown.
func (s *sessions) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
}

// sweep ends and removes the clients that have not been used since a time.
func (s *sessions) sweep(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byKey {
		if c.endIfUnused(since) {
			s.drop(c)
		}
	}
}

// cancel ends all clients and cancels their calls.
func (s *sessions) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byKey {
		c.end()
		c.cancelAll()
	}
}
