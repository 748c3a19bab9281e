package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

func TestHealth(t *testing.T) {
	w := newWorld(t)
	client := func(url string) {
		base := strings.TrimSuffix(url, "/mcp")
		for _, u := range []string{base, base + "/", base + "/healthz"} {
			if r := w.try("", "health", u); r.status != statusOK || r.stdout != "ok\n" {
				t.Errorf("health %s: status %d, %q%s", u, r.status, r.stdout, r.stderr)
			}
		}
		// The server's own setting is where it is asked.
		t.Setenv("CARREL_ADDR", strings.TrimPrefix(base, "http://"))
		if r := w.try("", "health"); r.status != statusOK {
			t.Errorf("health: %s", r.stderr)
		}
	}
	if r := w.interrupted(client, "serve", "--addr", "127.0.0.1:0", "--repo", "app"); r.status != statusOK {
		t.Fatal(r.stderr)
	}
	w.fails(workspace.Unavailable, "no server answers", "health") // it has ended
	w.misused("is no URL of a server", "health", "127.0.0.1:7717")

	ill := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
	}))
	defer ill.Close()
	w.fails(workspace.Unavailable, "the server is not ready: 503 Service Unavailable: stopping", "health", ill.URL)
}

func TestHealthURL(t *testing.T) {
	for _, tt := range []struct{ addr, cert, want string }{
		{"", "", "http://127.0.0.1:7717/readyz"},
		{"0.0.0.0:80", "", "http://127.0.0.1:80/readyz"},
		{":80", "cert.pem", "https://127.0.0.1:80/readyz"},
		{"[::]:80", "", "http://127.0.0.1:80/readyz"},
		{"[::1]:80", "", "http://[::1]:80/readyz"},
	} {
		env := map[string]string{"CARREL_ADDR": tt.addr, "CARREL_TLS_CERT": tt.cert}
		c := &cli{getenv: func(name string) string { return env[name] }}
		if got, err := c.healthURL(nil); err != nil || got != tt.want {
			t.Errorf("%q, %q: got %q, %v, want %q", tt.addr, tt.cert, got, err, tt.want)
		}
	}
}
