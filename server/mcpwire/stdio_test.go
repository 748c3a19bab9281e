package mcpwire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Whatever a line holds, it gets the answer that JSON-RPC has for it, and the
// next one is served.
func TestHostileLines(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	deep := func(n int, open, end string) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	const call = `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":`
	tests := []struct {
		name, line string
		id         string
		code       int // 0: a result, or nothing if there is no id
	}{
		{"no JSON", `hello`, `null`, -32700},
		{"half a message", `{"jsonrpc":"2.0","id":7,"meth`, `null`, -32700},
		{"binary", "\x00\x01\xff\xfe", `null`, -32700},
		{"NUL in a name", `{"jsonrpc":"2.0","id":7,"method":"a` + "\x00" + `"}`, `null`, -32700},
		{"too deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + deep(20_000, "[", "]") + `}`, `null`, -32700},
		{"deep arguments", call + `{"name":"readFile","arguments":` + deep(9_000, `{"a":`, `}`)[:0] + deep(4_000, "[", "]") + `}}`, `"x"`, 0},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `null`, -32600},
		{"a number", `5`, `null`, -32600},
		{"null", `null`, `null`, -32600},
		{"an empty object", `{}`, `null`, -32600},
		{"no version", `{"id":7,"method":"ping"}`, `7`, -32600},
		{"another version", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, `7`, -32600},
		{"a version of another type", `{"jsonrpc":2.0,"id":7,"method":"ping"}`, `7`, -32600},
		{"no method", `{"jsonrpc":"2.0","id":7}`, `7`, -32600},
		{"a method of another type", `{"jsonrpc":"2.0","id":7,"method":["ping"]}`, `7`, -32600},
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`, `7`, -32601},
		{"a long method", `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("m", 100_000) + `"}`, `7`, -32601},
		{"resources are not there", `{"jsonrpc":"2.0","id":7,"method":"resources/list"}`, `7`, -32601},
		{"prompts are not there", `{"jsonrpc":"2.0","id":7,"method":"prompts/list"}`, `7`, -32601},
		{"logging is not there", `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info"}}`, `7`, -32601},
		{"a null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null`, -32600},
		{"an object as id", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, `null`, -32600},
		{"a boolean as id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, `null`, -32600},
		{"a large id", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `9007199254740993`, 0},
		{"a huge id", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, `123456789012345678901234567890`, 0},
		{"a fraction as id", `{"jsonrpc":"2.0","id":1.50,"method":"ping"}`, `1.50`, 0},
		{"an odd string as id", `{"jsonrpc":"2.0","id":"\u0000\ud83d\ude00<&>","method":"ping"}`, `"\u0000\ud83d\ude00<&>"`, 0},
		{"params of another type", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[1]}`, `7`, -32602},
		{"params of a call of another type", call + `"x"}`, `"x"`, -32602},
		{"a tool's name of another type", call + `{"name":5}}`, `"x"`, -32602},
		{"no tool's name", call + `{}}`, `"x"`, -32602},
		{"an unknown tool", call + `{"name":"git.stauts"}}`, `"x"`, -32602},
		{"a long tool's name", call + `{"name":"` + strings.Repeat("n", 1<<20) + `"}}`, `"x"`, -32602},
		{"a tool outside of the set", call + `{"name":"stat","arguments":{"path":"a"}}}`, `"x"`, -32602},
		{"arguments of another type", call + `{"name":"readFile","arguments":5}}`, `"x"`, 0},
		{"meta of another type", call + `{"name":"readFile","_meta":5}}`, `"x"`, -32602},
		{"a key of another type", call + `{"name":"git.status","_meta":{"carrel.dev/key":5}}}`, `"x"`, 0},
		{"an odd progress token", call + `{"name":"git.status","arguments":{},"_meta":{"progressToken":{"a":[]}}}}`, `"x"`, 0},
		{"a task", call + `{"name":"git.status","arguments":{},"task":{"ttl":1}}}`, `"x"`, 0},
		{"a modern request without capabilities", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, `7`, -32602},
		{"a request that is a response", `{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`, `7`, -32600},
		{"initialize of another type", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"clientInfo":"me"}}`, `7`, -32602},
		{"a response to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}`, ``, 0},
		{"an error to nothing", `{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}`, ``, 0},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/none"}`, ``, 0},
		{"a call as notification", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"writeFile","arguments":{"path":"n","content":"x"}}}`, ``, 0},
		{"a notification with odd params", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`, ``, 0},
		{"cancelling nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`, ``, 0},
		{"cancelling an object", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, ``, 0},
		{"an empty line", "", ``, 0},
		{"white space", " \t\r", ``, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r.t = t
			r.send(tt.line)
			if tt.id != "" {
				m := r.next()
				code := 0
				if m.Error != nil {
					code = m.Error.Code
				}
				if string(m.ID) != tt.id || code != tt.code {
					t.Errorf("answered %.300s, want id %s and code %d", m.line, tt.id, tt.code)
				}
				if len(m.line) > 2000 {
					t.Errorf("the answer has %d bytes", len(m.line))
				}
			}
			if m := r.ask("ping", `{}`); m.Error != nil {
				t.Errorf("after it, ping answers %s", m.line)
			}
		})
	}
	r.t = t
	if res := r.call("readFile", `{"path":"n"}`); !res.IsError {
		t.Error("a notification has written a file")
	}
}

func TestUnknownToolNamesTheNearest(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("claude-ai")
	m := r.ask("tools/call", `{"name":"git-stauts"}`)
	if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, "git-stauts (did you mean git_status?)") {
		t.Errorf("answered %s", m.line)
	}
}

// A message beyond the bound is answered, by its id where that stands at either
// end, and passed over.
func TestMessageTooLong(t *testing.T) {
	const most = 1 << 20
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"}), MaxMessage: most})
	long := strings.Repeat("x", 2*most)
	for _, tt := range []struct{ line, id string }{
		{`{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{"a":"` + long + `"}}`, `"first"`},
		{`{"method":"tools/call","params":{"id":5,"a":"` + long + `"},"jsonrpc":"2.0","id":6}`, `6`},
		{long, `null`},
		{`{"params":{"id":5,"a":"` + long + `"}}`, `null`},
		{`{"id":{"a":1},"a":"` + long + `"}`, `null`},
	} {
		r.send(tt.line)
		m := r.next()
		if m.Error == nil || m.Error.Code != -32600 || string(m.ID) != tt.id || !strings.Contains(m.Error.Message, "1048576 bytes") {
			t.Errorf("answered %s, want id %s", m.line, tt.id)
		}
	}
	if m := r.ask("ping", `{}`); m.Error != nil {
		t.Errorf("after it, ping answers %s", m.line)
	}
}

func TestLargeMessage(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	r.ok("writeFile", `{"path":"f","content":"`+strings.Repeat("0123456789abcde\\n", 1<<16)+`"}`)
	var fields struct{ Size int }
	if err := json.Unmarshal(r.ok("readFile", `{"path":"f"}`).Meta["carrel.dev/result"], &fields); err != nil || fields.Size != 1<<20 {
		t.Errorf("size %d, err %v", fields.Size, err)
	}
}

// E7: a text travels once, and not much longer than JSON has to make it.
func TestTextTravelsOnce(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	text := strings.Repeat(`<a href="x">&amp;</a> \u003c`+"\n", 500)
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	r.ok("writeFile", fmt.Sprintf(`{"path":"f","content":%s}`, quoted))
	m := r.ask("tools/call", `{"name":"readFile","arguments":{"path":"f"}}`)
	if got := m.decode(t).Content[0].Text; got != text {
		t.Errorf("read another text of %d bytes: %.100q", len(got), got)
	}
	plain := len(text) + strings.Count(text, `"`) + strings.Count(text, "\n") + strings.Count(text, `\`)
	if len(m.line)*10 > plain*11 {
		t.Errorf("%d bytes on the wire for %d of JSON text", len(m.line), plain)
	}
}

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

// said is a tool's result that says one thing.
type said struct {
	Text string `json:"text"`
}

func (s said) Render() tools.Rendering { return tools.Rendering{Text: s.Text} }

// gated is a server whose tools stop at a gate.
func gated(t *testing.T, g *gate, grace time.Duration) *raw {
	t.Cleanup(g.release)
	return connect(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a", Grace: grace,
		Run: func(ctx context.Context, _ *tools.Tool, _ tools.Call, _ json.RawMessage) (tools.Output, error) {
			if err := g.pass(ctx); err != nil {
				return nil, err
			}
			return said{"done"}, nil
		},
	})
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

// What a call notifies comes before its response, and under its own token.
func TestProgress(t *testing.T) {
	r := connect(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(_ context.Context, _ *tools.Tool, c tools.Call, _ json.RawMessage) (tools.Output, error) {
			if c.Progress == nil {
				return said{"nobody asked"}, nil
			}
			for i := range 50 {
				c.Progress(float64(i+1), 50, "fetching")
				c.Progress(float64(i), 50, "going back is dropped")
			}
			go c.Progress(1e9, 0, "too late or not, never behind the response")
			return said{"done"}, nil
		},
	})
	const n = 20
	for i := range n {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"git.status","arguments":{},"_meta":{"progressToken":"t%d"}}}`, i, i))
	}
	last, finished := map[string]float64{}, map[string]bool{}
	for len(finished) < n {
		m := r.next()
		if m.ID != nil {
			token := "t" + string(m.ID)
			finished[token] = true
			if last[token] < 50 {
				t.Errorf("%s had %v of 50 before its response", token, last[token])
			}
			continue
		}
		var p struct {
			ProgressToken   string
			Progress, Total float64
			Message         string
		}
		if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "notifications/progress" {
			t.Fatalf("%v: %s", err, m.line)
		}
		if finished[p.ProgressToken] || p.Progress <= last[p.ProgressToken] {
			t.Errorf("%s comes late: %s", p.ProgressToken, m.line)
		}
		last[p.ProgressToken] = p.Progress
	}
	if got := r.call("git.status", `{}`).Content[0].Text; got != "nobody asked" {
		t.Errorf("a call without a token: %q", got)
	}
}

// Nothing can be subscribed to yet, which is said and not waited for.
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

func TestData(t *testing.T) {
	give := func(d tools.Data) toolResult {
		r := connect(t, &mcpwire.Config{
			Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
			Run: func(context.Context, *tools.Tool, tools.Call, json.RawMessage) (tools.Output, error) {
				return shown{tools.Rendering{Data: &d}}, nil
			},
		})
		return r.ok("readFile", `{"path":"f"}`)
	}
	image := give(tools.Data{MIME: "image/png", Bytes: []byte("png"), Image: true})
	if c := image.Content; len(c) != 1 || c[0].Type != "image" || c[0].Data != "cG5n" || c[0].MIMEType != "image/png" {
		t.Errorf("an image is %+v", c)
	}
	other := give(tools.Data{URI: "carrel:///f", MIME: "application/zip", Bytes: []byte("zip")})
	if c := other.Content; len(c) != 1 || c[0].Type != "resource" || c[0].Resource.Blob != "emlw" || c[0].Resource.URI != "carrel:///f" {
		t.Errorf("other bytes are %+v", c)
	}
}

// shown is a tool's result with nothing but a rendering.
type shown struct{ r tools.Rendering }

func (s shown) Render() tools.Rendering { return s.r }

// Every kind of error is a result that a model can act on, with its code; only
// what nobody classified is withheld.
func TestEveryKindOfError(t *testing.T) {
	var fail error
	r := connect(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(context.Context, *tools.Tool, tools.Call, json.RawMessage) (tools.Output, error) {
			return nil, fail
		},
	})
	for _, kind := range workspace.Kinds {
		fail = workspace.InOp("edit", workspace.Errorf(kind, "the reason").At("/p").Hinted("What to do."))
		want := "edit /p: the reason\nWhat to do."
		m := r.ask("tools/call", `{"name":"edit","arguments":{}}`)
		res := m.decode(t)
		if !res.IsError || len(res.Content) != 1 || res.StructuredContent != nil || string(res.Meta["code"]) != `"`+string(kind)+`"` {
			t.Errorf("%s answers %s", kind, m.line)
			continue
		}
		got := res.Content[0].Text
		if kind == workspace.Internal {
			if strings.Contains(got, "reason") || !strings.Contains(got, "logged under the id") {
				t.Errorf("internal tells %q", got)
			}
			continue
		}
		if got != want {
			t.Errorf("%s says %q, want %q", kind, got, want)
		}
	}
}

func TestKeyOfCall(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("example")
	r.ok("workspace.create", `{"path":"/agents/a"}`)
	write := func(content string) toolResult {
		return r.ask("tools/call", fmt.Sprintf(`{"name":"writeFile","arguments":{"path":"f","content":%q},"_meta":{"carrel.dev/key":"k"}}`, content)).decode(t)
	}
	first, again, other := write("x"), write("x"), write("y")
	if first.IsError || !bytes.Equal(first.StructuredContent, again.StructuredContent) {
		t.Errorf("repeated: %s, then %s", first.StructuredContent, again.StructuredContent)
	}
	if string(other.Meta["code"]) != `"conflict"` {
		t.Errorf("the key of another request answers %+v", other)
	}
}
