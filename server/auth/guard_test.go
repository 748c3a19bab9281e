package auth_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

// front is a world behind a guard, over HTTP. What is let in is told its principal;
// below /admin it has to be an admin.
type front struct {
	*world
	url string
}

func newFront(t *testing.T, configure func(*auth.GuardConfig)) *front {
	t.Helper()
	w := newWorld(t, nil)
	cfg := &auth.GuardConfig{Auth: w.auth, Issuers: []string{w.issuer.URL}, Log: w.log.logger()}
	if configure != nil {
		configure(cfg)
	}
	g, err := auth.NewGuard(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(auth.MetadataPath, g.Metadata())
	mux.Handle(auth.MetadataPath+"/", g.Metadata())
	mux.Handle("/", g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := auth.FromContext(r.Context())
		if strings.HasPrefix(r.URL.Path, "/admin") && !p.Grants.May(workspace.VerbAdmin) {
			g.Forbid(w, r, workspace.VerbAdmin)
			return
		}
		io.WriteString(w, p.ID)
	})))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return &front{w, srv.URL}
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// get makes a request with Authorization headers.
func (f *front) get(path string, authorization ...string) reply {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.url+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	return f.do(r)
}

func (f *front) do(r *http.Request) reply {
	f.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		f.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Header, string(body)}
}

func (f *front) check(name string, r reply, status int, challenge string) {
	f.Helper()
	if got := r.header.Get("WWW-Authenticate"); r.status != status || got != challenge {
		f.Errorf("%s: got %d and\n%s\nwant %d and\n%s", name, r.status, got, status, challenge)
	}
}

func TestGuard(t *testing.T) {
	f := newFront(t, nil)
	m, raw := f.token(nil), f.jwt(nil)
	for _, tt := range []struct{ authorization, who string }{
		{"Bearer " + m.Bearer, m.ID}, {"bearer  " + m.Bearer + " ", m.ID}, {"BEARER " + raw, f.issuer.URL + "#ann"},
	} {
		if r := f.get("/mcp", tt.authorization); r.status != http.StatusOK || r.body != tt.who {
			t.Errorf("%.20q: got %d %s", tt.authorization, r.status, r.body)
		}
	}
	meta := `Bearer resource_metadata="` + f.url + auth.MetadataPath + `/mcp"`
	f.check("no token", f.get("/mcp"), 401, meta+`, scope="carrel:read carrel:write carrel:commit carrel:create"`)
	f.check("another scheme", f.get("/mcp", "Basic "+m.Bearer), 401, meta+`, scope="carrel:read carrel:write carrel:commit carrel:create"`)
	f.check("no token after the scheme", f.get("/mcp", "Bearer "), 401, meta+`, scope="carrel:read carrel:write carrel:commit carrel:create"`)
	f.check("two", f.get("/mcp", "Bearer "+m.Bearer, "Bearer "+m.Bearer), 400, meta+`, error="invalid_request", error_description="there are several Authorization headers"`)
	f.check("no admin", f.get("/admin/mcp", "Bearer "+m.Bearer), 403,
		`Bearer resource_metadata="`+f.url+auth.MetadataPath+`", error="insufficient_scope", error_description="the token does not allow this", scope="carrel:admin"`)
	f.check("nothing allowed", f.get("/mcp", "Bearer "+f.jwt(map[string]any{"scope": "openid"})), 403,
		meta+`, error="insufficient_scope", error_description="the token does not allow this", scope="carrel:read"`)
	for path, endpoint := range map[string]string{
		"/sse": "/sse", "/message?sessionId=1": "/sse", "/agents/demo/mcp": "/agents/demo/mcp", "/agents/demo/message": "/agents/demo/sse",
		"/metrics": "", "/": "", "/agents/a%22b/mcp": "", "/agents/mcp": "", "/x/mcp": "",
	} {
		want := `resource_metadata="` + f.url + auth.MetadataPath + endpoint + `",`
		if r := f.get(path); !strings.Contains(r.header.Get("WWW-Authenticate"), want) {
			t.Errorf("%s: got %d %s, want %s", path, r.status, r.header.Get("WWW-Authenticate"), want)
		}
	}
}

// TestGuardAnswers has every bearer that is not valid answered alike, byte by byte.
func TestGuardAnswers(t *testing.T) {
	f := newFront(t, nil)
	var first reply
	for name, bearer := range refusals(f.world) {
		r := f.get("/mcp", "Bearer "+bearer)
		r.header.Del("Date")
		if first.status == 0 {
			first = r
		}
		if diff := cmp.Diff(first, r, cmp.AllowUnexported(reply{})); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	f.check("not valid", first, 401, `Bearer resource_metadata="`+f.url+auth.MetadataPath+`/mcp", error="invalid_token", error_description="the token is not valid"`)
	var told map[string]string
	if err := json.Unmarshal([]byte(first.body), &told); err != nil || told["error"] != "invalid_token" || told["hint"] == "" || first.header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %s, %v, %v", first.body, err, first.header)
	}
}

// TestQuery refuses tokens in URLs, also valid ones, and beside a header.
func TestQuery(t *testing.T) {
	f := newFront(t, nil)
	m := f.token(nil)
	for _, query := range []string{"access_token=" + m.Bearer, "access_token=", "token=" + m.Bearer, "x=1&api_key=" + m.Bearer} {
		for _, authorization := range [][]string{nil, {"Bearer " + m.Bearer}} {
			r := f.get("/mcp?"+query, authorization...)
			if r.status != http.StatusBadRequest || !strings.Contains(r.body, "Authorization: Bearer") || !strings.Contains(r.body, "revoke") {
				t.Errorf("%.20s: got %d %s", query, r.status, r.body)
			}
		}
	}
	if r := f.get("/mcp?sessionId=carrel", "Bearer "+m.Bearer); r.status != http.StatusOK {
		t.Errorf("a query without a token: got %d %s", r.status, r.body)
	}
}

// TestUnasked has the store and the issuer fail: that is not the client's fault.
func TestUnasked(t *testing.T) {
	for kind, status := range map[workspace.Kind]int{workspace.Unavailable: 503, workspace.Limit: 503, workspace.Corrupt: 500, workspace.Internal: 500} {
		f := newFront(t, func(c *auth.GuardConfig) {
			c.Auth = auth.New(&auth.Config{Tokens: failing{nil, workspace.Errorf(kind, "the reason in SQL").Hinted("Look there.")}})
		})
		r := f.get("/mcp", "Bearer "+auth.Mint().Bearer)
		f.check(string(kind), r, status, "")
		if strings.Contains(r.body, "SQL") || strings.Contains(r.body, "there.") || (r.header.Get("Retry-After") == "10") != (status == 503) {
			t.Errorf("%s: got %s, %v", kind, r.body, r.header)
		}
		if !strings.Contains(f.log.String(), "the reason in SQL") {
			t.Errorf("%s: logged %s", kind, f.log)
		}
	}
}

func TestMetadata(t *testing.T) {
	f := newFront(t, nil)
	for endpoint, ok := range map[string]bool{
		"": true, "/mcp": true, "/sse": true, "/agents/x/mcp": true, "/workspaces/team/x/sse": true,
		"/": false, "/message": false, "/x/mcp": false, "/agents/mcp": false, "/mcp/": false, "/agents/a%20b/mcp": false, "x": false,
	} {
		r := f.get(auth.MetadataPath + endpoint)
		if !ok {
			if r.status == http.StatusOK {
				t.Errorf("%q: got %d %s", endpoint, r.status, r.body)
			}
			continue
		}
		want := `{"resource":"` + f.url + endpoint + `","resource_name":"Carrel","authorization_servers":["` + f.issuer.URL + `"],` +
			`"scopes_supported":["carrel:read","carrel:write","carrel:commit","carrel:create","carrel:admin"],"bearer_methods_supported":["header"]}`
		if r.status != http.StatusOK || r.body != want || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: got %d %s\nwant %s", endpoint, r.status, r.body, want)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+auth.MetadataPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.do(r); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d", got.status)
	}
}

// TestBase has the server behind a proxy that takes away a part of the path.
func TestBase(t *testing.T) {
	f := newFront(t, func(c *auth.GuardConfig) { c.Base = "https://example.com/carrel/" })
	const where = `resource_metadata="https://example.com/.well-known/oauth-protected-resource/carrel/agents/x/mcp"`
	if r := f.get("/agents/x/mcp"); !strings.Contains(r.header.Get("WWW-Authenticate"), where) {
		t.Errorf("got %v", r.header)
	}
	for _, path := range []string{"/carrel/agents/x/mcp", "/agents/x/mcp"} { // as clients ask, and as a proxy may make of it
		if r := f.get(auth.MetadataPath + path); !strings.Contains(r.body, `"resource":"https://example.com/carrel/agents/x/mcp"`) {
			t.Errorf("%s: got %s", path, r.body)
		}
	}
	for _, base := range []string{"carrel.example", "ftp://carrel.example", "https://", "https://a@b", "https://a/?x", "https://a/#x", "://"} {
		if _, err := auth.NewGuard(&auth.GuardConfig{Base: base}); workspace.KindOf(err) != workspace.Invalid {
			t.Errorf("%q: got %v", base, err)
		}
	}
}

// TestHost names no URL by a host that the client has made up.
func TestHost(t *testing.T) {
	f := newFront(t, func(c *auth.GuardConfig) {
		c.Host = func(host string) bool { return strings.HasPrefix(host, "carrel.example") }
	})
	for host, ok := range map[string]bool{"carrel.example": true, "carrel.example:8443": true, "evil.example": false, "127.0.0.1": false, `carrel.example"x`: false} {
		for _, path := range []string{"/mcp", auth.MetadataPath + "/mcp"} {
			r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}, Host: host, Header: http.Header{}}
			w := httptest.NewRecorder()
			g, err := auth.NewGuard(&auth.GuardConfig{Auth: f.auth, Host: func(h string) bool { return strings.HasPrefix(h, "carrel.example") }})
			if err != nil {
				t.Fatal(err)
			}
			h := g.Metadata()
			if path == "/mcp" {
				h = g.Wrap(h)
			}
			h.ServeHTTP(w, r.WithContext(context.Background()))
			said := strings.Contains(w.Header().Get("WWW-Authenticate")+w.Body.String(), "http://"+host)
			if said != ok || (w.Code == http.StatusNotFound) != (!ok && path != "/mcp") {
				t.Errorf("%s %s: got %d %v %s", host, path, w.Code, w.Header(), w.Body)
			}
		}
	}
}

// TestNothingSecret looks for every bearer, and for parts of it, in what is logged and
// answered.
func TestNothingSecret(t *testing.T) {
	f := newFront(t, nil)
	bearers := refusals(f.world)
	bearers["good"], bearers["good jwt"] = f.token(nil).Bearer, f.jwt(nil)
	bearers["no scope"] = f.jwt(map[string]any{"scope": "openid"})
	bearers["odd claims"] = f.jwt(map[string]any{"sub": "a b", "exp": "x"})
	bearers["odd scope"] = f.jwt(map[string]any{"scope": "carrel:fly"})
	bearers["no JWT"] = strings.Replace(f.jwt(nil), ".", ".!", 1)
	bearers["HS256"] = mac([]byte("x"), "k1", f.claims(nil))
	var answers strings.Builder
	for _, bearer := range bearers {
		for _, r := range []reply{
			f.get("/mcp", "Bearer "+bearer), f.get("/admin", "Bearer "+bearer), f.get("/mcp", "Basic "+bearer), f.get("/mcp", bearer),
			f.get("/mcp", "Bearer "+bearer, "Bearer x"), f.get("/mcp?access_token=" + url.QueryEscape(bearer)),
		} {
			answers.WriteString(r.body + r.header.Get("WWW-Authenticate") + "\n")
		}
		if p, err := f.auth.Verify(t.Context(), bearer); err == nil {
			f.log.logger().Info("a principal", "principal", p, "error", f.auth.Recheck(t.Context(), p))
		} else {
			f.log.logger().Info("as it is", "error", err)
		}
	}
	if n := strings.Count(f.log.String(), "\n"); n < 5*len(bearers) {
		t.Fatalf("only %d lines were logged", n)
	}
	const part = 12
	for name, bearer := range bearers {
		secret := strings.TrimPrefix(bearer, "carrel_")
		if len(secret) > 1000 {
			secret = secret[:1000]
		}
		for at := range len(secret) - part + 1 {
			if strings.Contains(f.log.String(), secret[at:at+part]) || strings.Contains(answers.String(), secret[at:at+part]) {
				t.Errorf("%s: %q was logged or answered", name, secret[at:at+part])
				break
			}
		}
	}
}
