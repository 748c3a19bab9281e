package auth_test

import (
	"strings"
	"testing"

	"carrel.dev/server/auth"
)

func TestLogPath(t *testing.T) {
	secret := strings.TrimPrefix(auth.Mint().Bearer, "carrel_")
	for path, want := range map[string]string{
		"/agents/a/mcp":                                  "/agents/a/mcp",
		"/agents/carrel_x/mcp":                           "/agents/carrel_x/mcp",
		"/carrel_" + secret + "/mcp":                     "/[secret]/mcp",
		"/agents/x=carrel_" + secret:                     "/agents/x=[secret]",
		"/eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln/mcp": "/[secret]/mcp",
		"/a\xff": "/a?",
		"/" + strings.Repeat("x", 290) + "/carrel_" + secret: "/" + strings.Repeat("x", 290) + "/[secret]",
	} {
		if got := auth.LogPath(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
