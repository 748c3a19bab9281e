package mcpwire_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"carrel.dev/server/mcpwire"
)

// Lines may be sent without waiting: what decides where a call acts is waited
// for, and who the client is.
func TestLinesSentAtOnce(t *testing.T) {
	p := newProject(t, map[string]string{"a": "a\n"})
	for range 20 {
		r := connect(t, &mcpwire.Config{Project: p})
		r.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"workspace.create","arguments":{"path":"/agents/a"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"writeFile","arguments":{"path":"f","content":"x"}}}`)
		r.in.Close() // the running calls still finish
		all := r.collect(4)
		if m := all["2"]; !strings.Contains(m.line, `"git_status"`) {
			t.Errorf("the list was made for somebody else: %.300s", m.line)
		}
		if res := all["4"].decode(t); res.IsError {
			t.Errorf("the write failed: %s", res.Content[0].Text)
		}
		if err := r.ended(); err != nil {
			t.Errorf("ended with %v", err)
		}
	}
}

func TestLastLineWithoutLineFeed(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	if _, err := io.WriteString(r.in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); err != nil {
		t.Fatal(err)
	}
	r.in.Close()
	if m := r.next(); string(m.ID) != "1" {
		t.Errorf("answered %s", m.line)
	}
}

func TestEndOfInputWaitsForCalls(t *testing.T) {
	for _, how := range []string{"end of input", "end of ctx"} {
		t.Run(how, func(t *testing.T) {
			g := newGate()
			r := gated(t, g, 0)
			for i := range 10 {
				r.send(fmt.Sprintf(gitStatus, fmt.Sprint(i)))
			}
			g.wait(t, 10)
			if how == "end of ctx" {
				r.stop()
			} else {
				r.in.Close()
			}
			g.release()
			for id, m := range r.collect(10) {
				if m.decode(t).IsError {
					t.Errorf("call %s was cut off: %s", id, m.line)
				}
			}
			if err := r.ended(); err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestCallsAreCancelledAfterTheGrace(t *testing.T) {
	g := newGate()
	r := gated(t, g, time.Millisecond)
	r.send(fmt.Sprintf(gitStatus, `1`))
	g.wait(t, 1)
	r.in.Close()
	if err := r.ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if res := r.next().decode(t); string(res.Meta["code"]) != `"canceled"` {
		t.Errorf("the call answers %+v", res)
	}
}

// stuck is the output to a client that does not read.
type stuck struct{ writes chan struct{} }

func (s stuck) Write(b []byte) (int, error) {
	s.writes <- struct{}{}
	select {}
}

func TestClientThatDoesNotRead(t *testing.T) {
	in, w := io.Pipe()
	out := stuck{make(chan struct{}, 1)}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	s := mcpwire.New(&mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"}), Grace: time.Millisecond})
	go func() { served <- s.ServeStdio(ctx, in, out) }()
	go func() {
		for i := 0; ; i++ { // until the pipe is closed
			if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i); err != nil {
				return
			}
		}
	}()
	<-out.writes
	stop()
	select {
	case err := <-served:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the server waits for a client that does not read")
	}
	in.Close()
}

// A client may write many requests before it reads an answer.
func TestClientThatWritesFirst(t *testing.T) {
	in, w := io.Pipe()
	r, out := io.Pipe()
	s := mcpwire.New(&mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	served := make(chan error, 1)
	go func() {
		served <- s.ServeStdio(t.Context(), in, out)
		out.Close()
	}()
	const n = 150
	for i := range n {
		if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	all, err := io.ReadAll(r)
	if got := bytes.Count(all, []byte("\n")); err != nil || got != n {
		t.Errorf("%d of %d answers, %v", got, n, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// gone is the output to a client that has closed it.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestClientThatIsGone(t *testing.T) {
	in, w := io.Pipe()
	served := make(chan error, 1)
	s := mcpwire.New(&mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	go func() { served <- s.ServeStdio(t.Context(), in, gone{}) }()
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err == nil {
		t.Error("no error of writing")
	}
	w.Close()
}
