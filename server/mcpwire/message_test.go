package mcpwire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"carrel.dev/server/mcpwire"
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
		{"a resource that is not there", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"carrel:///none"}}`, `7`, -32002},
		{"a URI of others", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, `7`, -32602},
		{"no URI", `{"jsonrpc":"2.0","id":7,"method":"resources/read"}`, `7`, -32602},
		{"a URI of another type", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":5}}`, `7`, -32602},
		{"a long URI", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"carrel:///` + strings.Repeat("%41", 1<<18) + `"}}`, `7`, -32602},
		{"a cursor of others", `{"jsonrpc":"2.0","id":7,"method":"resources/list","params":{"cursor":"!"}}`, `7`, -32602},
		{"subscribing to nothing", `{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{}}`, `7`, -32602},
		{"unsubscribing from nothing", `{"jsonrpc":"2.0","id":7,"method":"resources/unsubscribe","params":{"uri":"x"}}`, `7`, 0},
		{"an unknown prompt", `{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"none"}}`, `7`, -32602},
		{"an unknown argument of a prompt", `{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"review-changes","arguments":{"x":"y"}}}`, `7`, -32602},
		{"completing nothing", `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{}}`, `7`, -32602},
		{"completing an unknown argument", `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"review-changes"},"argument":{"name":"x","value":""}}}`, `7`, -32602},
		{"completing of an unknown prompt", `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"x","value":""}}}`, `7`, -32602},
		{"completing of an unknown template", `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"x:{y}"},"argument":{"name":"path","value":""}}}`, `7`, -32602},
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
		{"initialize again", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}`, `7`, -32600},
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

// A connection has one client; what failed may be tried again.
func TestInitializeOnce(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	if m := r.ask("initialize", `{"clientInfo":"me"}`); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("initialize of another type: %s", m.line)
	}
	r.initialize("example")
	m := r.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude","version":"1"}}`)
	if m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("initialize again: %s", m.line)
	}
	if tools, _ := r.list(); tools[0].Name != "workspace.create" {
		t.Errorf("the client is another now: %s", tools[0].Name)
	}
}

func TestUnknownToolNamesTheNearest(t *testing.T) {
	r := connect(t, &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"})})
	r.initialize("claude-ai")
	m := r.ask("tools/call", `{"name":"git-stauts"}`)
	if m.Error == nil || m.Error.Code != -32602 || m.Error.Message != "there is no tool git-stauts (did you mean git_status?)" {
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
