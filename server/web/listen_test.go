package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel.dev/server/mcpwire"
	"carrel.dev/server/web"
)

// TestListeningIsAStream: a request that is answered by a stream takes no place of
// others, and ends with what let it in.
func TestListeningIsAStream(t *testing.T) {
	s := open(t, true, func(c *web.Config, _ *mcpwire.Config) { c.Limits = web.Limits{InFlight: 1, Rate: -1} })
	m := s.token("a", all)
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	var ended []<-chan error
	for range 3 {
		res, err := http.DefaultClient.Do(s.request("POST", "/mcp", listen, bearer(m), "Accept: application/json, text/event-stream",
			"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", res, err)
		}
		defer res.Body.Close()
		end := make(chan error, 1)
		ended = append(ended, end)
		go func() {
			_, err := io.Copy(io.Discard, res.Body)
			end <- err
		}()
	}
	session := s.begin("/mcp", m)
	lie := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, bearer(m), session,
		"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
	if lie.status != http.StatusBadRequest || strings.Contains(lie.body, "result") {
		t.Errorf("a request that says it is a stream: %d %s", lie.status, lie.body)
	}
	if err := s.store.RevokeToken(t.Context(), "a", m.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, end := range ended {
		select {
		case err := <-end:
			if err != nil {
				t.Errorf("the stream broke off: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("the stream goes on")
		}
	}
}
