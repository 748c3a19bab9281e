package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestRestartKeepsAnswers restarts the server, or kills it, below clients that have not
// got everything: those that come back with the last event that they got are sent the
// rest.
func TestRestartKeepsAnswers(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("http, killed %v", killed), func(t *testing.T) {
			t.Parallel()
			answerResumed(t, killed)
		})
		t.Run(fmt.Sprintf("sse, killed %v", killed), func(t *testing.T) {
			t.Parallel()
			streamResumed(t, killed)
		})
	}
}

// restart ends the server and starts it again.
func (s *webServer) restart(t *testing.T, killed bool) *webProcess {
	t.Helper()
	if p := s.processes[false]; killed {
		must(t, p.cmd.Process.Kill())
		<-p.ended
		p.cmd.Wait() // it says that it was killed
		p.client.CloseIdleConnections()
	} else {
		must(t, p.stop())
	}
	s.processes = map[bool]*webProcess{}
	p, err := s.process(false)
	must(t, err)
	return p
}

// answerResumed has the answer to a POST go on.
func answerResumed(t *testing.T, killed bool) {
	s := newWebBench(t, "http")
	c := s.connect(t)
	ask(t, c, "workspace.create", `{"path":"/agents/a"}`)
	res, err := c.post(t.Context(), map[string]any{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": map[string]any{
		"name": "batch", "_meta": map[string]any{"progressToken": "t"}, "arguments": map[string]any{"changes": []map[string]any{
			{"op": "writeFile", "path": "a", "content": "a"}, {"op": "writeFile", "path": "b", "content": "b"},
		}},
	}})
	must(t, err)
	all := rawEvents(t, res)
	if len(all) < 2 || !strings.Contains(all[len(all)-1], `"id":9`) {
		t.Fatalf("the call is answered %q", all)
	}
	p := s.restart(t, killed)
	get := func(session, last string) (status int, rest []string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/mcp", nil)
		must(t, err)
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Last-Event-ID", last)
		res, err := p.client.Do(r)
		must(t, err)
		return res.StatusCode, rawEvents(t, res)
	}
	first := idOf(all[0])
	if status, rest := get(c.session, first); status != http.StatusOK || !slices.Equal(rest, all[1:]) {
		t.Errorf("the rest is %d %q, want %q", status, rest, all[1:])
	}
	for session, last := range map[string]string{c.session: "A" + first, c.session + "A": first} {
		if status, rest := get(session, last); status != http.StatusNotFound {
			t.Errorf("with an id that nobody has: %d %q", status, rest)
		}
	}
}

// streamResumed has a client of HTTP+SSE go on, as EventSource in a browser does: it
// knows of no other session.
func streamResumed(t *testing.T, killed bool) {
	s := newWebBench(t, "sse")
	p, err := s.process(false)
	must(t, err)
	open := func(last string) (stream *bufio.Reader, post string) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/sse", nil)
		must(t, err)
		r.Header.Set("Last-Event-ID", last)
		res, err := p.client.Do(r)
		must(t, err)
		t.Cleanup(func() { res.Body.Close() })
		stream = bufio.NewReader(res.Body)
		return stream, p.url + dataOf(next(t, stream))
	}
	send := func(post, message string) {
		t.Helper()
		res, err := p.client.Post(post, "application/json", strings.NewReader(message))
		must(t, err)
		must(t, drain(res, http.StatusAccepted))
	}
	call := func(id int, tool, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
	}
	stream, post := open("")
	send(post, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	next(t, stream)
	send(post, call(2, "workspace.create", `{"path":"/agents/a"}`))
	created := next(t, stream)
	send(post, call(3, "writeFile", `{"path":"note","content":"kept"}`))
	written := next(t, stream)
	p = s.restart(t, killed)
	last := idOf(created)
	if killed { // what is told after a session was last kept is lost then
		last = idOf(written)
	}
	stream, again := open(last)
	if _, id, _ := strings.Cut(post, "?"); strings.HasSuffix(again, id) {
		t.Errorf("the session is at %s again", again)
	}
	if !killed {
		if missed := next(t, stream); dataOf(missed) != dataOf(written) {
			t.Errorf("missed was %q, want the data of %q", missed, written)
		}
	}
	send(again, call(4, "readFile", `{"path":"note"}`))
	if got := next(t, stream); !strings.Contains(got, `"id":4`) || !strings.Contains(got, `"text":"kept"`) {
		t.Errorf("a call is answered %q", got)
	}
}

// rawEvents are the events of a response, as they are on the wire.
func rawEvents(t *testing.T, res *http.Response) (all []string) {
	t.Helper()
	defer res.Body.Close()
	for r := bufio.NewReader(res.Body); ; {
		e, err := rawEvent(r)
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		all = append(all, e)
	}
}

func next(t *testing.T, stream *bufio.Reader) string {
	t.Helper()
	e, err := rawEvent(stream)
	must(t, err)
	return e
}

// rawEvent reads an event, over comments.
func rawEvent(r *bufio.Reader) (string, error) {
	var e strings.Builder
	for {
		line, err := r.ReadString('\n')
		switch {
		case err != nil:
			return "", err
		case strings.HasPrefix(line, ":"):
		case line != "\n":
			e.WriteString(line)
		case e.Len() > 0:
			return e.String(), nil
		}
	}
}

func idOf(event string) string   { return fieldOf(event, "id") }
func dataOf(event string) string { return fieldOf(event, "data") }

func fieldOf(event, name string) string {
	for line := range strings.Lines(event) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
