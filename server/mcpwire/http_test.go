package mcpwire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

// Whoever is no client on this machine, and whatever is no message, is refused
// before a session or a tool sees it.
func TestHTTPRefusals(t *testing.T) {
	const ping, most = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 1 << 16
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"}), MaxMessage: most})
	hello := fmt.Sprintf(initialize, "example")
	mcp := "Mcp-Session-Id: " + w.initialize("/mcp", "example")
	bound := "Mcp-Session-Id: " + w.initialize("/agents/a/mcp", "example")
	stream := w.stream("")
	defer stream.cancel()
	post, get, del := http.MethodPost, http.MethodGet, http.MethodDelete
	tests := []struct {
		name, method, path, body string
		headers                  []string
		status                   int
	}{
		{"another host", post, "/mcp", hello, []string{"Host: evil.example"}, 403},
		{"a host that looks like ours", post, "/mcp", hello, []string{"Host: 127.0.0.1.evil.example"}, 403},
		{"another host, on a stream", get, "/sse", "", []string{"Host: evil.example:7717"}, 403},
		{"our host by name", post, "/mcp", hello, []string{"Host: LocalHost:7717"}, 200},
		{"our host by another address", post, "/mcp", hello, []string{"Host: [::1]:80"}, 200},
		{"our host without a port", post, "/mcp", hello, []string{"Host: [::1]"}, 200},
		{"a page from elsewhere", post, "/mcp", hello, []string{"Origin: https://evil.example"}, 403},
		{"a page that looks like ours", post, "/mcp", hello, []string{"Origin: http://localhost.evil.example"}, 403},
		{"a page without an origin", post, "/mcp", hello, []string{"Origin: null"}, 403},
		{"a file", post, "/mcp", hello, []string{"Origin: file://"}, 403},
		{"two origins", post, "/mcp", hello, []string{"Origin: http://localhost", "Origin: https://evil.example"}, 403},
		{"a page of this machine", post, "/mcp", hello, []string{"Origin: http://localhost:6274"}, 200},

		{"no door", get, "/", "", nil, 404},
		{"another door", post, "/mcp/x", hello, nil, 404},
		{"a slash at the end", post, "/mcp/", hello, nil, 404},
		{"no workspace", post, "/agents/mcp", hello, nil, 404},
		{"no workspace's path", post, "/repos/app/mcp", hello, nil, 404},
		{"an odd workspace's path", post, "/agents/../agents/a/mcp", hello, nil, 404},
		{"PUT", http.MethodPut, "/mcp", ping, []string{mcp}, 405},
		{"OPTIONS", http.MethodOptions, "/mcp", "", nil, 405},
		{"POST to a stream", post, "/sse", hello, nil, 405},
		{"GET where messages go", get, "/message", "", nil, 405},

		{"text", post, "/mcp", hello, []string{"Content-Type: text/plain"}, 415},
		{"no type", post, "/mcp", hello, []string{"Content-Type:"}, 415},
		{"text as a message", post, stream.path, ping, []string{"Content-Type: text/plain"}, 415},
		{"a type with a charset", post, "/mcp", hello, []string{"Content-Type: application/json; charset=utf-8"}, 200},
		{"a client that takes pages", post, "/mcp", hello, []string{"Accept: text/html"}, 406},
		{"a client that takes no stream", get, "/mcp", "", []string{mcp, "Accept: application/json"}, 406},
		{"an SSE client that takes no stream", get, "/sse", "", []string{"Accept: application/json"}, 406},
		{"a client that takes anything", post, "/mcp", hello, []string{"Accept: */*"}, 200},
		{"a client that does not say", post, "/mcp", hello, []string{"Accept:"}, 200},

		{"nothing", post, "/mcp", "", []string{mcp}, 400},
		{"no JSON", post, "/mcp", "hello", []string{mcp}, 400},
		{"a batch", post, "/mcp", "[" + ping + "]", []string{mcp}, 400},
		{"too long", post, "/mcp", strings.Repeat(" ", most+1) + ping, []string{mcp}, 413},
		{"no JSON as a message", post, stream.path, "hello", nil, 400},
		{"too long a message", post, stream.path, strings.Repeat(" ", most+1) + ping, nil, 413},

		{"no session", post, "/mcp", ping, nil, 400},
		{"no session, a notification", post, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 400},
		{"no session to listen for", get, "/mcp", "", nil, 400},
		{"no session to end", del, "/mcp", "", nil, 400},
		{"no session for a message", post, "/message", ping, nil, 400},
		{"an unknown session", post, "/mcp", ping, []string{"Mcp-Session-Id: unknown"}, 404},
		{"an unknown session, initialize", post, "/mcp", hello, []string{"Mcp-Session-Id: unknown"}, 404},
		{"an unknown session, a notification", post, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{"Mcp-Session-Id: unknown"}, 404},
		{"an unknown session, a response", post, "/mcp", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{"Mcp-Session-Id: unknown"}, 404},
		{"an unknown session to listen for", get, "/mcp", "", []string{"Mcp-Session-Id: unknown"}, 404},
		{"an unknown session to end", del, "/mcp", "", []string{"Mcp-Session-Id: unknown"}, 404},
		{"an unknown session for a message", post, "/message?sessionId=unknown", ping, nil, 404},
		{"a session of another endpoint", post, "/mcp", ping, []string{bound}, 404},
		{"a session of another endpoint, bound", post, "/agents/b/mcp", ping, []string{bound}, 404},
		{"a session of another endpoint to end", del, "/mcp", "", []string{bound}, 404},
		{"a session of the other transport", post, strings.Replace(stream.path, "/message", "/agents/a/message", 1), ping, nil, 404},
		{"a session of a stream", post, "/mcp", ping, []string{"Mcp-Session-Id: " + strings.TrimPrefix(stream.path, "/message?sessionId=")}, 404},
		{"a session in its place", post, "/agents/a/mcp", ping, []string{bound}, 200},
		{"another revision", post, "/mcp", ping, []string{mcp, "Mcp-Protocol-Version: 2001-01-01"}, 400},
		{"a response to nothing", post, "/mcp", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{mcp}, 202},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			a := w.do(tt.method, tt.path, tt.body, tt.headers...)
			if a.err != nil || a.status != tt.status {
				t.Errorf("got %d %s, %v; want %d", a.status, a.body, a.err, tt.status)
			}
			if a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") == "" {
				t.Error("the methods that are allowed are not named")
			}
			if h := a.header.Get("Access-Control-Allow-Origin"); h != "" {
				t.Errorf("pages of %s may read this", h)
			}
		})
	}
}

// Since 2026-07-28 a request stands for itself, and its headers repeat its message.
func TestStateless(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	call := func(tool, args string) string { return fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args) }
	for _, step := range []string{
		call("workspace.create", `{"path":"/agents/a"}`),
		call("writeFile", `{"workspace":"/agents/a","path":"f","content":"x"}`),
	} {
		a := w.modern("tools/call", step, "")
		if res := a.message(t).decode(t); res.IsError || a.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s answers %+v", step, a)
		}
	}
	if res := w.modern("tools/call", call("readFile", `{"path":"f"}`), "").message(t).decode(t); string(res.Meta["code"]) != `"unbound"` {
		t.Errorf("what was created binds the next request: %+v", res)
	}
	ping, list := modernBody("ping", "", ""), modernBody("tools/list", "", "")
	status := modernBody("tools/call", call("git.status", `{}`), "")
	tests := []struct {
		name, method, body string
		headers            []string
		status, code       int
	}{
		{"a session that nobody has", "POST", list, append(modernHeaders("tools/list", ""), "Mcp-Session-Id: unknown"), 200, 0},
		{"discovery", "POST", modernBody("server/discover", "", ""), modernHeaders("server/discover", ""), 200, 0},
		{"no version in the header", "POST", list, []string{"Mcp-Method: tools/list"}, 400, -32020},
		{"an older version in the header", "POST", list, append(modernHeaders("tools/list", ""), "Mcp-Protocol-Version: 2025-11-25"), 400, -32020},
		{"no version in the message", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modernHeaders("tools/list", ""), 400, -32602},
		{"a version that is not there yet", "POST", strings.ReplaceAll(list, "2026-07-28", "2027-01-01"), append(modernHeaders("tools/list", ""), "Mcp-Protocol-Version: 2027-01-01"), 400, -32022},
		{"no method in the header", "POST", list, append(modernHeaders("", ""), "Mcp-Method:"), 400, -32020},
		{"another method in the header", "POST", list, modernHeaders("ping", ""), 400, -32020},
		{"another name in the header", "POST", status, modernHeaders("tools/call", "readFile"), 400, -32020},
		{"no name in the header", "POST", status, append(modernHeaders("tools/call", ""), "Mcp-Name:"), 400, -32020},
		{"an unknown method", "POST", modernBody("no/such", "", ""), modernHeaders("no/such", ""), 404, -32601},
		{"an unknown tool", "POST", modernBody("tools/call", call("none", `{}`), ""), modernHeaders("tools/call", "none"), 400, -32602},
		{"a response", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, modernHeaders("", ""), 400, -32600},
		{"a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/none"}`, modernHeaders("notifications/none", ""), 202, 0},
		{"a stream", "GET", "", modernHeaders("", ""), 405, -32600},
		{"ending a session", "DELETE", "", modernHeaders("", ""), 405, -32600},
		{"ping", "POST", ping, modernHeaders("ping", ""), 404, -32601},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			a := w.do(tt.method, "/mcp", tt.body, tt.headers...)
			if a.err != nil || a.status != tt.status || a.code() != tt.code || a.header.Get("Mcp-Session-Id") != "" {
				t.Errorf("answered %+v; want %d and code %d", a, tt.status, tt.code)
			}
		})
	}
	all := w.modern("subscriptions/listen", `"notifications":{"toolsListChanged":true}`, "").messages(t)
	if len(all) != 2 || all[0].Method != "notifications/subscriptions/acknowledged" || string(all[1].ID) != "1" {
		t.Errorf("listening to nothing gives %v", all)
	}
}

// A workspace in the URL binds, in both eras and on both transports.
func TestBoundEndpoint(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	id := w.initialize("/agents/a/mcp", "example")
	call := func(tool, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	}
	if res := w.post("/agents/a/mcp", id, call("workspace.create", `{}`)).message(t).decode(t); res.IsError {
		t.Fatalf("create: %+v", res)
	}
	if res := w.post("/agents/a/mcp", id, call("readFile", `{"workspace":"/agents/b","path":"f"}`)).message(t).decode(t); string(res.Meta["code"]) != `"not_exist"` {
		t.Errorf("another workspace: %+v", res)
	}
	s := w.stream("/agents/a")
	if res := s.ask(call("writeFile", `{"path":"f","content":"x"}`)).decode(t); res.IsError {
		t.Errorf("over SSE: %+v", res)
	}
	body := modernBody("tools/call", `"name":"readFile","arguments":{"path":"f"}`, "")
	a := w.do("POST", "/agents/a/mcp", body, modernHeaders("tools/call", "readFile")...)
	if res := a.message(t).decode(t); res.IsError || res.Content[0].Text != "x" {
		t.Errorf("stateless: %+v", a)
	}
}

func TestInitializeOnceOnHTTP(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	if a := w.post("/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":"me"}}`); a.code() != -32602 || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("initialize of another type: %+v", a)
	}
	id := w.initialize("/mcp", "example")
	if a := w.post("/mcp", id, fmt.Sprintf(initialize, "example")); a.code() != -32600 || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("initialize again: %+v", a)
	}
	s := w.stream("")
	if m := s.ask(fmt.Sprintf(initialize, "example")); m.Error != nil {
		t.Errorf("initialize: %s", m.line)
	}
	if m := s.ask(fmt.Sprintf(initialize, "example")); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("initialize again: %s", m.line)
	}
}

func TestPanicIsContainedOnHTTP(t *testing.T) {
	w := serve(t, &mcpwire.Config{
		Project: newProject(t, map[string]string{"a": "a\n"}), Workspace: "/agents/a",
		Run: func(context.Context, *tools.Tool, tools.Call, json.RawMessage) (tools.Output, error) { panic("secret") },
	})
	id := w.initialize("/mcp", "example")
	s := w.stream("")
	for range 2 {
		answers := []response{
			w.post("/mcp", id, fmt.Sprintf(gitStatus, `1`)).message(t),
			w.modern("tools/call", `"name":"git.status","arguments":{}`, "").message(t),
			s.ask(fmt.Sprintf(gitStatus, `1`)),
		}
		for _, m := range answers {
			if res := m.decode(t); !res.IsError || string(res.Meta["code"]) != `"internal"` || strings.Contains(m.line, "secret") {
				t.Errorf("answered %s", m.line)
			}
		}
	}
}

// TestInstructionsNameTheBinding: a client is told how its own calls find their
// workspace, which depends on where it connects and on the revision it speaks.
func TestInstructionsNameTheBinding(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	discover := func(path string) answer {
		return w.post(path, "", modernBody("server/discover", "", ""), modernHeaders("server/discover", "")...)
	}
	greet := func(path string) answer { return w.post(path, "", fmt.Sprintf(initialize, "x")) }
	for _, tt := range []struct {
		name        string
		got         answer
		says, lacks string
	}{
		{"a session", greet("/mcp"), "calls then act there", "Every call acts on"},
		{"a bound session", greet("/agents/b/mcp"), "Every call acts on the workspace /agents/b", "Sub-agents"},
		{"stateless", discover("/mcp"), "Pass its path in the argument workspace of every call", "calls then act there"},
		{"stateless and bound", discover("/agents/b/mcp"), "Every call acts on the workspace /agents/b", "argument workspace"},
	} {
		if !strings.Contains(tt.got.body, tt.says) || strings.Contains(tt.got.body, tt.lacks) {
			t.Errorf("%s is told %d %s", tt.name, tt.got.status, tt.got.body)
		}
	}
}
