package web_test

import (
	"net/http"
	"testing"

	"carrel.dev/server/mcpwire"
	"carrel.dev/server/web"
)

func TestOrigins(t *testing.T) {
	local := open(t, false, nil)
	hosted := open(t, true, func(c *web.Config, _ *mcpwire.Config) {
		c.Hosts, c.Origins = []string{"carrel.example"}, []string{"https://app.example"}
	})
	open := open(t, true, nil)
	here := local.url
	for _, tt := range []struct {
		name         string
		s            *site
		host, origin string
		refused      bool
	}{
		{"no page", local, "", "", false},
		{"a page of this machine", local, "", "http://localhost:3000", false},
		{"a page from elsewhere", local, "", "https://evil.example", true},
		{"a page whose host was rebound", local, "evil.example", "http://evil.example", true},
		{"a sandboxed page", local, "", "null", true},
		{"by its name", hosted, "carrel.example:443", "", false},
		{"from this machine", hosted, "", here, false},
		{"by another name", hosted, "evil.example", "", true},
		{"a page that is allowed", hosted, "carrel.example", "https://app.example", false},
		{"one like it", hosted, "carrel.example", "https://app.example.evil.example", true},
		{"the same without TLS", hosted, "carrel.example", "http://app.example", true},
		{"a page of the machine of whoever asks", hosted, "carrel.example", "http://localhost", true},
		{"by any name", open, "anything.example", "", false},
		{"a page from anywhere", open, "anything.example", "https://anything.example", true},
	} {
		var headers []string
		if tt.host != "" {
			headers = append(headers, "Host: "+tt.host)
		}
		if tt.origin != "" {
			headers = append(headers, "Origin: "+tt.origin)
		}
		a := tt.s.ask("POST", "/mcp", initialize, headers...)
		if refused := a.status == http.StatusForbidden; refused != tt.refused {
			t.Errorf("%s: %d %s", tt.name, a.status, a.body)
		}
		if allowed := a.header.Get("Access-Control-Allow-Origin"); tt.refused && allowed != "" || tt.s == hosted && !tt.refused && allowed != tt.origin {
			t.Errorf("%s: the browser is told %q", tt.name, allowed)
		}
	}
}

// TestPreflight asks as a browser does before it sends a page's request.
func TestPreflight(t *testing.T) {
	s := open(t, true, func(c *web.Config, _ *mcpwire.Config) { c.Origins = []string{"https://app.example"} })
	ask := func(origin string) answer {
		return s.ask("OPTIONS", "/mcp", "", "Origin: "+origin, "Access-Control-Request-Method: POST",
			"Access-Control-Request-Headers: authorization,content-type,mcp-session-id")
	}
	a := ask("https://app.example")
	if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Headers") != "authorization,content-type,mcp-session-id" {
		t.Errorf("got %d, %v", a.status, a.header)
	}
	if a := ask("https://evil.example"); a.status != http.StatusForbidden {
		t.Errorf("another page: %d", a.status)
	}
	a = s.ask("POST", "/mcp", initialize, "Origin: https://app.example")
	if a.status != http.StatusUnauthorized || a.header.Get("Access-Control-Expose-Headers") == "" {
		t.Errorf("without a token: %d, %v", a.status, a.header)
	}
}
