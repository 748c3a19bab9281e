package mcpwire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel.dev/server/mcpwire"
)

// web is a server on HTTP, and whoever asks it.
type web struct {
	t      *testing.T
	url    string
	stop   context.CancelFunc
	served chan error // what Serve returned
}

// serve serves until the test ends, or stop is called.
func serve(t *testing.T, cfg *mcpwire.Config) *web {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &web{t: t, url: "http://" + l.Addr().String(), stop: stop, served: make(chan error, 1)}
	go func() { w.served <- mcpwire.New(cfg).Serve(ctx, l) }()
	t.Cleanup(stop)
	return w
}

// ended waits for Serve to return.
func (w *web) ended() error {
	w.t.Helper()
	select {
	case err := <-w.served:
		return err
	case <-time.After(patience):
		w.t.Fatal("the server goes on")
	}
	return nil
}

// answer is a response of HTTP.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

// request makes a request; headers are "Name: value", and "Name:" removes one.
func (w *web) request(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		switch name, value, _ := strings.Cut(h, ":"); {
		case name == "Host":
			r.Host = strings.TrimSpace(value)
		case value == "":
			r.Header.Del(name)
		case r.Header.Get(name) != "" && name == "Origin":
			r.Header.Add(name, strings.TrimSpace(value))
		default:
			r.Header.Set(name, strings.TrimSpace(value))
		}
	}
	return r
}

// do makes a request and reads its answer to the end.
func (w *web) do(method, path, body string, headers ...string) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := http.DefaultClient.Do(w.request(ctx, method, path, body, headers...))
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b), err}
}

// post sends a message on a session, "" for none.
func (w *web) post(path, session, body string, headers ...string) answer {
	w.t.Helper()
	if session != "" {
		headers = append(headers, "Mcp-Session-Id: "+session)
	}
	return w.do(http.MethodPost, path, body, headers...)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`

// initialize begins a session and returns its id.
func (w *web) initialize(path, client string) string {
	w.t.Helper()
	a := w.post(path, "", fmt.Sprintf(initialize, client))
	id := a.header.Get("Mcp-Session-Id")
	if a.status != http.StatusOK || id == "" {
		w.t.Fatalf("initialize: %+v", a)
	}
	return id
}

// modernHeaders are those of a stateless request.
func modernHeaders(method, name string) []string {
	return []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method, "Mcp-Name: " + name}
}

// modernBody is a stateless request; params and meta are further members.
func modernBody(method, params, meta string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"example","version":"1"}%s}}}`, method, params, meta)
}

// modern makes a stateless request.
func (w *web) modern(method, params, meta string) answer {
	w.t.Helper()
	var p struct{ Name string }
	json.Unmarshal([]byte("{"+params+"}"), &p)
	return w.do(http.MethodPost, "/mcp", modernBody(method, params, meta), modernHeaders(method, p.Name)...)
}

// messages are those of an answer, in JSON or as a stream.
func (a answer) messages(t *testing.T) []response {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	var all []response
	for line := range strings.Lines(a.body) {
		line, isData := strings.CutPrefix(line, "data: ")
		if !isData && strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
			continue
		}
		m := response{line: line}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, m)
	}
	return all
}

// message is the only message of an answer.
func (a answer) message(t *testing.T) response {
	t.Helper()
	all := a.messages(t)
	if len(all) != 1 {
		t.Fatalf("%d messages in %+v", len(all), a)
	}
	return all[0]
}

// code is that of the answer's JSON-RPC error, 0 for none.
func (a answer) code() int {
	var m response
	if json.Unmarshal([]byte(a.body), &m) != nil || m.Error == nil {
		return 0
	}
	return m.Error.Code
}

// sse is a client of the HTTP+SSE transport.
type sse struct {
	web    *web
	path   string // where to post
	lines  chan string
	cancel context.CancelFunc
}

// stream opens a stream below the path of a workspace.
func (w *web) stream(bound string) *sse {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	res, err := http.DefaultClient.Do(w.request(ctx, http.MethodGet, bound+"/sse", ""))
	if err != nil {
		w.t.Fatal(err)
	}
	s := &sse{web: w, lines: make(chan string, 10_000), cancel: cancel}
	go func() {
		defer close(s.lines)
		defer res.Body.Close()
		for scan := bufio.NewScanner(res.Body); scan.Scan(); {
			if data, ok := strings.CutPrefix(scan.Text(), "data: "); ok {
				s.lines <- data
			}
		}
	}()
	s.path = s.line()
	return s
}

// line is the data of the next event, "" at the end of the stream.
func (s *sse) line() string {
	s.web.t.Helper()
	select {
	case line := <-s.lines:
		return line
	case <-time.After(patience):
		s.web.t.Fatal("no event came")
	}
	return ""
}

// next is the next message.
func (s *sse) next() response {
	s.web.t.Helper()
	m := response{line: s.line()}
	if err := json.Unmarshal([]byte(m.line), &m); err != nil {
		s.web.t.Fatalf("%v in %q", err, m.line)
	}
	return m
}

// post sends a message.
func (s *sse) post(body string) answer {
	s.web.t.Helper()
	return s.web.do(http.MethodPost, s.path, body)
}

// ask sends a request, and returns the next message.
func (s *sse) ask(body string) response {
	s.web.t.Helper()
	if a := s.post(body); a.status != http.StatusAccepted {
		s.web.t.Fatalf("%+v to %s", a, body)
	}
	return s.next()
}
