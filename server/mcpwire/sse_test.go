package mcpwire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel.dev/server"
	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

const (
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	readNote    = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"readFile","arguments":{"path":"note"}}}`
)

// source is a stream of HTTP+SSE with the ids of its events, and what opened it: a
// client that is cut off by cut, and comes back by again.
type source struct {
	web     *web
	headers []string
	path    string // where to post
	last    string // id of the last event
	events  chan event
	cut     context.CancelFunc
}

// source opens a stream, behind the event last, "" for none.
func (w *web) source(path, last string, headers ...string) *source {
	w.t.Helper()
	ctx, cut := context.WithCancel(context.Background())
	w.t.Cleanup(cut)
	s := &source{web: w, headers: headers, events: make(chan event, 10_000), cut: cut}
	if last != "" {
		headers = append(slices.Clone(headers), "Last-Event-ID: "+last)
	}
	res, err := http.DefaultClient.Do(w.request(ctx, http.MethodGet, path, "", headers...))
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("open a stream: %+v, %v", res, err)
	}
	go func() {
		defer close(s.events)
		defer res.Body.Close()
		for e := range eventsOf(res) {
			s.events <- e
		}
	}()
	if e := s.event(); e.name != "endpoint" {
		w.t.Fatalf("the first event is %+v", e)
	} else {
		s.path = e.data
	}
	return s
}

// event is the next event; it is empty at the end of the stream.
func (s *source) event() event {
	s.web.t.Helper()
	e := wait(s.web.t, s.events)
	if e.id != "" {
		s.last = e.id
	}
	return e
}

// next is the next message.
func (s *source) next() response {
	s.web.t.Helper()
	m := response{line: s.event().data}
	if err := json.Unmarshal([]byte(m.line), &m); err != nil {
		s.web.t.Fatalf("%v in %q", err, m.line)
	}
	return m
}

func (s *source) post(body string) answer {
	s.web.t.Helper()
	return s.web.do(http.MethodPost, s.path, body, s.headers...)
}

// ask sends a request, and returns the next message.
func (s *source) ask(body string) response {
	s.web.t.Helper()
	if a := s.post(body); a.status != http.StatusAccepted {
		s.web.t.Fatalf("%+v to %s", a, body)
	}
	return s.next()
}

// ok calls a tool, which must succeed, and returns its text.
func (s *source) ok(tool, args string) string {
	s.web.t.Helper()
	m := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args))
	res := m.decode(s.web.t)
	if res.IsError {
		s.web.t.Fatalf("%s %s: %s", tool, args, m.line)
	}
	return res.Content[0].Text
}

// gatedStatus is a server on which git.status stops at a gate.
func gatedStatus(t *testing.T, g *gate) *mcpwire.Config {
	t.Cleanup(g.release)
	return &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}),
		Run: func(ctx context.Context, tool *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
			if tool.Name == "git.status" {
				if err := g.pass(ctx); err != nil {
					return nil, err
				}
			}
			return server.Run(ctx, tool, c, raw)
		},
	}
}

// TestStreamThatBreaks cuts clients off while calls of theirs run. Whoever comes back
// has the same session, and gets what it missed, in order.
func TestStreamThatBreaks(t *testing.T) {
	g := newGate()
	w := serveOthers(t, gatedStatus(t, g))
	s := w.source("/sse", "")
	begun := s.last
	s.ask(fmt.Sprintf(initialize, "example"))
	s.ok("workspace.create", `{"path":"/agents/a"}`)
	s.cut()
	for i := range 3 { // while nobody listens
		if a := s.post(fmt.Sprintf(gitStatus, fmt.Sprint(i))); a.status != http.StatusAccepted {
			t.Errorf("while the stream is broken: %+v", a)
		}
	}
	g.wait(t, 3)
	g.release()
	again := w.source("/sse", s.last)
	if again.path != s.path || again.last != s.last {
		t.Errorf("the session is %s at %s, and was %s at %s", again.path, again.last, s.path, s.last)
	}
	answered := map[string]bool{}
	for range 3 {
		m := again.next()
		answered[string(m.ID)] = !m.decode(t).IsError
	}
	if len(answered) != 3 {
		t.Errorf("answered are %v", answered)
	}
	again.ok("writeFile", `{"path":"f","content":"x"}`)

	// Behind an earlier event comes what was sent since, a second time, unless the
	// client has said that it got that.
	older := w.source("/sse", s.last)
	var ids []string
	for range 4 {
		ids = append(ids, older.event().id)
	}
	if !slices.IsSorted(ids) || older.last != again.last {
		t.Errorf("a second time came %q, and at first up to %s", ids, again.last)
	}
	if e := again.event(); e.id != "" {
		t.Errorf("the stream in whose place another one is goes on with %+v", e)
	}
	if fresh := w.source("/sse", begun); fresh.path == s.path {
		t.Error("a client comes back behind an event that is remembered no more")
	}
	if got := older.ask(ping); string(got.ID) != `"p"` {
		t.Errorf("afterwards comes %s", got.line)
	}
}

// TestStreamOfSomebodyElse asks for what another client missed.
func TestStreamOfSomebodyElse(t *testing.T) {
	cfg := gatedStatus(t, newGate())
	cfg.Keep = newKeeper(t)
	w := serveOthers(t, cfg)
	s := w.source("/sse", "")
	s.ask(fmt.Sprintf(initialize, "example"))
	last := s.last
	s.ok("workspace.create", `{"path":"/agents/a"}`)
	s.ok("writeFile", `{"path":"note","content":"secret"}`)
	try := func(when string) {
		t.Helper()
		stream, n, _ := strings.Cut(last, "-")
		for name, other := range map[string]*source{
			"another client":        w.source("/sse", last, standing+": other"),
			"another endpoint":      w.source("/agents/b/sse", last),
			"another stream":        w.source("/sse", "A"+stream+"-"+n),
			"an event yet to come":  w.source("/sse", stream+"-9"),
			"no number":             w.source("/sse", stream),
			"the session as stream": w.source("/sse", strings.TrimPrefix(s.path, "/message?sessionId=")+"-"+n),
		} {
			if when == "after a restart" && name == "an event yet to come" { // it may have come
				continue
			}
			if m := other.ask(ping); other.path == s.path || string(m.ID) != `"p"` {
				t.Errorf("%s, %s: at %s came %s", when, name, other.path, m.line)
			}
			if m := other.ask(readNote); !m.decode(t).IsError {
				t.Errorf("%s, %s: a call is answered %s", when, name, m.line)
			}
		}
	}
	try("while it is there")
	if m := s.ask(ping); string(m.ID) != `"p"` {
		t.Errorf("the stream goes on with %s", m.line)
	}
	w.stop()
	if err := w.ended(); err != nil {
		t.Fatal(err)
	}
	w = serveOthers(t, cfg)
	try("after a restart")
}

// TestSessionInThePlaceOfOne has clients come back when their session is over: because
// the server was told to stop, has died, or has waited in vain. They go on without
// another initialize, where the session was bound, and get what they missed.
func TestSessionInThePlaceOfOne(t *testing.T) {
	for _, how := range []string{"stopped", "died", "waited"} {
		t.Run(how, func(t *testing.T) {
			g := newGate()
			cfg := gatedStatus(t, g)
			cfg.Keep = newKeeper(t)
			if how == "waited" {
				cfg.Linger = time.Millisecond
			}
			w := serveOthers(t, cfg)
			s := w.source("/sse", "")
			s.ask(fmt.Sprintf(initialize, "example"))
			s.ok("workspace.create", `{"path":"/agents/a"}`)
			s.ok("writeFile", `{"path":"note","content":"kept"}`)
			s.ask(subscribing(noteFile))
			// What is called behind one of these has waited until the session is kept.
			s.ok("workspace.open", `{"path":"/agents/a"}`)
			s.ok("readFile", `{"path":"note"}`)
			if a := s.post(fmt.Sprintf(gitStatus, "5")); a.status != http.StatusAccepted {
				t.Fatalf("%+v", a)
			}
			g.wait(t, 1)
			last, path := s.last, s.path
			switch how {
			case "stopped", "waited":
				s.cut()
				if how == "stopped" {
					w.stop()
				}
				for end := time.Now().Add(patience); s.post(initialized).status == http.StatusAccepted; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("the session goes on")
					}
				}
				g.release()
			}
			if how == "stopped" {
				if err := w.ended(); err != nil {
					t.Fatal(err)
				}
			}
			if how != "waited" {
				w = serveOthers(t, cfg)
			}
			again := w.source("/sse", last)
			if again.path == path || again.last == last {
				t.Errorf("the session and its events are %s and %s again", again.path, again.last)
			}
			if how != "died" {
				if m := again.next(); string(m.ID) != "5" || m.decode(t).IsError {
					t.Errorf("missed was %s", m.line)
				}
			}
			if m := again.next(); m.Method != updated || !strings.Contains(m.line, noteFile) {
				t.Errorf("of what may have changed meanwhile comes %s", m.line)
			}
			if got := again.ok("readFile", `{"path":"note"}`); got != "kept" {
				t.Errorf("the note is %q", got)
			}
			if m := again.ask(fmt.Sprintf(initialize, "example")); m.Error == nil {
				t.Errorf("initialize is answered %s", m.line)
			}
			if a := again.web.do(http.MethodPost, path, ping); a.status != http.StatusNotFound && how != "died" {
				t.Errorf("the session before: %+v", a)
			}
			again.cut()
			if third := w.source("/sse", again.last); how == "died" && third.path != again.path {
				t.Errorf("the session in its place is at %s, and then at %s", again.path, third.path)
			}
		})
	}
}
