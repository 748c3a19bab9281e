package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel.dev/server"
	"carrel.dev/server/auth"
	"carrel.dev/server/mcpwire"
	"carrel.dev/server/web"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// patience is how long a test waits for what has to come.
const patience = 20 * time.Second

func TestHealth(t *testing.T) {
	var broken error
	s := open(t, true, func(c *web.Config, _ *mcpwire.Config) {
		c.Ready = func(context.Context) error { return broken }
		c.Drain = time.Second
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := s.ask("GET", path, ""); a.status != http.StatusOK || a.body != "ok\n" {
			t.Errorf("%s: %d %q", path, a.status, a.body)
		}
	}
	broken = fmt.Errorf("the disk is gone from /very/private")
	if a := s.ask("GET", "/readyz", ""); a.status != http.StatusServiceUnavailable || strings.Contains(a.body, "private") {
		t.Errorf("without a store: %d %q", a.status, a.body)
	}
	broken = nil
	s.stop()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		a, err := s.try("GET", "/readyz", "")
		if err == nil && a.status == http.StatusServiceUnavailable && a.body == "stopping\n" {
			break // while it still takes requests
		}
		if time.Now().After(deadline) || err != nil {
			t.Fatalf("it stops without saying so: %d %q, %v", a.status, a.body, err)
		}
	}
	if err := <-s.served; err != nil {
		t.Error(err)
	}
}

func TestTokensAreNeeded(t *testing.T) {
	s := open(t, true, nil)
	m := s.token("a", all)
	gone := s.token("nowhere", all)
	for _, tt := range []struct {
		method, path, body string
		header             string
		want               int
	}{
		{"POST", "/mcp", initialize, "", 401},
		{"GET", "/sse", "", "", 401},
		{"POST", "/agents/x/mcp", initialize, "", 401},
		{"POST", "/message?sessionId=x", "{}", "", 401},
		{"GET", "/metrics", "", "", 401},
		{"GET", "/nothing", "", "", 401},
		{"POST", "/mcp", initialize, "Authorization: Bearer carrel_nonsense", 401},
		{"POST", "/mcp?access_token=" + m.Bearer, initialize, "", 400},
		{"POST", "/mcp", initialize, bearer(gone), 403},
		{"POST", "/mcp", initialize, bearer(m), 200},
		{"GET", "/nothing", "", bearer(m), 404},
		{"GET", auth.MetadataPath, "", "", 200},
		{"GET", auth.MetadataPath + "/agents/x/mcp", "", "", 200},
	} {
		a := s.ask(tt.method, tt.path, tt.body, tt.header)
		if a.status != tt.want {
			t.Errorf("%s %s with %.24q: %d, want %d: %s", tt.method, tt.path, tt.header, a.status, tt.want, a.body)
		}
		if challenge := a.header.Get("WWW-Authenticate"); (a.status == 400 || a.status == 401) != strings.Contains(challenge, "resource_metadata=") {
			t.Errorf("%s %s: challenge %q", tt.method, tt.path, challenge)
		}
	}
	if strings.Contains(s.log.String(), strings.TrimPrefix(m.Bearer, "carrel_")) {
		t.Error("a token is in the log")
	}
}

// TestSessionsAreTheirOwners: whoever knows the id of another's session is told, on
// every verb, what is told of one that does not exist.
func TestSessionsAreTheirOwners(t *testing.T) {
	s := open(t, true, nil)
	mine, theirs := s.token("a", all), s.token("a", all)
	session := s.begin("/mcp", mine)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for _, method := range []string{"POST", "GET", "DELETE"} {
		body := ""
		if method == "POST" {
			body = list
		}
		if a := s.ask(method, "/mcp", body, bearer(theirs), session); a.status != http.StatusNotFound {
			t.Errorf("%s by another: %d %s", method, a.status, a.body)
		}
	}
	if a := s.ask("POST", "/mcp", list, bearer(mine), session); a.status != http.StatusOK {
		t.Errorf("afterwards, by its owner: %d %s", a.status, a.body)
	}
	if a := s.ask("POST", "/agents/x/mcp", list, bearer(mine), session); a.status != http.StatusNotFound {
		t.Errorf("at another endpoint: %d", a.status)
	}
}

// TestProjectsAreApart: a token sees its own project, under the same names.
func TestProjectsAreApart(t *testing.T) {
	s := open(t, true, nil)
	a, b := s.token("a", all), s.token("b", all)
	inA, inB := s.begin("/mcp", a), s.begin("/mcp", b)
	create := call("workspace.create", `{"path":"/agents/x"}`)
	if got := s.ask("POST", "/mcp", create, bearer(a), inA); !strings.Contains(got.body, "created workspace") {
		t.Fatal(got.body)
	}
	s.ask("POST", "/mcp", call("writeFile", `{"path":"/workspace/f","content":"of a"}`), bearer(a), inA)
	if got := s.ask("POST", "/mcp", call("workspace.list", `{}`), bearer(b), inB); !strings.Contains(got.body, "no workspaces") {
		t.Errorf("the list of the other: %s", got.body)
	}
	if got := s.ask("POST", "/mcp", call("readFile", `{"path":"/workspace/f","workspace":"/agents/x"}`), bearer(b), inB); !strings.Contains(got.body, "does not exist") {
		t.Errorf("a read by the other: %s", got.body)
	}
	if got := s.ask("POST", "/mcp", create, bearer(b), inB); !strings.Contains(got.body, "created workspace") {
		t.Errorf("one of the same name: %s", got.body)
	}
}

// TestRevokedTokenEndsStreams: on every transport that keeps one open.
func TestRevokedTokenEndsStreams(t *testing.T) {
	s := open(t, true, nil)
	for _, path := range []string{"/mcp", "/sse"} {
		m := s.token("a", all)
		headers := []string{bearer(m), "Accept: text/event-stream"}
		if path == "/mcp" {
			headers = append(headers, s.begin(path, m))
		}
		res, err := http.DefaultClient.Do(s.request("GET", path, "", headers...))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, res, err)
		}
		if err := s.store.RevokeToken(t.Context(), "a", m.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, bufio.NewReader(res.Body))
			ended <- err
		}()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s: the stream broke off: %v", path, err)
			}
		case <-time.After(patience):
			t.Errorf("%s: the stream goes on", path)
		}
		res.Body.Close()
		if a := s.ask("POST", "/mcp", initialize, bearer(m)); a.status != http.StatusUnauthorized {
			t.Errorf("%s: a request of the revoked token: %d", path, a.status)
		}
	}
}

func TestLimits(t *testing.T) {
	gate, entered := make(chan struct{}), make(chan struct{}, 10)
	s := open(t, true, func(c *web.Config, m *mcpwire.Config) {
		c.Limits = web.Limits{InFlight: 2, Rate: -1}
		m.Run = func(ctx context.Context, tool *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
			if tool.Name == "workspace.list" {
				entered <- struct{}{}
				<-gate
			}
			return server.Run(ctx, tool, c, raw)
		}
	})
	m, other := s.token("a", all), s.token("a", all)
	session, others := s.begin("/mcp", m), s.begin("/mcp", other)
	done := make(chan answer, 2)
	for range 2 {
		go func() {
			a, _ := s.try("POST", "/mcp", call("workspace.list", `{}`), bearer(m), session)
			done <- a
		}()
		<-entered
	}
	a := s.ask("POST", "/mcp", call("workspace.list", `{}`), bearer(m), session)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("a third request: %d, Retry-After %q", a.status, a.header.Get("Retry-After"))
	}
	if a := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, bearer(other), others); a.status != http.StatusOK {
		t.Errorf("a request of another: %d", a.status)
	}
	close(gate)
	for range 2 {
		if a := <-done; a.status != http.StatusOK {
			t.Errorf("a request within the limit: %d", a.status)
		}
	}
	if a := s.ask("POST", "/mcp", call("workspace.list", `{}`), bearer(m), session); a.status != http.StatusOK {
		t.Errorf("afterwards: %d", a.status)
	}
}

func TestRate(t *testing.T) {
	s := open(t, true, func(c *web.Config, _ *mcpwire.Config) { c.Limits = web.Limits{Rate: 0.001, Burst: 3} })
	m := s.token("a", all)
	var got []int
	for range 5 {
		got = append(got, s.ask("POST", "/mcp", initialize, bearer(m)).status)
	}
	if fmt.Sprint(got) != "[200 200 200 429 429]" {
		t.Errorf("got %v", got)
	}
	if a := s.ask("POST", "/mcp", initialize, bearer(s.token("a", all))); a.status != http.StatusOK {
		t.Errorf("another token: %d", a.status)
	}
}

func TestMetrics(t *testing.T) {
	s := open(t, true, nil)
	m := s.token("a", all)
	session := s.begin("/mcp", m)
	s.ask("POST", "/mcp", call("workspace.list", `{}`), bearer(m), session)
	s.ask("POST", "/mcp", call("readFile", `{"path":"/x","workspace":"/agents/secret"}`), bearer(m), session)
	reader := s.token("a", workspace.Grants{Verbs: []workspace.Verb{workspace.VerbRead}})
	if a := s.ask("GET", "/metrics", "", bearer(reader)); a.status != http.StatusForbidden {
		t.Errorf("who may only read: %d", a.status)
	}
	a := s.ask("GET", "/metrics", "", bearer(m))
	for _, want := range []string{
		`carrel_call_seconds_count{code="ok",tool="workspace.list"} 1`,
		`carrel_call_seconds_count{code="not_exist",tool="readFile"} 1`,
		`carrel_http_requests_total{endpoint="mcp",status="200"} 3`,
		`carrel_http_requests_total{endpoint="metrics",status="403"} 1`,
		"carrel_sessions 1", "carrel_build_info{", "go_goroutines",
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the figures lack %s", want)
		}
	}
	for _, secret := range []string{"/agents/", m.ID, "/x"} {
		if strings.Contains(a.body, secret) {
			t.Errorf("the figures have %s", secret)
		}
	}
	if t.Failed() {
		t.Log(a.body)
	}
	if line := s.log.String(); !strings.Contains(line, `"tool":"readFile"`) || !strings.Contains(line, `"principal":"`+m.ID+`"`) {
		t.Error("the log does not say who called what")
	}
}
