package web_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/server"
	"carrel.dev/server/auth"
	"carrel.dev/server/mcpwire"
	"carrel.dev/server/web"
	"carrel.dev/workspace"
)

// site is a server that needs tokens, or none if its guard is nil.
type site struct {
	*testing.T
	url     string
	store   *memory.Store
	host    *workspace.Host
	metrics *web.Metrics
	log     log
	stop    context.CancelFunc
	served  chan error
}

// log is what was logged.
type log struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// open serves until the test ends; change may change what is served, and how.
func open(t *testing.T, tokens bool, change func(*web.Config, *mcpwire.Config)) *site {
	t.Helper()
	s := &site{T: t, store: memory.New(nil), metrics: web.NewMetrics("test"), served: make(chan error, 1)}
	repos := mounts.New(nil)
	var err error
	s.host, err = workspace.NewHost(t.Context(), &workspace.Config{
		Store: s.store, Blobs: s.store, Trees: repos, Committer: repos, Ignorer: repos, DataID: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(server.LogHandler(slog.NewJSONHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	mcp := &mcpwire.Config{Tools: "all", Log: logger, Run: s.metrics.Runner(server.Logged(logger, server.Run))}
	cfg := &web.Config{Metrics: s.metrics, Log: logger}
	if tokens {
		cfg.Auth = auth.New(&auth.Config{Tokens: s.store})
		if cfg.Guard, err = auth.NewGuard(&auth.GuardConfig{Auth: cfg.Auth, Log: logger}); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(cfg, mcp)
	}
	servers := map[string]*mcpwire.Server{}
	for _, name := range []string{"a", "b"} {
		own := *mcp
		if own.Project, err = s.host.Project(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		servers[name] = mcpwire.New(&own)
	}
	cfg.Front = mcpwire.NewFront(servers["a"])
	s.metrics.Watch(cfg.Front)
	cfg.Project = func(_ context.Context, name string) (*mcpwire.Server, error) {
		if servers[name] == nil {
			return nil, workspace.Errorf(workspace.NotExist, "there is no project %q", name)
		}
		return servers[name], nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.served <- web.New(cfg).Serve(ctx, l) }()
	t.Cleanup(stop)
	return s
}

// token makes a token for a project.
func (s *site) token(project string, g workspace.Grants) auth.Minted {
	s.Helper()
	m := auth.Mint()
	err := s.store.AddToken(s.Context(), workspace.Token{ID: m.ID, Hash: m.Hash, Project: project, Grants: g, Created: time.Now()})
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// all is everything in a project.
var all = workspace.Grants{Verbs: []workspace.Verb{workspace.VerbAdmin}}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask makes a request; headers are "Name: value".
func (s *site) ask(method, path, body string, headers ...string) answer {
	s.Helper()
	a, err := s.try(method, path, body, headers...)
	if err != nil {
		s.Fatal(err)
	}
	return a
}

func (s *site) try(method, path, body string, headers ...string) (answer, error) {
	r := s.request(method, path, body, headers...)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b)}, err
}

func (s *site) request(method, path, body string, headers ...string) *http.Request {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			continue
		}
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	return r
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}`

// begin begins a session and returns its header.
func (s *site) begin(path string, m auth.Minted) string {
	s.Helper()
	a := s.ask("POST", path, initialize, bearer(m))
	if a.status != http.StatusOK {
		s.Fatalf("initialize: %d %s", a.status, a.body)
	}
	return "Mcp-Session-Id: " + a.header.Get("Mcp-Session-Id")
}

func bearer(m auth.Minted) string { return "Authorization: Bearer " + m.Bearer }

// call is a message that calls a tool.
func call(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}
