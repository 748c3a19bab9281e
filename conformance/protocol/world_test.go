package protocol

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel.dev/conformance"
	"carrel.dev/persistence/memory"
	"carrel.dev/server/mcpwire"
	"carrel.dev/server/web"
	"carrel.dev/workspace"
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// bound is the workspace that the endpoint of the program is bound to.
const bound = "/agents/suite"

// serveFixture serves the fixture as carrel serve serves its tools, in this process.
func serveFixture(t *testing.T) string {
	t.Helper()
	store := memory.New(nil)
	host, err := workspace.NewHost(t.Context(), &workspace.Config{Store: store, Blobs: store, DataID: "fixture"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Project(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	metrics := web.NewMetrics("fixture")
	front := mcpwire.NewFront(mcpwire.New(&mcpwire.Config{Project: p, Handler: newFixture()}))
	metrics.Watch(front)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- web.New(&web.Config{Front: front, Metrics: metrics}).Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("the fixture's server: %v", err)
		}
	})
	return "http://" + l.Addr().String() + "/mcp"
}

// serveCarrel starts the program on a repository, and returns the endpoint of a
// workspace.
func serveCarrel(t *testing.T) string { return newWorld(t).serve() + bound + "/mcp" }

// serveTokens is serveCarrel of a program that wants tokens. The suites cannot be
// given one, so that a proxy adds it.
func serveTokens(t *testing.T) string {
	w := newWorld(t)
	token := strings.TrimSpace(w.carrel("token", "create", "--project", "default", "--allow", "read,write,commit,create", "--expires", "1d"))
	to, err := url.Parse(w.serve("--tokens"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
		// The body is read before it is forwarded: an answer that comes while it is
		// being read ends the reading, and with that the connection.
		body, err := io.ReadAll(r.In.Body)
		if err != nil {
			t.Errorf("the proxy: %v", err)
		}
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
	}})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL + bound + "/mcp"
}

// world is a data directory with a repository and a workspace.
type world struct {
	*testing.T
	dir, binary string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir()}
	var err error
	if w.binary, err = conformance.Build(w.dir); err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(w.dir, "app")
	w.run("git", "init", "-q", "-b", "main", repo)
	if err := os.WriteFile(filepath.Join(repo, "main.go"), []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.run("git", "-C", repo, "add", "-A")
	w.run("git", "-C", repo, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	w.carrel("repo", "add", repo, "app", "--project", "default")
	w.carrel("call", "--project", "default", "workspace.create", `{"path":"`+bound+`"}`)
	return w
}

func (w *world) run(name string, args ...string) string {
	w.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = w.env()
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

func (w *world) carrel(args ...string) string {
	w.Helper()
	return w.run(w.binary, args...)
}

func (w *world) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "CARREL_DATA=" + filepath.Join(w.dir, "data"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + os.TempDir(),
	}
}

var listening = regexp.MustCompile(`http://[0-9.:]+`)

// serve starts carrel serve and returns its URL. It has to end by itself when it is
// interrupted.
func (w *world) serve(more ...string) string {
	w.Helper()
	cmd := exec.Command(w.binary, append([]string{"serve", "--project", "default", "--addr", "127.0.0.1:0"}, more...)...)
	cmd.Env = w.env()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.Fatal(err)
	}
	found, said := make(chan string, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if at := listening.FindString(lines.Text()); at != "" {
				select {
				case found <- at:
				default:
				}
			}
		}
		said <- all.String()
	}()
	w.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGINT) // if it has ended, Wait tells
		stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer stop.Stop()
		text := <-said
		if err := cmd.Wait(); err != nil || w.Failed() {
			w.Errorf("carrel serve ends with %v and said:\n%s", err, text)
		}
	})
	select {
	case at := <-found:
		return at
	case <-time.After(patience):
		w.Fatal("carrel serve does not say where it listens")
	}
	return ""
}
