package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// interrupted runs a server, lets a client do its work once the server says where
// it is, and interrupts it.
func (w *world) interrupted(client func(url string), args ...string) result {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	var stdout, stderr bytes.Buffer
	said := writerFunc(func(b []byte) (int, error) {
		if at := regexp.MustCompile(`"url": "([^"]+)"`).FindSubmatch(b); at != nil {
			go func() {
				defer cancel() // as Ctrl-C does
				if client != nil {
					client(string(at[1]))
				}
			}()
		}
		return stderr.Write(b)
	})
	err := run(ctx, args, strings.NewReader(""), &stdout, said)
	return result{stdout.String(), stderr.String(), report(&stderr, err), err}
}

func TestServe(t *testing.T) {
	w := newWorld(t)
	var status int
	var greeting struct {
		Result struct{ Instructions string }
	}
	client := func(url string) {
		const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude","version":"1"}}}`
		res, err := http.Post(url, "application/json", strings.NewReader(initialize))
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if status = res.StatusCode; err != nil || json.Unmarshal(b, &greeting) != nil {
			t.Errorf("answered %s, %v", b, err)
		}
	}
	r := w.interrupted(client, "serve", "--addr", "localhost:0", "--repo", "app", "--tool-names", "dotted")
	if r.status != statusOK || r.stdout != "" {
		t.Errorf("got status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
	w.has(r.stderr, "Serving MCP on http://127.0.0.1:")
	w.has(r.stderr, "/repos/app  branch on main, from ")
	if status != http.StatusOK {
		t.Errorf("the client got status %d", status)
	}
	w.has(greeting.Result.Instructions, "/repos/app")
	w.has(greeting.Result.Instructions, "`git.commit`")
}

// TestServeBounds has calls take too long, and a client begin one session too many.
func TestServeBounds(t *testing.T) {
	w := newWorld(t)
	client := func(url string) {
		post := func(session, method, params string) (int, string, string) {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return 0, "", ""
			}
			r.Header.Set("Content-Type", "application/json")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return 0, "", ""
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Error(err)
			}
			return res.StatusCode, res.Header.Get("Mcp-Session-Id"), string(b)
		}
		const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}`
		_, first, _ := post("", "initialize", hello)
		_, _, text := post(first, "tools/call", `{"name":"workspace.create","arguments":{"path":"/agents/a"}}`)
		w.has(text, "the call took longer than 1ns")
		w.has(text, `"limit"`)
		_, second, _ := post("", "initialize", hello)
		for session, want := range map[string]int{first: http.StatusNotFound, second: http.StatusOK} {
			if status, _, text := post(session, "ping", "{}"); status != want {
				t.Errorf("got %d, want %d: %s", status, want, text)
			}
		}
	}
	w.interrupted(client, "serve", "--addr", "localhost:0", "--repo", "app", "--limit-time", "1ns", "--limit-sessions", "1")
	w.misused("--limit-sessions is 0", "serve", "--limit-sessions", "0", "--check-config")
	w.misused("--cache-bytes is 1, less than", "serve", "--cache-bytes", "1", "--check-config")
}

func TestServeListensHereOnly(t *testing.T) {
	w := newWorld(t)
	for _, addr := range []string{"", ":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:80"} {
		w.fails(workspace.Permission, "no authorization is configured", "serve", "--repo", "app", "--addr", addr)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w.fails(workspace.Unavailable, "--addr", "serve", "--repo", "app", "--addr", l.Addr().String())
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:none"} {
		w.misused("--addr", "serve", "--repo", "app", "--addr", addr)
	}
	w.misused("--tools", "serve", "--tools", "some")
	w.misused("--tool-names", "serve", "--tool-names", "some")
	w.misused("no arguments", "serve", "app")
}
