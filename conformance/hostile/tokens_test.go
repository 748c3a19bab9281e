package hostile

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// everything are the verbs of an agent.
const everything = "read,write,commit,create"

// tokens tries to get in without a token, and with what is none.
func tokens(t *testing.T, s *site) {
	good, other := s.token("--allow", everything), s.token("--project", "other", "--allow", "admin")
	revoked := s.token("--allow", "admin", "--name", "taken back")
	s.revoke("taken back")
	expired := s.token("--allow", "admin", "--expires", time.Now().Add(5*time.Second).UTC().Format(time.RFC3339))
	typo := good[:len(good)-1] + "0"
	if typo == good {
		typo = good[:len(good)-1] + "1"
	}
	for deadline := time.Now().Add(patience); s.ask("POST", "/mcp", initialize, bearer(expired)).status == 200 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	answers := map[string]bool{}
	for name, headers := range map[string][]string{
		"none": {}, "empty": {"Authorization: "}, "the scheme alone": {"Authorization: Bearer"}, "basic": {"Authorization: Basic " + good},
		"mistyped": {bearer(typo)}, "a part": {bearer(good[:20])}, "more": {bearer(good + "0")}, "upper case": {bearer(strings.ToUpper(good))},
		"a hash": {bearer("carrel_" + strings.Repeat("0", 58))}, "revoked": {bearer(revoked)}, "expired": {bearer(expired)},
		"two in one": {bearer(good + ", Bearer " + other)}, "a JWT": {bearer("eyJhbGciOiJub25lIn0.e30.")}, "long": {bearer(strings.Repeat("x", 30_000))},
		"in a cookie": {"Cookie: access_token=" + good}, "in another header": {"X-Authorization: Bearer " + good},
		"bytes": {"Authorization: Bearer \xff\xfe\x80"},
	} {
		for _, at := range []struct{ method, path, body string }{
			{"POST", "/mcp", initialize}, {"GET", "/sse", ""}, {"POST", "/agents/x/mcp", initialize}, {"POST", "/message?sessionId=x", list},
			{"DELETE", "/mcp", ""}, {"GET", "/metrics", ""}, {"POST", "/nothing", "{}"},
		} {
			a := s.ask(at.method, at.path, at.body, headers...)
			if a.status != http.StatusUnauthorized || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer ") {
				t.Errorf("%s: %s %s: %d %v %s", name, at.method, at.path, a.status, a.header, a.body)
			}
			if strings.Contains(a.header.Get("WWW-Authenticate"), "invalid_token") {
				answers[a.body] = true
			}
		}
	}
	if len(answers) != 1 {
		t.Errorf("why a token is not valid is told: %v", answers)
	}
	for _, target := range []string{"/mcp?access_token=" + good, "/sse?x=" + good, "/agents/x/mcp?token=" + good} {
		if a := s.ask("POST", target, initialize, bearer(good)); a.status != http.StatusBadRequest {
			t.Errorf("a token in the URL: %d %s", a.status, a.body)
		}
	}
	s.ask("GET", "/"+good+"/mcp", "")
	s.ask("GET", "/agents/"+good+"/sse", "")
	if a := s.ask("POST", "/mcp", initialize, bearer(good), bearer(other)); a.status != http.StatusBadRequest {
		t.Errorf("two headers: %d", a.status)
	}
	if a := s.ask("GET", "/metrics", "", bearer(good)); a.status != http.StatusForbidden || !strings.Contains(a.header.Get("WWW-Authenticate"), "insufficient_scope") {
		t.Errorf("figures, without the right to: %+v", a)
	}
	metadata(t, s)
}

// metadata follows the challenges.
func metadata(t *testing.T, s *site) {
	for _, path := range []string{"/mcp", "/sse", "/agents/x/mcp", "/agents/\"x/mcp", "/nothing"} {
		challenge := s.ask("POST", path, initialize).header.Get("WWW-Authenticate")
		_, at, _ := strings.Cut(challenge, `resource_metadata="`)
		at, _, _ = strings.Cut(at, `"`)
		a := s.ask("GET", strings.TrimPrefix(at, "http://carrel.example"), "")
		var m struct{ Resource string }
		if json.Unmarshal([]byte(a.body), &m) != nil || !strings.HasPrefix(m.Resource, "http://carrel.example") {
			t.Errorf("%s: challenge %q, metadata %+v", path, challenge, a)
		}
	}
	if a := s.ask("GET", "/mcp", "", "Host: carrel.example\"evil"); a.status == 200 || strings.Contains(a.header.Get("WWW-Authenticate"), "evil") {
		t.Errorf("a host with a quote: %+v", a)
	}
}

// foreign uses what belongs to others: projects, workspaces, sessions.
func foreign(t *testing.T, s *site) {
	mine, theirs := s.token("--allow", everything), s.token("--allow", everything)
	other := s.token("--project", "other", "--allow", "admin")
	narrow := s.token("--allow", everything, "--workspace", "/agents/narrow/*")
	headers := s.begin("/mcp", mine)
	s.ask("POST", "/mcp", call(3, "workspace.create", `{"path":"/agents/foreign"}`), headers...)
	s.ask("POST", "/mcp", call(4, "writeFile", `{"path":"/workspace/f","content":"`+secretContent+`"}`), headers...)
	for name, token := range map[string]string{"of another project": other, "of other workspaces": narrow} {
		for _, path := range []string{"/mcp", "/agents/foreign/mcp"} {
			a := s.stateless(path, token, "readFile", `{"path":"/workspace/f","workspace":"/agents/foreign"}`)
			b := s.stateless(path, token, "readFile", `{"path":"/workspace/f","workspace":"/agents/nowhere"}`)
			if a.status != 200 || strings.Contains(a.body, secretContent) || path == "/mcp" && strings.ReplaceAll(a.body, "foreign", "nowhere") != b.body {
				t.Errorf("a token %s at %s: %d %s, and of one that never was: %s", name, path, a.status, a.body, b.body)
			}
		}
	}
	begun := s.begin("/agents/foreign/mcp", narrow)
	if a := s.ask("POST", "/agents/foreign/mcp", call(5, "readFile", `{"path":"/workspace/f"}`), begun...); !strings.Contains(a.body, "does not exist") {
		t.Errorf("a token of other workspaces on a session of the endpoint: %s", a.body)
	}
	sse, end := s.stream("/sse", bearer(mine))
	defer end()
	post, session := s.post(sse), headers[1]
	for _, tt := range []struct{ name, method, path, body, token, session string }{
		{"another token", "POST", "/mcp", list, theirs, session}, {"another token", "GET", "/mcp", "", theirs, session},
		{"another token", "DELETE", "/mcp", "", theirs, session}, {"another token", "POST", post, list, theirs, ""},
		{"another project", "POST", "/mcp", list, other, session}, {"another project", "DELETE", "/mcp", "", other, session},
		{"another project", "POST", post, list, other, ""}, {"another endpoint", "POST", "/agents/foreign/mcp", list, mine, session},
		{"another endpoint", "DELETE", "/agents/foreign/mcp", "", mine, session}, {"another endpoint", "POST", "/agents/foreign" + post, list, mine, ""},
		{"another door", "POST", "/message?sessionId=" + strings.TrimPrefix(session, "Mcp-Session-Id: "), list, mine, ""},
		{"another door", "POST", "/mcp", list, mine, "Mcp-Session-Id: " + post[strings.Index(post, "=")+1:]},
		{"nobody's", "POST", "/mcp", list, mine, "Mcp-Session-Id: AAAAAAAAAAAAAAAAAAAAAAAAAA"}, {"nobody's", "DELETE", "/mcp", "", mine, "Mcp-Session-Id: x"},
		{"nobody's", "GET", "/mcp", "", mine, "Mcp-Session-Id: ../../x"}, {"nobody's", "POST", "/message?sessionId=x", list, mine, ""},
	} {
		if a := s.ask(tt.method, tt.path, tt.body, bearer(tt.token), tt.session); a.status != http.StatusNotFound {
			t.Errorf("the session of %s: %s %s: %d %s", tt.name, tt.method, tt.path, a.status, a.body)
		}
	}
	missed(t, s, mine, theirs, other)
	if a := s.ask("POST", "/mcp", list, headers...); a.status != http.StatusOK {
		t.Errorf("its own session, afterwards: %+v", a)
	}
	if a := s.ask("POST", post, list, bearer(mine)); a.status != http.StatusAccepted {
		t.Errorf("its own stream, afterwards: %+v", a)
	}
}

// missed has others ask for what one client may have missed, by the ids of its events.
func missed(t *testing.T, s *site, mine, theirs, other string) {
	headers := s.begin("/mcp", mine)
	told := strings.Replace(call(6, "batch", `{"workspace":"/agents/foreign","changes":[{"op":"writeFile","path":"g","content":"g"}]}`),
		`"params":{`, `"params":{"_meta":{"progressToken":1},`, 1)
	a := s.ask("POST", "/mcp", told, headers...)
	_, event, _ := strings.Cut(a.body, "id: ")
	event, _, _ = strings.Cut(event, "\n")
	stream, _, ok := strings.Cut(event, "-")
	if !ok || !strings.Contains(a.body, `"id":6`) {
		t.Fatalf("a call that tells how far it is: %+v", a)
	}
	s.secret(stream)
	get := func(path, token, session, last string) answer {
		return s.ask("GET", path, "", bearer(token), session, "Last-Event-ID: "+last)
	}
	session, begun := headers[1], s.begin("/mcp", theirs)[1]
	for name, got := range map[string]answer{
		"another token": get("/mcp", theirs, session, event), "another project": get("/mcp", other, session, event),
		"another endpoint": get("/agents/foreign/mcp", mine, session, event), "a session of nobody": get("/mcp", mine, session+"x", event),
		"a stream as a session": get("/mcp", mine, "Mcp-Session-Id: "+stream, event), "another's session": get("/mcp", mine, begun, event),
		"no number": get("/mcp", theirs, session, stream), "a long one": get("/mcp", theirs, session, strings.Repeat("9", 50_000)+"-1"),
		"a negative one": get("/mcp", theirs, session, stream+"--1"), "a huge one": get("/mcp", theirs, session, stream+"-99999999999999999999"),
	} {
		if got.status != http.StatusNotFound {
			t.Errorf("what was missed, with %s: %+v", name, got)
		}
	}
	if got := get("/mcp", mine, session, event); got.status != http.StatusOK || !strings.Contains(got.body, `"id":6`) {
		t.Errorf("what was missed: %+v", got)
	}
	sse, end := s.stream("/sse", bearer(mine))
	defer end()
	line, err := sse.ReadString('\n')
	s.must(err)
	last := strings.TrimSpace(strings.TrimPrefix(line, "id: "))
	post := s.post(sse)
	for name, token := range map[string]string{"another token": theirs, "another project": other} {
		events, end := s.stream("/sse", bearer(token), "Last-Event-ID: "+last)
		if at := s.post(events); at == post {
			t.Errorf("%s gets the session of a stream", name)
		}
		end()
	}
	if a := s.ask("POST", post, list, bearer(mine)); a.status != http.StatusAccepted {
		t.Errorf("its own stream, afterwards: %+v", a)
	}
}

// cancels has another client cancel the calls of one, by their ids, in both eras and
// at both doors, while they run.
func cancels(t *testing.T, s *site) {
	mine, theirs := s.token("--allow", everything), s.token("--allow", everything)
	a, b := s.begin("/mcp", mine), s.begin("/mcp", theirs)
	s.ask("POST", "/mcp", call(3, "workspace.create", `{"path":"/agents/busy"}`), a...)
	s.ask("POST", "/mcp", call(4, "writeFile", `{"path":"big","content":"`+strings.Repeat(strings.Repeat("ab ", 2000)+`\n`, 400)+`"}`), a...)
	sse, end := s.stream("/sse", bearer(theirs))
	defer end()
	post := s.post(sse)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			legacy := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
			modern := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
			s.ask("POST", "/mcp", legacy, b...)
			s.ask("POST", post, legacy, bearer(theirs))
			s.ask("POST", "/mcp", modern, bearer(theirs), "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: notifications/cancelled")
			s.ask("POST", "/mcp", modern, append(a[1:], bearer(theirs), "Mcp-Protocol-Version: 2026-07-28")...)
		}
	}()
	for range 20 {
		r := s.ask("POST", "/mcp", call(7, "grep", `{"pattern":"(a|b)+ (b|a)+c","path":"/workspace"}`), a...)
		if r.status != http.StatusOK || !strings.Contains(r.body, `"id":7`) || strings.Contains(r.body, "cancel") {
			t.Errorf("a call that another client cancels: %+v", r)
		}
	}
	close(stop)
	<-stopped
}

// ended revokes a token, and lets one expire, while streams of theirs are open at
// both doors: the streams end, and what is asked for then is refused.
func ended(t *testing.T, s *site) {
	for _, how := range []string{"revoked", "expired"} {
		flags := []string{"--allow", everything, "--name", how}
		if how == "expired" {
			flags = append(flags, "--expires", time.Now().Add(10*time.Second).UTC().Format(time.RFC3339))
		}
		token := s.token(flags...)
		mcp, endMCP := s.stream("/mcp", s.begin("/mcp", token)...)
		sse, endSSE := s.stream("/sse", bearer(token))
		post := s.post(sse)
		if how == "revoked" {
			s.revoke(how)
		}
		over := make(chan error, 2)
		for _, r := range []*bufio.Reader{mcp, sse} {
			go func() { _, err := io.Copy(io.Discard, r); over <- err }()
		}
		for range 2 {
			if err := <-over; err != nil {
				t.Errorf("%s: a stream goes on, or broke off: %v", how, err)
			}
		}
		for _, at := range []string{"/mcp", post} {
			if a := s.ask("POST", at, initialize, bearer(token)); a.status != http.StatusUnauthorized {
				t.Errorf("%s: %s: %+v", how, at, a)
			}
		}
		endMCP()
		endSSE()
	}
}
