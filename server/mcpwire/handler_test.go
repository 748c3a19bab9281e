package mcpwire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server/mcpwire"
)

// asking is a server whose tool asks the client something and says what came, and
// one that wants an argument repeated in a header.
func asking(t *testing.T) *mcpwire.Config {
	t.Helper()
	h := mcpserver.NewMCPServer("asking", "1", mcpserver.WithToolCapabilities(false))
	h.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw, err := mcpserver.ClientSessionFromContext(ctx).(mcpwire.Peer).Ask(ctx, "elicitation/create", map[string]any{"message": "why?"})
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(string(raw)), nil
	})
	const schema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`
	h.AddTool(mcp.NewToolWithRawSchema("region", "", json.RawMessage(schema)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("here"), nil
	})
	return &mcpwire.Config{Project: newProject(t, map[string]string{"a": "a\n"}), Handler: h}
}

const askCall = `{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"ask","arguments":{}}}`

// question is the request of a server, of which the id is to be answered.
func question(t *testing.T, line string) (id json.RawMessage) {
	t.Helper()
	var q struct {
		ID     json.RawMessage
		Method string
		Params struct{ Message string }
	}
	if err := json.Unmarshal([]byte(line), &q); err != nil || q.ID == nil || q.Method != "elicitation/create" || q.Params.Message != "why?" {
		t.Fatalf("asked %s", line)
	}
	return q.ID
}

// TestAsk has clients on every transport answer what a call asks them. The response
// goes to the call that asked, and what others send under the same id does not.
func TestAsk(t *testing.T) {
	cfg := asking(t)
	for name, tt := range map[string]struct{ response, want string }{
		"result": {`"result":{"action":"accept"}`, `{"action":"accept"}`},
		"error":  {`"error":{"code":-1,"message":"no such form"}`, "no such form"},
	} {
		response := func(id json.RawMessage) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, tt.response) }
		t.Run(name+"/http", func(t *testing.T) {
			w := serve(t, cfg)
			id, other := w.initialize("/mcp", "example"), w.initialize("/mcp", "example")
			res, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodPost, "/mcp", askCall, "Mcp-Session-Id: "+id))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			asked := question(t, readEvents(t, res, 1)[0].data)
			for _, foreign := range []string{
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"foreign"}`, asked),
				`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","result":{}}`,
			} {
				if a := w.post("/mcp", other, foreign); a.status != http.StatusAccepted {
					t.Errorf("%+v to %s", a, foreign)
				}
			}
			for range 2 { // the second one is nobody's
				if a := w.post("/mcp", id, response(asked)); a.status != http.StatusAccepted {
					t.Errorf("%+v", a)
				}
			}
			checkAnswer(t, readEvents(t, res, 1)[0].data, tt.want)
		})
		t.Run(name+"/sse", func(t *testing.T) {
			s := serve(t, cfg).stream("")
			asked := question(t, s.ask(askCall).line)
			s.post(response(asked))
			checkAnswer(t, s.next().line, tt.want)
		})
		t.Run(name+"/stdio", func(t *testing.T) {
			r := connect(t, cfg)
			r.send(askCall)
			r.send(response(question(t, r.next().line)))
			checkAnswer(t, r.next().line, tt.want)
		})
	}
}

func checkAnswer(t *testing.T, line, want string) {
	t.Helper()
	m := response{line: line}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if res := m.decode(t); string(m.ID) != `"call"` || res.Content[0].Text != want {
		t.Errorf("got %s, want %q", line, want)
	}
}

// TestNobodyIsAsked has clients call that cannot be asked, or go before they answer.
func TestNobodyIsAsked(t *testing.T) {
	w := serve(t, asking(t))
	id := w.initialize("/mcp", "example")
	if a := w.post("/mcp", id, askCall, "Accept: application/json"); !strings.Contains(a.body, "takes no requests") {
		t.Errorf("a client that takes no stream: %+v", a)
	}
	if a := w.modern("tools/call", `"name":"ask","arguments":{}`, ""); !strings.Contains(a.body, "takes no requests") {
		t.Errorf("a client of 2026-07-28: %+v", a)
	}
	res, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodPost, "/mcp", askCall, "Mcp-Session-Id: "+id))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	question(t, readEvents(t, res, 1)[0].data)
	if a := w.do(http.MethodDelete, "/mcp", "", "Mcp-Session-Id: "+id); a.status != http.StatusNoContent {
		t.Errorf("hang up: %+v", a)
	}
	checkAnswer(t, readEvents(t, res, 1)[0].data, "the client is gone")
}

// TestArgumentsInHeaders holds an argument that a tool wants in a header against it.
func TestArgumentsInHeaders(t *testing.T) {
	w := serve(t, asking(t))
	body := modernBody("tools/call", `"name":"region","arguments":{"region":"eu west"}`, "")
	for _, tt := range []struct {
		name   string
		header []string
		status int
	}{
		{"repeated", []string{"Mcp-Param-Region: eu west"}, http.StatusOK},
		{"encoded", []string{"Mcp-Param-Region: =?base64?ZXUgd2VzdA==?="}, http.StatusOK},
		{"missing", nil, http.StatusBadRequest},
		{"another", []string{"Mcp-Param-Region: us"}, http.StatusBadRequest},
		{"not encoded", []string{"Mcp-Param-Region: =?base64?!?="}, http.StatusBadRequest},
	} {
		a := w.do(http.MethodPost, "/mcp", body, append(modernHeaders("tools/call", "region"), tt.header...)...)
		if a.status != tt.status || (a.code() == mcp.HEADER_MISMATCH) != (tt.status == http.StatusBadRequest) {
			t.Errorf("%s: %+v, want %d", tt.name, a, tt.status)
		}
	}
}
