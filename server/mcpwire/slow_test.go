package mcpwire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// dial opens a connection and says something on it.
func (w *web) dial(text string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err == nil {
		w.t.Cleanup(func() { c.Close() })
		_, err = io.WriteString(c, text)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// Messages that never come to their end keep nobody else waiting, however large
// they are said to be.
func TestUnfinishedMessages(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	for i := range 12 {
		length := "Content-Length: 90000000\r\n\r\n{"
		if i%2 == 0 {
			length = "Transfer-Encoding: chunked\r\n\r\n5000000\r\n{"
		}
		w.dial("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + length)
	}
	for range 300 {
		w.dial("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n")
	}
	for range 3 {
		w.initialize("/mcp", "example")
	}
}

// A request that needs no body is answered whether one comes or not.
func TestBodiesWithheld(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	for _, request := range []string{"GET /sse", "GET /mcp", "DELETE /mcp", "POST /nowhere"} {
		c := w.dial(request + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
		c.SetReadDeadline(time.Now().Add(patience))
		got := make([]byte, len("HTTP/1.1 "))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "HTTP/1.1 " {
			t.Errorf("%s is answered %q, %v", request, got, err)
		}
	}
}

// A client that does not read its stream has a few calls run and no more.
func TestStreamThatNobodyReads(t *testing.T) {
	var running, most atomic.Int64
	release := make(chan struct{})
	w := serve(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}),
		Run: func(ctx context.Context, _ *tools.Tool, _ tools.Call, _ json.RawMessage) (tools.Output, error) {
			for n := running.Add(1); n > most.Load(); n = running.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			<-release
			return nil, workspace.Errorf(workspace.Conflict, "no")
		},
	})
	s := w.stream("")
	s.ask(fmt.Sprintf(initialize, "example"))
	var posts sync.WaitGroup
	const calls = 60
	for i := range calls {
		posts.Go(func() {
			a := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"readFile","arguments":{"path":"a","workspace":"/agents/a"}}}`, i+1))
			if a.status != http.StatusAccepted {
				t.Errorf("%+v", a)
			}
		})
	}
	for end := time.Now().Add(patience); running.Load() < 16; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d calls run", running.Load())
		}
	}
	close(release)
	posts.Wait()
	for range calls {
		s.next()
	}
	if most.Load() > 16 {
		t.Errorf("%d calls ran at a time", most.Load())
	}
}
