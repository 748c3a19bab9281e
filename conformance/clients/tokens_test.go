package clients

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// TestUnauthorized has SDKs connect without a token, or with one that nobody made.
// They are told so, and find out what the endpoint wants.
func TestUnauthorized(t *testing.T) {
	for _, k := range []kind{overHTTP, overSSE} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			at := newWorld(t).serveTokens(k, dotted)
			checkMetadata(t, at.URL)
			for _, token := range []string{"", "made-up"} {
				at.Token = token
				c := mcp.NewClient(&mcp.Implementation{Name: "carrel-conformance", Version: "1"}, nil)
				if _, err := c.Connect(t.Context(), transportOf(at), nil); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
					t.Errorf("the SDK for Go with the token %q: %v", token, err)
				}
				for _, flavour := range []string{"sdk", "client"} {
					var outcome struct{}
					err := startNode(t, flavour).do(connecting{"connect", at}, &outcome)
					if err == nil || !strings.Contains(err.Error(), "401") {
						t.Errorf("%s with the token %q: %v", flavour, token, err)
					}
				}
			}
			played.Add(1)
		})
	}
}

// checkMetadata has the SDKs fetch what a refusal points at.
func checkMetadata(t *testing.T, url string) {
	t.Helper()
	type metadata struct {
		Resource string
		Scopes   []string `json:"scopes_supported"`
		Methods  []string `json:"bearer_methods_supported"`
	}
	check := func(who string, m metadata) {
		t.Helper()
		if m.Resource != url || !slices.Contains(m.Scopes, "carrel:read") || !slices.Equal(m.Methods, []string{"header"}) {
			t.Errorf("%s finds %+v", who, m)
		}
	}
	var outcome struct {
		Status   int
		From     string
		Metadata metadata
	}
	if err := startNode(t, "sdk").do(map[string]any{"op": "metadata", "url": url}, &outcome); err != nil {
		t.Fatal(err)
	}
	check("the SDK for TypeScript", outcome.Metadata)
	if outcome.Status != http.StatusUnauthorized {
		t.Errorf("a request without a token gets %d", outcome.Status)
	}
	found, err := oauthex.GetProtectedResourceMetadata(t.Context(), outcome.From, url, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	check("the SDK for Go", metadata{found.Resource, found.ScopesSupported, found.BearerMethodsSupported})
}
