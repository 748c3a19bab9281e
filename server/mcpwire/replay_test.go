package mcpwire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel.dev/persistence/sqlite"
	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

// event is an event of a stream.
type event struct{ id, name, data string }

// readEvents reads a stream to its end, or until enough have come.
func readEvents(t *testing.T, res *http.Response, enough int) []event {
	t.Helper()
	var all []event
	for e := range eventsOf(res) {
		if all = append(all, e); len(all) == enough {
			break
		}
	}
	return all
}

// eventsOf are the events of a stream as they come.
func eventsOf(res *http.Response) iter.Seq[event] {
	return func(yield func(event) bool) {
		var e event
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); {
			case name == "id":
				e.id = value
			case name == "event":
				e.name = value
			case name == "data":
				e.data = value
			case lines.Text() == "" && e.data != "":
				if !yield(e) {
					return
				}
				e = event{}
			}
		}
	}
}

func dataOf(all []event) (data []string) {
	for _, e := range all {
		data = append(data, e.data)
	}
	return data
}

// TestResume cuts clients off while their calls tell how far they are. Whoever comes
// back with the last event that it got is sent the others, and the answer, in order.
func TestResume(t *testing.T) {
	const notes = 5
	g := newGate()
	defer g.release()
	w := serve(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(ctx context.Context, _ *tools.Tool, c tools.Call, _ json.RawMessage) (tools.Output, error) {
			for i := range notes {
				if i == 3 {
					if err := g.pass(ctx); err != nil {
						return nil, err
					}
				}
				c.Progress(float64(i+1), notes, strings.Repeat("x", 100))
			}
			return said{"done"}, nil
		},
	})
	id, other := w.initialize("/mcp", "example"), w.initialize("/mcp", "example")
	ctx, cut := context.WithCancel(t.Context())
	res, err := http.DefaultClient.Do(w.request(ctx, http.MethodPost, "/mcp", progressCall(1), "Mcp-Session-Id: "+id))
	if err != nil {
		t.Fatal(err)
	}
	first := readEvents(t, res, 2)
	g.wait(t, 1)
	cut()
	res.Body.Close()

	get := func(session, last string) *http.Response {
		t.Helper()
		res, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("resume: %v, %v", res, err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	res = get(id, first[0].id) // that of the second event was lost
	g.release()
	rest := readEvents(t, res, -1)
	if len(rest) != notes || !slices.Equal(rest[:1], first[1:]) || !strings.Contains(rest[notes-1].data, "done") {
		t.Errorf("came %q after %q", dataOf(rest), dataOf(first))
	}
	for i, e := range rest[:max(len(rest)-1, 0)] {
		if !strings.Contains(e.data, fmt.Sprintf(`"progress":%d`, i+2)) {
			t.Errorf("event %d is %s", i, e.data)
		}
	}
	if again := readEvents(t, get(id, rest[2].id), -1); !slices.Equal(again, rest[3:]) {
		t.Errorf("a second time came %q", dataOf(again))
	}
	if end := readEvents(t, get(id, rest[len(rest)-1].id), -1); len(end) != 0 {
		t.Errorf("after the last came %q", dataOf(end))
	}
	// What is unknown is a stream like others, on which nothing is repeated.
	for session, last := range map[string]string{other: first[0].id, id: "nonsense-1"} {
		ctx, cut := context.WithCancel(t.Context())
		r := w.request(ctx, http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if a := w.post("/mcp", session, ping); a.status != http.StatusOK {
			t.Errorf("ping: %+v", a)
		}
		cut()
		if got := readEvents(t, res, -1); len(got) != 0 {
			t.Errorf("with %s came %q", last, dataOf(got))
		}
		res.Body.Close()
	}
}

// standing is a header of the tests that says who makes a request.
const standing = "X-Standing"

// serveOthers is serve for clients that say who they are.
func serveOthers(t *testing.T, cfg *mcpwire.Config) *web {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := mcpwire.New(cfg)
	f := mcpwire.NewFront(s)
	ctx, stop := context.WithCancel(context.Background())
	w := &web{t: t, url: "http://" + l.Addr().String(), stop: stop, served: make(chan error, 1)}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c := &mcpwire.Client{ID: r.Header.Get(standing), Server: s}
		f.ServeHTTP(rw, r.WithContext(mcpwire.WithClient(r.Context(), c)))
	})
	go func() { w.served <- f.Serve(ctx, l, handler) }()
	t.Cleanup(stop)
	return w
}

// newKeeper is a database for what clients go on with.
func newKeeper(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "carrel.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestResumeAfterRestart cuts a client off, lets its call finish only once the server
// was told to stop, and asks the next server for the rest. The session itself is gone,
// and nobody else is told anything.
func TestResumeAfterRestart(t *testing.T) {
	g := newGate()
	defer g.release()
	cfg := &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a", Keep: newKeeper(t),
		Run: func(ctx context.Context, _ *tools.Tool, c tools.Call, _ json.RawMessage) (tools.Output, error) {
			c.Progress(1, 2, "begun")
			c.Progress(2, 2, "waiting")
			return said{"done"}, g.pass(ctx)
		},
	}
	w := serveOthers(t, cfg)
	id := w.initialize("/mcp", "example")
	ctx, cut := context.WithCancel(t.Context())
	res, err := http.DefaultClient.Do(w.request(ctx, http.MethodPost, "/mcp", progressCall(1), "Mcp-Session-Id: "+id))
	if err != nil {
		t.Fatal(err)
	}
	got := readEvents(t, res, 2)
	g.wait(t, 1)
	cut()
	res.Body.Close()
	w.stop()
	g.release()
	if err := w.ended(); err != nil {
		t.Fatal(err)
	}

	w = serveOthers(t, cfg)
	session, last := "Mcp-Session-Id: "+id, "Last-Event-ID: "+got[0].id
	a := w.do(http.MethodGet, "/mcp", "", session, last)
	rest := a.messages(t)
	if a.status != http.StatusOK || len(rest) != 2 || rest[0].line != got[1].data+"\n" || rest[1].decode(t).Content[0].Text != "done" {
		t.Errorf("the rest is %+v", a)
	}
	if a := w.do(http.MethodGet, "/mcp", "", session, "Last-Event-ID: "+strings.Replace(got[0].id, "-1", "-3", 1)); a.status != http.StatusOK || a.body != "" {
		t.Errorf("behind the last: %+v", a)
	}
	stream, _, _ := strings.Cut(got[0].id, "-")
	for name, tt := range map[string]struct {
		method, path string
		headers      []string
	}{
		"a call":              {http.MethodPost, "/mcp", []string{session, last}},
		"an end":              {http.MethodDelete, "/mcp", []string{session, last}},
		"another stream":      {http.MethodGet, "/mcp", []string{session}},
		"an unknown event":    {http.MethodGet, "/mcp", []string{session, "Last-Event-ID: A" + got[0].id}},
		"no event":            {http.MethodGet, "/mcp", []string{session, "Last-Event-ID: " + stream}},
		"another session":     {http.MethodGet, "/mcp", []string{session + "A", last}},
		"another client":      {http.MethodGet, "/mcp", []string{session, last, standing + ": other"}},
		"another transport":   {http.MethodPost, "/message?sessionId=" + id, []string{last}},
		"a stream as session": {http.MethodGet, "/mcp", []string{"Mcp-Session-Id: " + stream, last}},
	} {
		if a := w.do(tt.method, tt.path, ping, tt.headers...); a.status != http.StatusNotFound {
			t.Errorf("%s: %+v", name, a)
		}
	}
	own := w.initialize("/mcp", "example")
	if a := w.post("/mcp", own, ping); a.status != http.StatusOK {
		t.Errorf("a new session: %+v", a)
	}
	cfg.Workspace = "/agents/b"
	if a := serveOthers(t, cfg).do(http.MethodGet, "/mcp", "", session, last); a.status != http.StatusNotFound {
		t.Errorf("at another endpoint: %+v", a)
	}
}

// TestKeeperFails serves with a database that is closed: calls are answered, and clients
// go on within the process.
func TestKeeperFails(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "carrel.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := chatty(t)
	cfg.Keep = store
	w := serve(t, cfg)
	id := w.initialize("/mcp", "example")
	res, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodPost, "/mcp", progressCall(1), "Mcp-Session-Id: "+id))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all := readEvents(t, res, -1)
	last := len(all) - 1
	if last < progressNotes {
		t.Fatalf("%d events came", len(all))
	}
	a := w.do(http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+id, "Last-Event-ID: "+all[last-1].id)
	if a.status != http.StatusOK || a.message(t).line != all[last].data+"\n" {
		t.Errorf("the last event is %+v", a)
	}
}
