package auth_test

import (
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

func TestJWT(t *testing.T) {
	w := newWorld(t, nil)
	for _, alg := range []jose.SignatureAlgorithm{jose.RS256, jose.PS384, jose.ES256, jose.EdDSA} {
		s := newSigner(t, string(alg), alg)
		w.issuer.keys = append(w.issuer.keys, s.public())
		raw := s.sign(t, nil, w.claims(map[string]any{"name": "Ann", "email": "ann@example.com", "aud": []string{"other", audience}}))
		w.clock.pass(time.Minute) // so that the issuer may be asked for the new key
		p := w.good(raw)
		if p.ID != w.issuer.URL+"#ann" || p.Kind != auth.KindJWT || p.Project != "default" || !p.Grants.May(workspace.VerbRead) || p.Grants.May(workspace.VerbWrite) {
			t.Errorf("%s: got %+v", alg, p)
		}
		if want := (workspace.Signature{Name: "Ann", Email: "ann@example.com"}); p.Actor != want {
			t.Errorf("%s: got the actor %v, want %v", alg, p.Actor, want)
		}
	}
	for name, header := range map[string]map[jose.HeaderKey]any{
		"access token": {"typ": "at+jwt"}, "with its media type": {"typ": "application/at+JWT"}, "a key of its own": {"jku": "https://evil.example/keys"},
	} {
		if _, err := w.auth.Verify(t.Context(), w.signer.sign(t, header, w.claims(nil))); err != nil {
			t.Errorf("%s: got %v", name, auth.Why(err))
		}
	}
	nameless := signer{"", w.signer.alg, w.signer.key}
	if _, err := w.auth.Verify(t.Context(), nameless.sign(t, nil, w.claims(nil))); err != nil {
		t.Errorf("without kid: got %v", auth.Why(err))
	}
}

// TestPerson has only what is fit and verified in what commits name.
func TestPerson(t *testing.T) {
	w := newWorld(t, nil)
	fallback := "ann@127.0.0.1"
	for _, tt := range []struct {
		claims map[string]any
		want   workspace.Signature
	}{
		{nil, workspace.Signature{Name: "ann", Email: fallback}},
		{map[string]any{"name": "A\n<n>", "email": "a@b <x@y>", "email_verified": true}, workspace.Signature{Name: "An", Email: "a@bx@y"}},
		{map[string]any{"name": 7, "email": []string{"a@b"}}, workspace.Signature{Name: "ann", Email: fallback}},
		{map[string]any{"name": " ", "email": "a@b", "email_verified": false}, workspace.Signature{Name: "Carrel agent", Email: fallback}},
		{map[string]any{"Name": "Eve", "EMAIL": "eve@b"}, workspace.Signature{Name: "ann", Email: fallback}},
	} {
		if got := w.good(w.jwt(tt.claims)).Actor; got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.claims, got, tt.want)
		}
	}
}

func segment(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// mac makes a JWT with HS256 and a secret.
func mac(secret []byte, kid string, claims map[string]any) string {
	signed := segment(map[string]any{"alg": "HS256", "kid": kid, "typ": "JWT"}) + "." + segment(claims)
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// TestForged refuses what the issuer has not signed, or not for here and now.
func TestForged(t *testing.T) {
	w := newWorld(t, nil)
	rs, enc, es512 := newSigner(t, "rs", jose.RS256), newSigner(t, "enc", jose.RS256), newSigner(t, "es", jose.ES256)
	encryption := enc.public()
	encryption.Use = "enc"
	otherwise := es512.public()
	otherwise.Algorithm = "ES512"
	plainRSA, plainEC := newSigner(t, "plain rsa", jose.RS256), newSigner(t, "plain ec", jose.ES256)
	for _, s := range []signer{plainRSA, plainEC} {
		key := s.public()
		key.Algorithm, key.Use = "", ""
		w.issuer.keys = append(w.issuer.keys, key)
	}
	secret := []byte("a secret that was published by mistake")
	w.issuer.keys = append(w.issuer.keys, rs.public(), encryption, otherwise, jose.JSONWebKey{Key: secret, KeyID: "oct"},
		map[string]any{"kty": "new", "kid": "of another kind"}, "no key at all")
	der, err := x509.MarshalPKIXPublicKey(rs.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	stranger := newSigner(t, "k1", w.signer.alg)
	embedded := newSigner(t, "k9", w.signer.alg)
	good := w.jwt(nil)
	parts := strings.Split(good, ".")
	parsed, err := jose.ParseSignedCompact(good, []jose.SignatureAlgorithm{w.signer.alg})
	if err != nil {
		t.Fatal(err)
	}
	at := w.clock.now()
	tests := map[string]string{
		"alg none":                         segment(map[string]any{"alg": "none"}) + "." + parts[1] + ".",
		"alg none with signature":          segment(map[string]any{"alg": "none", "kid": "k1"}) + "." + parts[1] + "." + parts[2],
		"alg nonE":                         segment(map[string]any{"alg": "nonE"}) + "." + parts[1] + ".",
		"HS256 with the public key":        mac(der, "rs", w.claims(nil)),
		"HS256 with the public key as PEM": mac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "rs", w.claims(nil)),
		"HS256 with the modulus":           mac(rs.key.Public().(*rsa.PublicKey).N.Bytes(), "rs", w.claims(nil)),
		"HS256 with a published secret":    mac(secret, "oct", w.claims(nil)),
		"a stranger's key":                 stranger.sign(t, nil, w.claims(nil)),
		"the kid of another key":           signer{"rs", w.signer.alg, w.signer.key}.sign(t, nil, w.claims(nil)),
		"the kid of a key of another kind": signer{"plain rsa", plainEC.alg, plainEC.key}.sign(t, nil, w.claims(nil)),
		"an unknown kid":                   signer{"k7", w.signer.alg, w.signer.key}.sign(t, nil, w.claims(nil)),
		"a kid that is a path":             signer{"../../keys", w.signer.alg, w.signer.key}.sign(t, nil, w.claims(nil)),
		"a key for encryption":             enc.sign(t, nil, w.claims(nil)),
		"a key for another algorithm":      es512.sign(t, nil, w.claims(nil)),
		"RS256 key with PS256":             signer{"rs", jose.PS256, rs.key}.sign(t, nil, w.claims(nil)),
		"its own key in the header":        embedded.sign(t, map[jose.HeaderKey]any{"jwk": embedded.public()}, w.claims(nil)),
		"its own keys by URL":              embedded.sign(t, map[jose.HeaderKey]any{"jku": w.issuer.URL + "/keys", "x5u": w.issuer.URL}, w.claims(nil)),
		"an unknown critical header":       w.signer.sign(t, map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}, w.claims(nil)),
		"another payload":                  parts[0] + "." + segment(w.claims(map[string]any{"sub": "eve"})) + "." + parts[2],
		"no signature":                     parts[0] + "." + parts[1] + ".",
		"spaces":                           parts[0] + " ." + parts[1] + "." + parts[2],
		"padding":                          good + "=",
		"JSON serialization":               strings.Replace(parsed.FullSerialize(), "}", "..}", 1),
		"a logout token":                   w.signer.sign(t, map[jose.HeaderKey]any{"typ": "logout+jwt"}, w.claims(nil)),
		"a type that is no text":           w.signer.sign(t, map[jose.HeaderKey]any{"typ": 1}, w.claims(nil)),
		"another audience":                 w.jwt(map[string]any{"aud": []string{"https://elsewhere.example", audience + "/x"}}),
		"an empty audience":                w.jwt(map[string]any{"aud": []string{}}),
		"no audience":                      w.jwt(map[string]any{"aud": nil}),
		"an audience by another name":      w.jwt(map[string]any{"aud": nil, "AUD": audience}),
		"another issuer":                   w.jwt(map[string]any{"iss": "https://elsewhere.example"}),
		"the issuer with a slash":          w.jwt(map[string]any{"iss": w.issuer.URL + "/"}),
		"expired":                          w.jwt(map[string]any{"exp": at.Add(-time.Second).Unix()}),
		"expiring now":                     w.jwt(map[string]any{"exp": at.Unix()}),
		"never expiring":                   w.jwt(map[string]any{"exp": nil}),
		"an expiry by another name":        w.jwt(map[string]any{"exp": nil, "EXP": at.Add(time.Hour).Unix()}),
		"two expiries":                     w.jwt(map[string]any{"exp": at.Add(-time.Hour).Unix(), "exP": at.Add(time.Hour).Unix()}),
		"two issuers":                      w.jwt(map[string]any{"iss": "https://elsewhere.example", "i\u017fs": w.issuer.URL}),
		"an expiry in words":               w.jwt(map[string]any{"exp": "tomorrow"}),
		"not yet":                          w.jwt(map[string]any{"nbf": at.Add(6 * time.Minute).Unix()}),
		"no subject":                       w.jwt(map[string]any{"sub": nil}),
		"an empty subject":                 w.jwt(map[string]any{"sub": ""}),
		"a subject with a line end":        w.jwt(map[string]any{"sub": "ann\nadmin"}),
		"a long subject":                   w.jwt(map[string]any{"sub": strings.Repeat("a", 256)}),
		"bound to a key":                   w.jwt(map[string]any{"cnf": map[string]any{"jkt": "x"}}),
		"too long":                         w.jwt(map[string]any{"more": strings.Repeat("a", 16<<10)}),
	}
	w.good(good)
	w.good(plainEC.sign(t, nil, w.claims(nil)))
	for name, raw := range tests {
		if p, err := w.auth.Verify(t.Context(), raw); p != nil || !errors.Is(err, auth.ErrToken) {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
	w.good(w.jwt(map[string]any{"nbf": at.Add(4 * time.Minute).Unix()})) // clocks differ
}

func TestAlgorithms(t *testing.T) {
	w := newWorld(t, func(c *auth.IssuerConfig) { c.Algorithms = []string{"RS256"} })
	rs := newSigner(t, "rs", jose.RS256)
	w.issuer.keys = append(w.issuer.keys, rs.public())
	w.good(rs.sign(t, nil, w.claims(nil)))
	if _, err := w.auth.Verify(t.Context(), w.jwt(nil)); !errors.Is(err, auth.ErrToken) {
		t.Errorf("ES256: got %v", err)
	}
}

// TestScopes reads what a token allows.
func TestScopes(t *testing.T) {
	all := func(c *auth.IssuerConfig) {
		c.Claims = auth.Claims{Scopes: []string{"scope", "scp"}, Project: "tenant", Workspaces: "https://carrel.dev/workspaces", Repos: "repos"}
	}
	noDefault := func(c *auth.IssuerConfig) { c.Project = "" }
	read := []workspace.Verb{workspace.VerbRead}
	tests := []struct {
		name      string
		configure func(*auth.IssuerConfig)
		claims    map[string]any
		project   string
		grants    workspace.Grants
		refused   error
	}{
		{name: "one", project: "default", grants: workspace.Grants{Verbs: read}},
		{
			name: "everything", claims: map[string]any{"scope": "email carrel:write carrel:read carrel:read carrel:project:acme carrel:workspace:/agents/ann/** carrel:repo:app=branch carrel:repo:/repos/**=read-only other:x"}, project: "acme",
			grants: workspace.Grants{Verbs: []workspace.Verb{"read", "write"}, Workspaces: []string{"/agents/ann/**"}, Repos: []workspace.RepoGrant{{Pattern: "/repos/app", Policy: "branch"}, {Pattern: "/repos/**", Policy: "read-only"}}},
		},
		{
			name: "the narrowest counts, whatever the order", claims: map[string]any{"scope": "carrel:read carrel:repo:b=none carrel:repo:b=commit-to-main carrel:repo:b=read-only carrel:repo:b=branch carrel:repo:b=none"}, project: "default",
			grants: workspace.Grants{Verbs: read, Repos: []workspace.RepoGrant{{Pattern: "/repos/b", Policy: "commit-to-main"}, {Pattern: "/repos/b", Policy: "branch"}, {Pattern: "/repos/b", Policy: "read-only"}, {Pattern: "/repos/b", Policy: "none"}}},
		},
		{name: "scp as an array", claims: map[string]any{"scope": nil, "scp": []string{"openid", "carrel:read carrel:project:q"}}, project: "q", grants: workspace.Grants{Verbs: read}},
		{name: "the first claim counts", claims: map[string]any{"scp": "carrel:admin"}, project: "default", grants: workspace.Grants{Verbs: read}},
		{name: "claims by their exact names", claims: map[string]any{"Scope": "carrel:admin", "SCOPE": "carrel:admin", "tenant": "q"}, project: "default", grants: workspace.Grants{Verbs: read}},
		{
			name: "claims", configure: all, claims: map[string]any{"tenant": "q", "https://carrel.dev/workspaces": []string{"/agents/a", "/workspaces/b"}, "repos": []string{"**=none", "app=branch"}}, project: "q",
			grants: workspace.Grants{Verbs: read, Workspaces: []string{"/agents/a", "/workspaces/b"}, Repos: []workspace.RepoGrant{{Pattern: "/repos/app", Policy: "branch"}, {Pattern: "/repos/**", Policy: "none"}}},
		},
		{name: "claim and scope agree", configure: all, claims: map[string]any{"tenant": "q", "scope": "carrel:read carrel:project:q"}, project: "q", grants: workspace.Grants{Verbs: read}},

		{name: "nothing", claims: map[string]any{"scope": "openid"}, refused: auth.ErrScope},
		{name: "no scope at all", claims: map[string]any{"scope": nil}, refused: auth.ErrScope},
		{name: "no project", configure: noDefault, refused: auth.ErrScope},
		{name: "two projects", claims: map[string]any{"scope": "carrel:read carrel:project:p carrel:project:q"}, refused: auth.ErrToken},
		{name: "claim and scope disagree", configure: all, claims: map[string]any{"tenant": "q", "scope": "carrel:read carrel:project:p"}, refused: auth.ErrToken},
		{name: "two tenants", configure: all, claims: map[string]any{"tenant": []string{"p", "q"}}, refused: auth.ErrToken},
		{name: "an odd project", claims: map[string]any{"scope": "carrel:read carrel:project:../x"}, refused: auth.ErrToken},
		{name: "an empty project", claims: map[string]any{"scope": "carrel:read carrel:project:"}, refused: auth.ErrToken},
		{name: "an empty tenant", configure: all, claims: map[string]any{"tenant": ""}, refused: auth.ErrToken},
		{name: "a tenant of null", configure: all, claims: map[string]any{"tenant": []any{"q", nil}}, refused: auth.ErrToken},
		{name: "an unknown verb", claims: map[string]any{"scope": "carrel:read carrel:fly"}, refused: auth.ErrToken},
		{name: "an unknown restriction", claims: map[string]any{"scope": "carrel:read carrel:branch:main"}, refused: auth.ErrToken},
		{name: "a repo without policy", claims: map[string]any{"scope": "carrel:read carrel:repo:app"}, refused: auth.ErrToken},
		{name: "a repo with an odd policy", claims: map[string]any{"scope": "carrel:read carrel:repo:app=write"}, refused: auth.ErrToken},
		{name: "no repo", claims: map[string]any{"scope": "carrel:read carrel:repo:=branch"}, refused: auth.ErrToken},
		{name: "a malformed repo", claims: map[string]any{"scope": "carrel:read carrel:repo:[a=none"}, refused: auth.ErrToken},
		{name: "a workspace elsewhere", claims: map[string]any{"scope": "carrel:read carrel:workspace:/repos/**"}, refused: auth.ErrToken},
		{name: "a workspace that is not rooted", claims: map[string]any{"scope": "carrel:read carrel:workspace:ann"}, refused: auth.ErrToken},
		{name: "repos that are no text", configure: all, claims: map[string]any{"repos": 7}, refused: auth.ErrToken},
		{name: "workspaces that are no text", configure: all, claims: map[string]any{"https://carrel.dev/workspaces": map[string]any{}}, refused: auth.ErrToken},
		{name: "a scope that is a number", claims: map[string]any{"scope": 7}, refused: auth.ErrToken},
		{name: "a scope of null", claims: map[string]any{"scope": []any{nil, "carrel:read"}}, refused: auth.ErrToken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.configure)
			p, err := w.auth.Verify(t.Context(), w.jwt(tt.claims))
			if tt.refused != nil {
				if p != nil || !errors.Is(err, tt.refused) {
					t.Errorf("got %+v, %v, want %v", p, err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(auth.Why(err))
			}
			if diff := cmp.Diff(&tt.grants, p.Grants); diff != "" || p.Project != tt.project {
				t.Errorf("project %q, grants (-want +got):\n%s", p.Project, diff)
			}
		})
	}
}

func TestNewIssuer(t *testing.T) {
	for name, c := range map[string]auth.IssuerConfig{
		"no URL":              {Audiences: []string{"a"}},
		"http":                {URL: "http://issuer.example", Audiences: []string{"a"}},
		"no host":             {URL: "https:///x", Audiences: []string{"a"}},
		"a password":          {URL: "https://a:b@issuer.example", Audiences: []string{"a"}},
		"a query":             {URL: "https://issuer.example?x", Audiences: []string{"a"}},
		"no audience":         {URL: "https://issuer.example"},
		"an empty audience":   {URL: "https://issuer.example", Audiences: []string{"a", ""}},
		"HS256":               {URL: "https://issuer.example", Audiences: []string{"a"}, Algorithms: []string{"RS256", "HS256"}},
		"none":                {URL: "https://issuer.example", Audiences: []string{"a"}, Algorithms: []string{"none"}},
		"a project's path":    {URL: "https://issuer.example", Audiences: []string{"a"}, Project: "a/b"},
		"nearly this machine": {URL: "http://localhost.example", Audiences: []string{"a"}},
	} {
		if _, err := auth.NewIssuer(&c); workspace.KindOf(err) != workspace.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, u := range []string{"https://issuer.example/realms/x", "http://localhost:8080", "http://[::1]:80/"} {
		if _, err := auth.NewIssuer(&auth.IssuerConfig{URL: u, Audiences: []string{"a"}}); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}
