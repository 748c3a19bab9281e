package clients

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// cutter forwards connections to a server. The first one on which progress is told
// it cuts behind that, so that the client never gets the answer on it.
type cutter struct {
	net.Listener
	to      string
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
	c := &cutter{Listener: l, to: to}
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
	server, err := net.Dial("tcp", c.to)
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
			host := strings.TrimSuffix(strings.TrimPrefix(at.URL, "http://"), "/mcp")
			c := newCutter(t, host)
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
