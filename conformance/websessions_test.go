package conformance

import (
	"net/http"
	"strings"
	"testing"
)

// newWebBench is a data directory with one repository, and carrel serve on it.
func newWebBench(t *testing.T, transport string, edits ...Edit) *webServer {
	t.Helper()
	b := newBench(t, false, edits...)
	s := &webServer{stdioServer: *b.server, transport: transport, processes: map[bool]*webProcess{}}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *webServer) connect(t *testing.T) *webClient {
	t.Helper()
	c, err := s.Session(t.Context(), SessionOptions{})
	must(t, err)
	return c.(*webClient)
}

// TestRestartForgetsSessions restarts the server below its clients. Their sessions
// are not found, and nothing else is lost.
//
// Cases: E3
func TestRestartForgetsSessions(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"http", "sse"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			s := newWebBench(t, transport)
			old := s.connect(t)
			ask(t, old, "workspace.create", `{"path":"/agents/a"}`)
			ask(t, old, "writeFile", `{"path":"/repos/app/a","content":"changed\n"}`)
			ask(t, old, "writeFile", `{"path":"note","content":"kept\n"}`)
			must(t, s.Close())
			s.processes = map[bool]*webProcess{}
			c := s.connect(t)
			old.moveTo(c)
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				if transport == "sse" && method != http.MethodPost {
					continue
				}
				r, err := http.NewRequestWithContext(t.Context(), method, old.endpoint(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
				must(t, err)
				r.Header.Set("Content-Type", "application/json")
				old.identify(r)
				res, err := old.http.Do(r)
				must(t, err)
				if err := drain(res, http.StatusNotFound); err != nil {
					t.Errorf("the old session: %v", err)
				}
			}
			ask(t, c, "workspace.open", `{"path":"/agents/a"}`)
			for path, want := range map[string]string{"/repos/app/a": "changed\n", "note": "kept\n"} {
				if got, _ := text(t, c, path); got != want {
					t.Errorf("%s: got %q, want %q", path, got, want)
				}
			}
			must(t, c.Close())
		})
	}
}

// TestTextIsSentOnceOnHTTP compares what comes over the wire with the text in JSON.
//
// Cases: E7
func TestTextIsSentOnceOnHTTP(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of \"text\" with <brackets> & ünïcode\n", 900)
	for _, transport := range []string{"http", "sse"} {
		c := newWebBench(t, transport, Edit{Path: "a", Mode: "100644", Content: []byte(content)}).connect(t)
		ask(t, c, "workspace.create", `{"path":"/agents/a"}`)
		raw, err := c.ask(t.Context(), "tools/call", map[string]any{"name": "readFile", "arguments": map[string]any{"path": "/repos/app/a"}})
		must(t, err)
		r, err := decodeResult(raw)
		must(t, err)
		if most := len(escaped(r.Text(0))) * 11 / 10; r.Structured != nil || len(raw) > most || len(r.Text(0)) < 10_000 {
			t.Errorf("%s: %d bytes on the wire for %d of text, want at most %d", transport, len(raw), len(r.Text(0)), most)
		}
		must(t, c.Close())
	}
}
