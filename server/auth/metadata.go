package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"carrel.dev/workspace"
)

// MetadataPath is where RFC 9728 has the metadata of a resource. That of an endpoint
// is below it, by the endpoint's path.
const MetadataPath = "/.well-known/oauth-protected-resource"

// metadata are the fields of RFC 9728, section 2.
type metadata struct {
	Resource string   `json:"resource"`
	Name     string   `json:"resource_name"`
	Issuers  []string `json:"authorization_servers,omitempty"`
	Scopes   []string `json:"scopes_supported"`
	Methods  []string `json:"bearer_methods_supported"`
}

// Metadata serves MetadataPath and what is below it, to anybody: the metadata of the
// server and of the endpoints /mcp and /sse, also below the path of a workspace,
// whether there is such a workspace or not.
func (g *Guard) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the methods are GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		base := g.baseOf(r)
		endpoint, ok := strings.CutPrefix(r.URL.Path, MetadataPath)
		if base != nil {
			// Clients put the path of the resource behind the well-known one, with the
			// part of it that a proxy takes away.
			endpoint = strings.TrimPrefix(endpoint, base.Path)
		}
		if !ok || base == nil || endpoint != "" && resourceOf(endpoint) != endpoint {
			http.NotFound(w, r)
			return
		}
		resource := *base
		resource.Path += endpoint
		m := metadata{
			Resource: resource.String(), Name: "Carrel", Issuers: g.cfg.Issuers,
			Scopes: strings.Fields(Scopes(workspace.Verbs...)), Methods: []string{"header"},
		}
		writeJSON(w, r, http.StatusOK, m)
	})
}

// baseOf is the URL of the server as the client of a request knows it, without a
// slash at its end; nil if the request gives itself a host that is not allowed.
func (g *Guard) baseOf(r *http.Request) *url.URL {
	if g.base != nil {
		return g.base
	}
	u := &url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	if again, err := url.Parse(u.String()); err != nil || again.Host != r.Host || strings.ContainsAny(r.Host, `"\`) || !g.cfg.Host(r.Host) {
		return nil
	}
	return u
}

// resourceOf is the path of the endpoint that a request is for, as RFC 9728 takes it
// for a resource; "" for what is none. Messages of the older transport belong to its
// stream.
func resourceOf(path string) string {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return ""
	}
	bound, door := path[:at], path[at+1:]
	if door == "message" {
		door = "sse"
	}
	if door != "mcp" && door != "sse" {
		return ""
	}
	if bound != "" {
		if id, err := workspace.ParseID(bound); err != nil || string(id) != bound || strings.ContainsRune(bound, '"') {
			return ""
		}
	}
	return bound + "/" + door
}

// metadataURL is where the metadata of an endpoint are: the well-known path comes
// before the path of the resource, see RFC 9728, section 3.1.
func metadataURL(base *url.URL, endpoint string) string {
	u := *base
	u.Path = MetadataPath + base.Path + endpoint
	u.RawPath = ""
	return u.String()
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic("auth: texts always encode: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) // a client that is gone gets nothing
	}
}
