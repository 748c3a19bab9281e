package clients

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// cutter forwards connections to a server. The first one on which progress is told
// it cuts behind that, so that the client never gets the answer on it.
type cutter struct {
	net.Listener
	to      atomic.Value // string
	cut     sync.Once
	cuts    atomic.Int64
	resumed atomic.Int64 // requests that go on with a stream
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l}
	c.to.Store(to)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.forward(conn)
		}
	}()
	return c
}

// forward forwards a connection until one side ends it, or it is cut.
func (c *cutter) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.to.Load().(string))
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		io.Copy(io.MultiWriter(server, watcher{c}), client) // an error ends it
	}()
	buffer := make([]byte, 1<<20)
	for {
		n, err := server.Read(buffer)
		piece := buffer[:n]
		if i := bytes.Index(piece, []byte("notifications/progress")); i >= 0 {
			if end := bytes.Index(piece[i:], []byte("\n\n")); end >= 0 {
				last := false
				c.cut.Do(func() { last = true })
				if last {
					c.cuts.Add(1)
					client.Write(piece[:i+end+2])
					return
				}
			}
		}
		if _, werr := client.Write(piece); err != nil || werr != nil {
			return
		}
	}
}

// watcher counts the requests that go on with a stream.
type watcher struct{ c *cutter }

func (w watcher) Write(b []byte) (int, error) {
	w.c.resumed.Add(int64(strings.Count(strings.ToLower(string(b)), "\nlast-event-id:")))
	return len(b), nil
}

// TestResume cuts clients off while a call tells how far it is. They go on by
// themselves, and get the answer of that call, which was done once.
func TestResume(t *testing.T) {
	for _, flavour := range []string{"sdk", "client"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			at := w.serveTokens(overHTTP, dotted)
			c := newCutter(t, hostOf(strings.TrimSuffix(at.URL, "/mcp")))
			at.URL = "http://" + c.Addr().String() + "/mcp"
			s := nodeClient(flavour)(t, at)
			if _, err := s.call(t.Context(), "workspace.create", args{"path": "/agents/demo"}, false); err != nil {
				t.Fatal(err)
			}
			changes := []args{}
			for _, name := range []string{"a", "b", "c", "d"} {
				changes = append(changes, args{"op": "writeFile", "path": name, "content": name})
			}
			got, err := s.call(t.Context(), "batch", args{"workspace": "/agents/demo", "changes": changes}, true)
			if err != nil || got.IsError || len(got.Progress) == 0 {
				t.Errorf("the call is answered %+v, %v", got, err)
			}
			if c.cuts.Load() != 1 || c.resumed.Load() != 1 {
				t.Errorf("cut %d times, and resumed %d times", c.cuts.Load(), c.resumed.Load())
			}
			events := w.carrel("events", "--workspace", "/agents/demo", "--project", "default")
			if n := strings.Count(events, "workspace/changed"); n != 1 {
				t.Errorf("the changes were made %d times:\n%s", n, events)
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
			played.Add(1)
		})
	}
}

func hostOf(url string) string { return strings.TrimPrefix(url, "http://") }

// TestEventSource restarts the server below an EventSource, which comes back by itself:
// it goes on where it was, without another initialize. (The SDK for TypeScript uses it,
// and keeps it from saying what it got last.)
func TestEventSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, stop := w.start(dotted, "--tokens")
	c := newCutter(t, hostOf(url))
	s := startNode(t, "sdk")
	heard := func() string {
		t.Helper()
		var outcome struct{ Data string }
		if err := s.do(map[string]any{"op": "heard", "patience": patience.Milliseconds()}, &outcome); err != nil {
			t.Fatal(err)
		}
		return outcome.Data
	}
	ask := func(body string) string {
		t.Helper()
		var outcome struct{ Status int }
		if err := s.do(map[string]any{"op": "post", "body": body}, &outcome); err != nil || outcome.Status != http.StatusAccepted {
			t.Fatalf("%s: %d, %v", body, outcome.Status, err)
		}
		return heard()
	}
	call := func(tool, in string) string {
		t.Helper()
		return ask(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + in + `}}`)
	}
	if err := s.do(map[string]any{"op": "source", "url": "http://" + c.Addr().String() + "/sse", "token": w.token()}, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	if got := heard(); got != "" {
		t.Errorf("before the endpoint comes %s", got)
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}`)
	call("workspace.create", `{"path":"/agents/demo"}`)
	call("writeFile", `{"path":"note","content":"kept"}`)
	stop()
	url, _ = w.start(dotted, "--tokens")
	c.to.Store(hostOf(url))
	if got := heard(); got != "" {
		t.Errorf("before another endpoint comes %s", got)
	}
	if got := call("readFile", `{"path":"note"}`); !strings.Contains(got, `"text":"kept"`) {
		t.Errorf("afterwards, a call is answered %s", got)
	}
	if c.resumed.Load() == 0 {
		t.Error("it does not say what it got last")
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	played.Add(1)
}
