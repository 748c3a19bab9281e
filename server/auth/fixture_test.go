package auth_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"carrel.dev/persistence/memory"
	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

const audience = "https://carrel.example/mcp"

// clock is a time that a test turns.
type clock struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// log is what was logged, as lines of JSON.
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

func (l *log) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// issuer is an OpenID issuer on a server of its own, over TLS.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex // guards what follows
	name  string     // what it calls itself; default: its URL
	keys  []any      // of its JWK set: jose.JSONWebKey or anything that is none
	down  bool
	asked int // for its keys
}

func newIssuer(t *testing.T, keys ...any) *issuer {
	t.Helper()
	i := &issuer{keys: keys}
	i.Server = httptest.NewUnstartedServer(http.HandlerFunc(i.serve))
	i.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // clients that do not trust it
	i.StartTLS()
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case i.down:
		http.Error(w, "down", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		name := i.name
		if name == "" {
			name = i.URL
		}
		json.NewEncoder(w).Encode(map[string]any{
			"issuer": name, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		})
	case r.URL.Path == "/keys":
		i.asked++
		json.NewEncoder(w).Encode(map[string]any{"keys": i.keys})
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) set(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

func (i *issuer) askedFor() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// signer is a private key under a name.
type signer struct {
	kid string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

func newSigner(t *testing.T, kid string, alg jose.SignatureAlgorithm) signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch alg {
	case jose.ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.EdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, alg, key}
}

// public is the key as the issuer shows it.
func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.Public(), KeyID: s.kid, Algorithm: string(s.alg), Use: "sig"}
}

// sign makes a JWT; header adds to and replaces what is usual in its header.
func (s signer) sign(t *testing.T, header map[jose.HeaderKey]any, claims map[string]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("JWT")
	if s.kid != "" {
		o.WithHeader("kid", s.kid)
	}
	for k, v := range header {
		o.WithHeader(k, v)
	}
	by, err := jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: s.key}, o)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := by.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// world is an authenticator with tokens and an issuer, and a clock for all.
type world struct {
	*testing.T
	clock  *clock
	log    *log
	issuer *issuer
	signer signer
	store  *memory.Store
	auth   *auth.Authenticator
}

// newWorld makes a world; configure, if not nil, changes how its issuer is trusted.
func newWorld(t *testing.T, configure func(*auth.IssuerConfig)) *world {
	t.Helper()
	w := &world{T: t, clock: &clock{at: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}, log: &log{}, store: memory.New(nil)}
	w.signer = newSigner(t, "k1", jose.ES256)
	w.issuer = newIssuer(t, w.signer.public())
	cfg := &auth.IssuerConfig{
		URL: w.issuer.URL, Audiences: []string{audience}, Project: "default",
		Client: w.issuer.Client(), Now: w.clock.now, Log: w.log.logger(),
	}
	if configure != nil {
		configure(cfg)
	}
	trusted, err := auth.NewIssuer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.auth = auth.New(&auth.Config{Tokens: w.store, Issuer: trusted, Now: w.clock.now})
	return w
}

// claims are those of a token that is let in, with some changed; nil leaves one out.
func (w *world) claims(changes map[string]any) map[string]any {
	c := map[string]any{
		"iss": w.issuer.URL, "sub": "ann", "aud": audience, "scope": "openid carrel:read",
		"exp": w.clock.now().Add(time.Hour).Unix(), "iat": w.clock.now().Unix(),
	}
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

// jwt makes a JWT of the issuer.
func (w *world) jwt(changes map[string]any) string {
	w.Helper()
	return w.signer.sign(w.T, nil, w.claims(changes))
}

// token makes a capability token, which change may change before it is kept.
func (w *world) token(change func(*workspace.Token)) auth.Minted {
	w.Helper()
	m := auth.Mint()
	tok := workspace.Token{
		ID: m.ID, Hash: m.Hash, Project: "p", Name: "ci",
		Grants: workspace.Grants{Verbs: []workspace.Verb{workspace.VerbRead}}, Created: w.clock.now(), Expires: w.clock.now().Add(time.Hour),
	}
	if change != nil {
		change(&tok)
	}
	if err := w.store.AddToken(w.Context(), tok); err != nil {
		w.Fatal(err)
	}
	return m
}

func (w *world) revoke(m auth.Minted) {
	w.Helper()
	if err := w.store.RevokeToken(w.Context(), "p", m.ID, w.clock.now()); err != nil {
		w.Fatal(err)
	}
}

// good verifies a bearer that has to be let in.
func (w *world) good(bearer string) *auth.Principal {
	w.Helper()
	p, err := w.auth.Verify(w.Context(), bearer)
	if err != nil {
		w.Fatalf("got %v, %v", err, auth.Why(err))
	}
	return p
}
