package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// origins come from pages of elsewhere, by names that resolve to this machine.
func origins(t *testing.T, s *site) {
	token := bearer(s.token("--allow", everything))
	for _, host := range []string{
		"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "carrel.example.evil.example", "10.0.0.1", "[::2]", "0.0.0.0", "evil.example#localhost",
	} {
		for _, target := range []string{"/mcp", "/sse", "/healthz", "/metrics", "/.well-known/oauth-protected-resource"} {
			if a := s.ask("GET", target, "", token, "Host: "+host); a.status != http.StatusForbidden && a.status != http.StatusBadRequest {
				t.Errorf("host %s: %s: %+v", host, target, a)
			}
		}
	}
	if a := s.ask("POST", "http://evil.example/mcp", initialize, token); a.status != http.StatusForbidden {
		t.Errorf("a host in the target: %+v", a)
	}
	for _, origin := range []string{
		"null", "http://evil.example", "https://good.example.evil.example", "https://good.example:444", "http://good.example", "https://GOOD.example.",
		"file://", "http://carrel.example@evil.example", "http://localhost.evil.example", "https://good.example, https://evil.example", "*", "",
	} {
		for _, method := range []string{"POST", "GET", "OPTIONS"} {
			a := s.ask(method, "/mcp", "", token, "Origin: "+origin, "Host: carrel.example", "Access-Control-Request-Method: POST")
			if a.status != http.StatusForbidden || a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s from the origin %q: %+v", method, origin, a)
			}
		}
	}
	if a := s.ask("POST", "/mcp", initialize, token, "Origin: https://good.example", "Origin: https://evil.example"); a.status != http.StatusForbidden {
		t.Errorf("two origins: %+v", a)
	}
	a := s.ask("POST", "/mcp", initialize, token, "Origin: https://good.example")
	if a.status != http.StatusOK || a.header.Get("Access-Control-Allow-Origin") != "https://good.example" || a.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("a page that is allowed: %+v", a)
	}
	if a := s.ask("POST", "/mcp", initialize, "Origin: https://good.example"); a.status != http.StatusUnauthorized {
		t.Errorf("a page that is allowed, without a token: %+v", a)
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/json2", "text/json"} {
		if a := s.ask("POST", "/mcp", initialize, token, "Content-Type: "+kind); a.status != http.StatusUnsupportedMediaType {
			t.Errorf("content type %q: %+v", kind, a)
		}
	}
}

// smuggling sends requests that two servers could read in two ways, and headers that
// none should. Each connection has one answer, and what hides in a body is not one
// more request.
func smuggling(t *testing.T, s *site) {
	token := bearer(s.token("--allow", everything))
	hidden := "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + token + "\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"two lengths":               head + "Content-Length: 2\r\nContent-Length: 50\r\n\r\n{}" + hidden,
		"lengths in a list":         head + "Content-Length: 2, 50\r\n\r\n{}" + hidden,
		"a negative length":         head + "Content-Length: -1\r\n\r\n" + hidden,
		"a signed length":           head + "Content-Length: +2\r\n\r\n{}" + hidden,
		"a length beyond 64 bit":    head + "Content-Length: 99999999999999999999\r\n\r\n{}" + hidden,
		"another encoding":          head + "Transfer-Encoding: gzip\r\n\r\n{}" + hidden,
		"an odd encoding":           head + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}" + hidden,
		"two encodings":             head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"a space before a colon":    head + "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}" + hidden,
		"an encoding, and a length": head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n" + hidden,
		"as above, of a message":    head + fmt.Sprintf("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(list), list) + hidden,
		"a folded header":           head + "X: y\r\n z: w\r\nContent-Length: 0, 9\r\n\r\n" + hidden,
		"a bad chunk":               head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n" + hidden,
		"a chunk too long":          head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n" + hidden,
		"a chunk with much said":    head + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 100_000) + "\r\n{}\r\n0\r\n\r\n" + hidden,
		"two hosts":                 "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n" + hidden,
		"no host":                   "GET /healthz HTTP/1.1\r\n\r\n" + hidden,
		"a NUL in a header":         "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n" + hidden,
		"a NUL in the target":       "GET /health\x00z HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden,
		"huge headers":              "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 200_000) + "\r\n\r\n" + hidden,
		"many headers":              "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: y\r\n", 20_000) + "\r\n" + hidden,
		"a huge target":             "GET /" + strings.Repeat("x", 200_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n" + hidden,
		"HTTP/2":                    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/3.7":                  "GET /healthz HTTP/3.7\r\nHost: localhost\r\n\r\n" + hidden,
		"TLS":                       "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 200) + "\r\n\r\n",
		"nonsense":                  "\x00\x01\x02\r\n\r\n" + hidden,
	} {
		c := s.dial()
		io.WriteString(c, text)
		r := bufio.NewReader(c)
		if a := read(r); a.err == nil && (a.status < 400 || a.status == http.StatusInternalServerError) {
			t.Errorf("%s: %+v", name, a)
		}
		if a := read(r); a.err == nil {
			t.Errorf("%s: a second answer: %+v", name, a)
		}
		c.Close()
	}
	if a := s.ask("POST", "/mcp", initialize, token, "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"); a.status != http.StatusOK {
		t.Errorf("an upgrade is passed over: %+v", a)
	}
}

// methods asks for what endpoints do not do.
func methods(t *testing.T, s *site) {
	token := bearer(s.token("--allow", everything))
	for _, method := range []string{"PUT", "PATCH", "OPTIONS", "TRACE", "BREW", "PROPFIND", "HEAD", "get", "POST2", "M-SEARCH"} {
		for _, path := range []string{"/mcp", "/sse", "/message", "/agents/x/mcp", "/healthz", "/metrics", "/nothing", "/.well-known/oauth-protected-resource"} {
			if method == "HEAD" && (path == "/healthz" || strings.HasPrefix(path, "/.well-known")) {
				continue
			}
			for _, h := range []string{token, ""} {
				a := s.ask(method, path, "", h)
				if a.err == nil || method == "HEAD" {
					if a.status < 400 || a.status >= 500 || h == "" && a.status != 401 && a.status != 405 {
						t.Errorf("%s %s with %.20q: %+v", method, path, h, a)
					}
				}
				if strings.Contains(a.body, "carrel_") {
					t.Errorf("%s %s gives the token back", method, path)
				}
			}
		}
	}
	if a := s.raw("CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.status < 400 {
		t.Errorf("CONNECT: %+v", a)
	}
}

// urls tries paths that name no endpoint.
func urls(t *testing.T, s *site) {
	token := bearer(s.token("--allow", everything))
	for _, path := range []string{
		"/agents/../x", "/agents/x/..", "/agents/%2e%2e/x", "/agents/%2E%2e%2fx", "/agents/..%2fx", "/%2e%2e/%2e%2e/etc/passwd", "//agents/x", "/agents//x", "/agents/./x",
		"/agents", "/agents/", "/workspaces", "//", "/repos/app", "/etc", "/agents/x/.git", "/agents/.GIT", "/agents/.git/config", "/agents/x%00", "/agents/x%0a", "/agents/x%0d%0aX:y",
		"/agents/x%7f", "/agents/a%20b", "/agents/x%5cy/..%5c", "/agents/" + strings.Repeat("x", 300), "/agents" + strings.Repeat("/x", 600), "/agents/%ff%fe",
		"/agents/x%2f..%2f..%2fworkspaces", "/AGENTS/x", "/agents/x/mcp", "/agents/%c0%ae%c0%ae/x", "/agents/x;y=/..", "/./agents/x", "/agents/%252e%252e",
	} {
		if path == "/agents/x/mcp" || path == "/agents/%252e%252e" { // fine as names: nothing is decoded twice
			continue
		}
		for _, door := range []string{"/mcp", "/sse", "/message?sessionId=x"} {
			method, body := "POST", initialize
			if door == "/sse" {
				method, body = "GET", ""
			}
			a := s.ask(method, path+door, body, token)
			ok := a.status == http.StatusNotFound || a.status == http.StatusBadRequest
			if at := a.header.Get("Location"); a.status >= 300 && a.status < 400 {
				ok = strings.HasPrefix(at, "/") && !strings.HasPrefix(at, "//") && !strings.Contains(at, "..")
			}
			if !ok {
				t.Errorf("%s %s%s: %d %.300s", method, path, door, a.status, a.body)
			}
		}
	}
	for _, target := range []string{"/mcp/", "/mcp/mcp", "/mcp/..", "/sse/", "/mcp%2f", "/%6dcp/", "/mcp;x", "/metrics/", "/healthz/", "/readyz/x", "/mcp%00", "*", "mcp", "/..", "/%"} {
		if a := s.ask("POST", target, initialize, token); a.status == 200 || a.status >= 500 {
			t.Errorf("POST %s: %+v", target, a)
		}
	}
}

// bodies sends JSON that is none, or too much of it, to both doors.
func bodies(t *testing.T, s *site) {
	token := s.token("--allow", everything)
	headers := s.begin("/mcp", token)
	sse, end := s.stream("/sse", bearer(token))
	defer end()
	go io.Copy(io.Discard, sse)
	post := s.postOf(t, token)
	deep := strings.Repeat("[", 1_000_000)
	tool := func(args string) string { return call(9, "readFile", args) }
	for name, body := range map[string]string{
		"empty": " ", "no JSON": "hello", "bytes": "\x00\xff\xfe", "half": `{"jsonrpc":"2.0","id":1,`, "a number": "42", "null": "null", "a string": `"x"`,
		"a batch": `[` + list + `,` + list + `]`, "an empty batch": "[]", "a batch of batches": "[[[]]]",
		"deep": deep, "deep objects": strings.Repeat(`{"a":`, 500_000), "deep and closed": deep + strings.Repeat("]", len(deep)),
		"deep params":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + deep + strings.Repeat("]", len(deep)) + `}`,
		"deep arguments": tool(strings.Repeat(`{"path":`, 9_000) + "1" + strings.Repeat("}", 9_000)),
		"duplicates":     `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list","METHOD":"initialize"}`,
		"huge numbers":   `{"jsonrpc":"2.0","id":1e999999999,"method":"ping"}`, "long numbers": `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1_000_000) + `,"method":"ping"}`,
		"a huge limit": tool(`{"path":"x","limit":1e400}`), "a long limit": tool(`{"path":"x","limit":` + strings.Repeat("9", 100_000) + `}`),
		"invalid UTF-8": tool("{\"path\":\"\xff\xfe\xc3\x28\"}"), "surrogates": tool(`{"path":"\ud800"}`), "a NUL": tool(`{"path":"a\u0000b"}`),
		"a key of a megabyte": tool(`{"` + strings.Repeat("k", 1<<20) + `":1}`), "many keys": tool(`{` + strings.Repeat(`"k":1,`, 200_000) + `"path":"x"}`),
		"a method of a megabyte": `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 1<<20) + `"}`,
		"a tool of a megabyte":   call(1, strings.Repeat("t", 1<<20), "{}"), "an id of a megabyte": `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 1<<20) + `","method":"ping"}`,
		"other version": `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "unknown method": `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "id null": `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		"id an object": `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "a prototype": tool(`{"__proto__":{"path":"a"},"constructor":1}`), "a BOM": "\ufeff" + list,
		"a bad pattern": call(1, "grep", `{"pattern":"((((((((((a{1000}){1000}){1000}){1000}"}`), "a slow pattern": call(1, "grep", `{"pattern":"(a*)*b","path":"/"}`),
		"a bad glob": call(1, "glob", `{"pattern":"`+strings.Repeat("{a,", 5_000)+`"}`), "a wide glob": call(1, "glob", `{"pattern":"/`+strings.Repeat("{a,b}", 200)+`"}`),
		"a cursor": call(1, "glob", `{"pattern":"/**","cursor":"`+strings.Repeat("A", 100_000)+`"}`),
	} {
		a := s.ask("POST", "/mcp", body, headers...)
		if a.err != nil || a.status >= 500 || a.status == 404 {
			t.Errorf("%s: %d %.300s %v", name, a.status, a.body, a.err)
		}
		if strings.Contains(a.body, "internal error") || len(a.body) > 3<<20 {
			t.Errorf("%s: %d bytes: %.300s", name, len(a.body), a.body)
		}
		if b := s.ask("POST", post, body, bearer(token)); b.err != nil || b.status >= 500 || b.status == 404 {
			t.Errorf("%s at the older door: %d %.300s %v", name, b.status, b.body, b.err)
		}
		if a := s.ask("POST", "/mcp", list, headers...); a.status != http.StatusOK {
			t.Fatalf("after %s: %+v", name, a)
		}
	}
}

// postOf opens a stream of the older transport, which is read, and returns where its
// client posts.
func (s *site) postOf(t *testing.T, token string) string {
	events, end := s.stream("/sse", bearer(token))
	t.Cleanup(end)
	post := s.post(events)
	go io.Copy(io.Discard, events)
	return post
}

// sizes sends bodies that are too large, by what they say and by what they are.
func sizes(t *testing.T, s *site) {
	headers := s.begin("/mcp", s.token("--allow", everything))
	large := strings.Repeat("x", 97<<20)
	if a := s.ask("POST", "/mcp", large, headers...); a.err == nil && a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %s", a.status, a.body)
	}
	c := s.dial()
	defer c.Close()
	io.WriteString(c, request("POST", "/mcp", "", append(headers, "Transfer-Encoding: chunked", "Content-Type: application/json")...))
	go func() {
		chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, large[:1<<20])
		for range 200 {
			if _, err := io.WriteString(c, chunk); err != nil {
				return
			}
		}
	}()
	if a := read(bufio.NewReader(c)); a.err == nil && a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body in chunks: %d %s", a.status, a.body)
	}
	if a := s.raw(strings.Replace(request("POST", "/mcp", "{}", headers...), "Content-Length: 2", "Content-Length: 999999999999", 1)); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is said to be large: %d %s", a.status, a.body)
	}
}

// slow keeps connections without ever finishing a request, or reading an answer.
// Others are served meanwhile; a stranger's connection does not last.
func slow(t *testing.T, s *site) {
	token := s.token("--allow", everything)
	headers := s.begin("/mcp", token)
	s.ask("POST", "/mcp", call(3, "workspace.create", `{"path":"/agents/slow"}`), headers...)
	s.ask("POST", "/mcp", call(4, "writeFile", `{"path":"long","content":"`+strings.Repeat("0123456789abcdef", 2_000)+`"}`), headers...)
	strangers := map[string]string{
		"half a line":     "POST /mc",
		"half a header":   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-",
		"no body":         "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
		"no last chunk":   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
		"a foreign host":  "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n",
		"a foreign page":  "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\nContent-Length: 1000\r\n\r\n",
		"for the health":  "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		"for metadata":    "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		"for no endpoint": "POST /nothing HTTP/1.1\r\nHost: localhost\r\n" + bearer(token) + "\r\nContent-Length: 1000\r\n\r\n",
	}
	var wait sync.WaitGroup
	for name, text := range strangers {
		wait.Go(func() {
			c := s.dial()
			defer c.Close()
			io.WriteString(c, text)
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("%s: the connection lasts: %v", name, err)
			}
		})
	}
	for range 50 { // who has a token has more time, and no more than a share of the room
		c := s.dial()
		defer c.Close()
		io.WriteString(c, strings.Replace(request("POST", "/mcp", "{", headers...), "Content-Length: 1", "Content-Length: 1000", 1))
		d := s.dial()
		defer d.Close()
		for i := range 20 { // answers that nobody reads
			io.WriteString(d, request("POST", "/mcp", call(i, "readFile", `{"path":"long"}`), append(headers, "Connection: keep-alive")...))
		}
		s.stream("/mcp", headers...)
	}
	post := s.postOf(t, token)
	for range 10 {
		if a := s.ask("POST", "/mcp", list, headers...); a.status != http.StatusOK {
			t.Errorf("beside slow clients: %+v", a)
		}
		if a := s.ask("POST", post, list, bearer(token)); a.status != http.StatusAccepted {
			t.Errorf("beside slow clients, at the older door: %+v", a)
		}
	}
	wait.Wait()
}

// many begins sessions without end: the memory stays bounded, and whoever is over the
// limit is told when to come back.
func many(t *testing.T, s *site) {
	token := s.token("--allow", everything)
	limited := 0
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 400 {
				a := s.raw(request("POST", "/mcp", initialize, bearer(token)))
				mu.Lock()
				if a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") != "" {
					limited++
				} else if a.status != http.StatusOK {
					t.Errorf("one more session: %+v", a)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("3200 sessions were asked for, %d refused for the rate", limited)
}
