package web_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestRequestIDs names requests, and finds by the name what was logged of them.
func TestRequestIDs(t *testing.T) {
	s := open(t, true, nil)
	m := s.token("a", all)
	session := s.begin("/agents/a/mcp", m)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	random := `^[A-Z2-7]{26}$`
	for _, tt := range []struct{ header, want string }{
		{"X-Request-Id: of-the-proxy_1.2", "^of-the-proxy_1.2$"},
		{"Traceparent: 00-" + trace + "-00f067aa0ba902b7-01", "^" + trace + "$"},
		{"Traceparent: 01-" + trace + "-00f067aa0ba902b7-01-more", "^" + trace + "$"},
		{"", random},
		{"X-Request-Id: two words", random},
		{"X-Request-Id: " + strings.Repeat("x", 129), random},
		{"X-Request-Id: carrel_0123456789", random},
		{"Traceparent: 00-" + trace + "-0000000000000000-01", random},
		{"Traceparent: 00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", random},
		{"Traceparent: 00-" + trace + "-00f067aa0ba902b7-01-more", random},
		{"Traceparent: ff-" + trace + "-00f067aa0ba902b7-01", random},
		{"Traceparent: " + strings.ToUpper("00-"+trace+"-00f067aa0ba902b7-01"), random},
	} {
		a := s.ask("POST", "/agents/a/mcp", call("workspace.create", "{}"), bearer(m), session, tt.header)
		id := a.header.Get("X-Request-Id")
		if a.status != 200 || !regexp.MustCompile(tt.want).MatchString(id) {
			t.Errorf("%.60s: got %d, id %q, want %s", tt.header, a.status, id, tt.want)
		}
		if got := s.logged(id, "call"); got["principal"] != m.ID || got["workspace"] != "/agents/a" || got["session"] == "" {
			t.Errorf("%.60s: the call's line is %v", tt.header, got)
		}
		s.logged(id, "request")
	}
	refused := s.ask("POST", "/mcp", initialize, "Authorization: Bearer carrel_nonsense", "X-Request-Id: refused-1")
	if got := s.logged("refused-1", "request refused"); refused.header.Get("X-Request-Id") != "refused-1" || got["status"] != 401.0 {
		t.Errorf("refused: %v, logged %v", refused.header, got)
	}
}

// logged returns the last line of a message that was logged for a request. It may be
// written after the answer.
func (s *site) logged(request, msg string) (last map[string]any) {
	s.Helper()
	for deadline := time.Now().Add(patience); last == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		for line := range strings.Lines(s.log.String()) {
			var l map[string]any
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				s.Fatal(err)
			}
			if l["request"] == request && l["msg"] == msg {
				last = l
			}
		}
	}
	if last == nil {
		s.Errorf("no line %q was logged for the request %q", msg, request)
	}
	return last
}
