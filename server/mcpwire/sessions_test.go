package mcpwire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

const (
	ping   = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`
)

// gatedWeb is a server on HTTP whose tools stop at a gate.
func gatedWeb(t *testing.T, g *gate, grace time.Duration) *web {
	t.Cleanup(g.release)
	return serve(t, gatedConfig(t, g, grace))
}

// background makes a request whose answer comes later.
func (w *web) background(f func() answer) <-chan answer {
	c := make(chan answer, 1)
	go func() { c <- f() }()
	return c
}

// listen opens the stream of a session and returns what is closed at its end.
func (w *web) listen(session string) <-chan struct{} {
	w.t.Helper()
	res, err := http.DefaultClient.Do(w.request(w.t.Context(), http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+session))
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("listen: %+v, %v", res, err)
	}
	end := make(chan struct{})
	go func() {
		defer close(end)
		defer res.Body.Close()
		for buf := make([]byte, 1000); ; {
			if _, err := res.Body.Read(buf); err != nil {
				return
			}
		}
	}()
	return end
}

func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return v
}

// A session that its client ends is unknown from then on; what runs still finishes.
func TestEndOfASession(t *testing.T) {
	g := newGate()
	w := gatedWeb(t, g, 0)
	id, other := w.initialize("/mcp", "example"), w.initialize("/mcp", "example")
	end := w.listen(id)
	running := w.background(func() answer { return w.post("/mcp", id, fmt.Sprintf(gitStatus, `1`)) })
	g.wait(t, 1)
	if a := w.do(http.MethodDelete, "/mcp", "", "Mcp-Session-Id: "+id); a.status != http.StatusNoContent {
		t.Errorf("DELETE: %+v", a)
	}
	wait(t, end)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if a := w.do(method, "/mcp", ping, "Mcp-Session-Id: "+id); a.status != http.StatusNotFound {
			t.Errorf("%s afterwards: %+v", method, a)
		}
	}
	g.release()
	if res := wait(t, running).message(t).decode(t); res.IsError {
		t.Errorf("what ran was cut off: %+v", res)
	}
	if a := w.post("/mcp", other, ping); a.status != http.StatusOK {
		t.Errorf("the other session: %+v", a)
	}
}

// Nobody cancels what another client runs, whatever its id.
func TestCancelOnlyOnesOwn(t *testing.T) {
	g := newGate()
	w := gatedWeb(t, g, 0)
	a, b, streamed := w.initialize("/mcp", "a"), w.initialize("/mcp", "b"), w.stream("")
	own := w.background(func() answer { return w.post("/mcp", a, fmt.Sprintf(gitStatus, `1`)) })
	foreign := w.background(func() answer { return w.post("/mcp", b, fmt.Sprintf(gitStatus, `1`)) })
	modern := w.background(func() answer { return w.modern("tools/call", `"name":"git.status","arguments":{}`, "") })
	streamed.post(fmt.Sprintf(gitStatus, `1`))
	g.wait(t, 4)
	for _, got := range []answer{
		w.post("/mcp", a, fmt.Sprintf(cancel, `1`)),
		w.do(http.MethodPost, "/mcp", fmt.Sprintf(cancel, `1`), modernHeaders("notifications/cancelled", "")...),
		w.do(http.MethodPost, "/mcp", fmt.Sprintf(cancel, `1`), append(modernHeaders("notifications/cancelled", ""), "Mcp-Session-Id: "+b)...),
		w.stream("").post(fmt.Sprintf(cancel, `1`)),
	} {
		if got.status != http.StatusAccepted {
			t.Errorf("cancelling: %+v", got)
		}
	}
	if got := wait(t, own); got.err != nil || got.status != http.StatusAccepted || got.body != "" {
		t.Errorf("the call that was cancelled: %+v", got)
	}
	g.release()
	for _, m := range []response{wait(t, foreign).message(t), wait(t, modern).message(t), streamed.next()} {
		if m.decode(t).IsError {
			t.Errorf("the call of another client: %s", m.line)
		}
	}
}

func TestCancelOnSSE(t *testing.T) {
	g := newGate()
	s := gatedWeb(t, g, 0).stream("")
	s.post(fmt.Sprintf(gitStatus, `1`))
	g.wait(t, 1)
	s.post(fmt.Sprintf(cancel, `1`))
	if m := s.ask(ping); string(m.ID) != `"p"` {
		t.Errorf("first comes %s", m.line)
	}
}

// A client with a session that is cut off may come back, and its call goes on; one
// without cancels by that.
func TestClientThatHangsUp(t *testing.T) {
	outcome := make(chan error, 1)
	g := newGate()
	defer g.release()
	w := serve(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(ctx context.Context, _ *tools.Tool, _ tools.Call, _ json.RawMessage) (tools.Output, error) {
			err := g.pass(ctx)
			outcome <- err
			return said{"done"}, err
		},
	})
	hangUp := func(body string, headers ...string) {
		ctx, cancel := context.WithCancel(t.Context())
		r := w.request(ctx, http.MethodPost, "/mcp", body, headers...)
		ended := make(chan error, 1)
		go func() {
			res, err := http.DefaultClient.Do(r)
			if err == nil {
				res.Body.Close()
			}
			ended <- err
		}()
		g.wait(t, 1)
		cancel()
		if wait(t, ended) == nil {
			t.Error("the request was answered")
		}
	}
	hangUp(modernBody("tools/call", `"name":"git.status","arguments":{}`, ""), modernHeaders("tools/call", "git.status")...)
	if err := wait(t, outcome); err == nil {
		t.Error("a stateless call goes on")
	}
	id := w.initialize("/mcp", "example")
	hangUp(fmt.Sprintf(gitStatus, `1`), "Mcp-Session-Id: "+id)
	if a := w.post("/mcp", id, ping); a.status != http.StatusOK {
		t.Errorf("the session: %+v", a)
	}
	g.release()
	if err := wait(t, outcome); err != nil {
		t.Errorf("the call of a session: %v", err)
	}
}

// Only what nobody uses is swept: no session with a call or a stream.
func TestIdleSessions(t *testing.T) {
	var hours atomic.Int64
	g := newGate()
	t.Cleanup(g.release)
	cfg := gatedConfig(t, g, 0)
	cfg.Idle = 16 * time.Millisecond
	start := time.Now()
	cfg.Now = func() time.Time { return start.Add(time.Duration(hours.Load()) * time.Hour) }
	w := serve(t, cfg)
	idle, calling, listening := w.initialize("/mcp", "a"), w.initialize("/mcp", "b"), w.initialize("/mcp", "c")
	w.listen(listening)
	stream := w.stream("")
	running := w.background(func() answer { return w.post("/mcp", calling, fmt.Sprintf(gitStatus, `1`)) })
	g.wait(t, 1)
	if a := w.post("/mcp", idle, ping); a.status != http.StatusOK {
		t.Errorf("a session in time: %+v", a)
	}
	hours.Add(1)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if a := w.do(method, "/mcp", ping, "Mcp-Session-Id: "+idle); a.status != http.StatusNotFound {
			t.Errorf("%s on a session that nobody used: %+v", method, a)
		}
	}
	g.release()
	if res := wait(t, running).message(t).decode(t); res.IsError {
		t.Errorf("what ran: %+v", res)
	}
	for _, id := range []string{calling, listening} {
		if a := w.post("/mcp", id, ping); a.status != http.StatusOK {
			t.Errorf("a session in use: %+v", a)
		}
	}
	if m := stream.ask(ping); m.Error != nil {
		t.Errorf("a stream: %s", m.line)
	}
}

// Told to stop, the server lets calls finish and ends streams that only wait.
func TestStop(t *testing.T) {
	g := newGate()
	w := gatedWeb(t, g, 0)
	id, streamed := w.initialize("/mcp", "example"), w.stream("")
	end := w.listen(id)
	running := w.background(func() answer { return w.post("/mcp", id, fmt.Sprintf(gitStatus, `1`)) })
	modern := w.background(func() answer { return w.modern("tools/call", `"name":"git.status","arguments":{}`, "") })
	streamed.post(fmt.Sprintf(gitStatus, `1`))
	g.wait(t, 3)
	w.stop()
	wait(t, end)
	g.release()
	for _, m := range []response{wait(t, running).message(t), wait(t, modern).message(t), streamed.next()} {
		if m.decode(t).IsError {
			t.Errorf("a call was cut off: %s", m.line)
		}
	}
	if line := streamed.line(); line != "" {
		t.Errorf("the stream goes on with %s", line)
	}
	if err := w.ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestStopCancelsAfterTheGrace(t *testing.T) {
	g := newGate()
	w := gatedWeb(t, g, time.Millisecond)
	id, streamed := w.initialize("/mcp", "example"), w.stream("")
	running := w.background(func() answer { return w.post("/mcp", id, fmt.Sprintf(gitStatus, `1`)) })
	modern := w.background(func() answer { return w.modern("tools/call", `"name":"git.status","arguments":{}`, "") })
	streamed.post(fmt.Sprintf(gitStatus, `1`))
	g.wait(t, 3)
	w.stop()
	for _, m := range []response{wait(t, running).message(t), wait(t, modern).message(t), streamed.next()} {
		if res := m.decode(t); string(res.Meta["code"]) != `"canceled"` {
			t.Errorf("the call answers %s", m.line)
		}
	}
	if err := w.ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// A client whose stream is gone is gone: its calls may finish, and nothing more is
// taken from it.
func TestEndOfAStream(t *testing.T) {
	g := newGate()
	w := gatedWeb(t, g, 0)
	s := w.stream("")
	s.post(fmt.Sprintf(gitStatus, `1`))
	g.wait(t, 1)
	s.cancel()
	for deadline := time.Now().Add(patience); ; {
		if a := s.post(ping); a.status == http.StatusNotFound {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the session goes on: %+v", a)
		}
	}
	g.release()
	w.stop()
	if err := w.ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestManySessions begins more sessions than a client may have: the one that was unused
// for longest ends, and none that is in use.
func TestManySessions(t *testing.T) {
	var clock atomic.Int64
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"}), MaxSessions: 2, Now: func() time.Time { return time.Unix(clock.Load(), 0) }})
	begin := func() string {
		t.Helper()
		clock.Add(1)
		return w.initialize("/mcp", "example")
	}
	check := func(session string, want int) {
		t.Helper()
		clock.Add(1)
		if a := w.post("/mcp", session, ping); a.status != want {
			t.Errorf("got %d, want %d: %+v", a.status, want, a)
		}
	}
	first, second := begin(), begin()
	check(first, http.StatusOK)
	third := begin()
	check(second, http.StatusNotFound)
	check(first, http.StatusOK)
	check(third, http.StatusOK)
	var streams []*http.Response
	for _, id := range []string{first, third} {
		res, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodGet, "/mcp", "", "Mcp-Session-Id: "+id))
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, res)
	}
	hello := fmt.Sprintf(initialize, "example")
	a := w.post("/mcp", "", hello)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || a.header.Get("Mcp-Session-Id") != "" || !strings.Contains(a.body, "2 sessions") {
		t.Errorf("with all in use: %+v", a)
	}
	if a := w.do(http.MethodGet, "/sse", ""); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("with all in use, at the older door: %+v", a)
	}
	for _, res := range streams {
		res.Body.Close()
	}
	for a := w.post("/mcp", "", hello); a.status != http.StatusOK; a = w.post("/mcp", "", hello) { // else this never ends
		if a.status != http.StatusTooManyRequests {
			t.Fatalf("once none is in use: %+v", a)
		}
	}
}
