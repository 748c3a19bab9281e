package mcpwire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

// A19 over one connection.
func TestParallelEdits(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	const n = 40
	var content strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "line %d.\\n", i)
	}
	r.ok("writeFile", `{"path":"f","content":"`+content.String()+`"}`)
	for i := range n {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"e%d","method":"tools/call","params":{"name":"edit","arguments":{"path":"f","oldString":"line %d.","newString":"LINE %d."}}}`, i, i, i))
	}
	for id, m := range r.collect(n) {
		if res := m.decode(t); res.IsError {
			t.Errorf("%s: %s", id, res.Content[0].Text)
		}
	}
	if got := r.ok("readFile", `{"path":"f"}`).Content[0].Text; strings.Count(got, "LINE") != n {
		t.Errorf("%d of %d edits are there", strings.Count(got, "LINE"), n)
	}
}

// said is a tool's result that says one thing.
type said struct {
	Text string `json:"text"`
}

func (s said) Render() tools.Rendering { return tools.Rendering{Text: s.Text} }

// gated is such a server on stdio.
func gated(t *testing.T, g *gate, grace time.Duration) *raw {
	t.Cleanup(g.release)
	return connect(t, gatedConfig(t, g, grace))
}

// gatedConfig is that of a server whose tools stop at a gate.
func gatedConfig(t *testing.T, g *gate, grace time.Duration) *mcpwire.Config {
	return &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a", Grace: grace,
		Run: func(ctx context.Context, _ *tools.Tool, _ tools.Call, _ json.RawMessage) (tools.Output, error) {
			if err := g.pass(ctx); err != nil {
				return nil, err
			}
			return said{"done"}, nil
		},
	}
}

func (g *gate) wait(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-g.entered:
		case <-time.After(patience):
			t.Fatal("the call did not begin")
		}
	}
}

const gitStatus = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"git.status","arguments":{}}}`

func TestCancelled(t *testing.T) {
	g := newGate()
	r := gated(t, g, 0)
	r.send(fmt.Sprintf(gitStatus, `1`))
	r.send(fmt.Sprintf(gitStatus, `"1"`))
	g.wait(t, 2)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`)
	if m := r.ask("ping", `{}`); m.Error != nil { // comes first: the cancelled call is not answered
		t.Errorf("ping answers %s", m.line)
	}
	g.release()
	m := r.next()
	if string(m.ID) != `"1"` || m.decode(t).IsError {
		t.Errorf("the other call answers %s", m.line)
	}
}

// A client that reuses an id too early gets an answer to each, and cancels both.
func TestDuplicateIDs(t *testing.T) {
	g := newGate()
	r := gated(t, g, 0)
	for range 2 {
		r.send(fmt.Sprintf(gitStatus, `5`))
	}
	g.wait(t, 2)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	r.send(fmt.Sprintf(gitStatus, `5`))
	g.wait(t, 1)
	g.release()
	if m := r.next(); string(m.ID) != "5" || m.decode(t).IsError {
		t.Errorf("answered %s", m.line)
	}
	for range 2 {
		r.send(fmt.Sprintf(gitStatus, `6`))
	}
	for range 2 {
		if m := r.next(); string(m.ID) != "6" || m.decode(t).IsError {
			t.Errorf("answered %s", m.line)
		}
	}
}

func TestPanicIsContained(t *testing.T) {
	r := connect(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(context.Context, *tools.Tool, tools.Call, json.RawMessage) (tools.Output, error) { panic("secret") },
	})
	m := r.ask("tools/call", `{"name":"git.status","arguments":{}}`)
	res := m.decode(t)
	if !res.IsError || string(res.Meta["code"]) != `"internal"` || strings.Contains(m.line, "secret") {
		t.Errorf("answered %s", m.line)
	}
	if m := r.ask("ping", `{}`); m.Error != nil {
		t.Errorf("after it, ping answers %s", m.line)
	}
}

// Tools never change, which is said and not waited for.
func TestListenToNothing(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if m := r.next(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("first comes %s", m.line)
	}
	if m := r.next(); string(m.ID) != "1" || m.Error != nil {
		t.Errorf("then comes %s", m.line)
	}
}

// A call that is cancelled while it waits for its turn does nothing.
func TestCancelledBeforeItBegins(t *testing.T) {
	g := newGate()
	r := gated(t, g, 0)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workspace.create","arguments":{}}}`)
	g.wait(t, 1)
	r.send(fmt.Sprintf(gitStatus, `2`))
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if m := r.ask("ping", `{}`); m.Error != nil {
		t.Errorf("ping answers %s", m.line)
	}
	g.release()
	if m := r.next(); string(m.ID) != "1" {
		t.Errorf("answered %s", m.line)
	}
	r.in.Close()
	if err := r.ended(); err != nil || len(g.entered) != 0 {
		t.Errorf("ended with %v, and %d calls began", err, len(g.entered))
	}
}
