package hostile

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const audience = "https://carrel.example/mcp"

// issuer is an OpenID issuer with one key, over TLS, and the file of its certificate.
type issuer struct {
	*httptest.Server
	key         *ecdsa.PrivateKey
	certificate string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key, certificate: filepath.Join(t.TempDir(), "issuer.pem")}
	i.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/keys" {
			json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
			return
		}
		json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		})
	}))
	i.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	i.StartTLS()
	t.Cleanup(i.Close)
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	if err := os.WriteFile(i.certificate, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

// sign makes a JWT of claims, with changes to those that are let in.
func (i *issuer) sign(t *testing.T, alg jose.SignatureAlgorithm, key any, kid string, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": i.URL, "sub": "ann", "aud": audience, "scope": "carrel:read carrel:write carrel:create carrel:project:default",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	for name, v := range changes {
		claims[name] = v
	}
	by, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", kid))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := by.Sign(b)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// unsigned is a JWT that says it needs no signature.
func (i *issuer) unsigned(t *testing.T) string {
	_, payload, _ := strings.Cut(i.sign(t, jose.ES256, i.key, "k", nil), ".")
	payload, _, _ = strings.Cut(payload, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + payload + "."
}

// TestHostileJWTs serves the JWTs of an issuer, beside no capability tokens but those
// that are made, and tries with others.
func TestHostileJWTs(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	s := open(t, []string{"SSL_CERT_FILE=" + i.certificate}, "--oidc-issuer", i.URL, "--oidc-audience", audience, "--url", "http://carrel.example", "--log-format", "text")
	jwt := func(changes map[string]any) string {
		b := i.sign(t, jose.ES256, i.key, "k", changes)
		s.secret(b)
		return b
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	public, err := x509.MarshalPKIXPublicKey(i.key.Public())
	s.must(err)
	good := jwt(nil)
	for name, b := range map[string]string{
		"no signature": i.unsigned(t), "the signature cut": good[:strings.LastIndexByte(good, '.')+1], "a signature changed": flip(good),
		"somebody's key": i.sign(t, jose.ES256, stranger, "k", nil), "an unknown key": i.sign(t, jose.ES256, stranger, "other", nil),
		"the public key as a secret": i.sign(t, jose.HS256, public, "k", nil),
		"another issuer":             jwt(map[string]any{"iss": "https://evil.example"}), "another audience": jwt(map[string]any{"aud": "https://evil.example"}),
		"no audience": jwt(map[string]any{"aud": nil}), "expired": jwt(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
		"never expires": jwt(map[string]any{"exp": nil}), "not yet": jwt(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"a scope that is none": jwt(map[string]any{"scope": "carrel:read carrel:fly carrel:project:default"}),
		"a key path":           i.sign(t, jose.ES256, stranger, "../../keys", nil),
	} {
		if a := s.ask("POST", "/mcp", initialize, bearer(b)); a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for name, scope := range map[string]string{"no scope of ours": "openid email", "no verb": "carrel:project:default"} {
		if a := s.ask("POST", "/mcp", initialize, bearer(jwt(map[string]any{"scope": scope}))); a.status != http.StatusForbidden && a.status != http.StatusUnauthorized {
			t.Errorf("%s: %+v", name, a)
		}
	}
	s.ask("GET", "/"+good+"/mcp", "")
	session := s.begin("/mcp", good)
	s.ask("POST", "/mcp", call(3, "workspace.create", `{"path":"/agents/jwt"}`), session...)
	others(t, s, jwt, session)
	s.finish(jwt(map[string]any{"sub": "last"}))
}

// others uses a session with JWTs of others, of less, and of one that expires.
func others(t *testing.T, s *site, jwt func(map[string]any) string, session []string) {
	for name, b := range map[string]string{
		"another subject": jwt(map[string]any{"sub": "ben"}), "fewer scopes": jwt(map[string]any{"scope": "carrel:read carrel:project:default"}),
		"another project": jwt(map[string]any{"scope": "carrel:admin carrel:project:other"}),
	} {
		if a := s.ask("POST", "/mcp", list, bearer(b), session[1]); a.status != http.StatusNotFound {
			t.Errorf("the session with a JWT of %s: %+v", name, a)
		}
	}
	if a := s.ask("POST", "/mcp", list, bearer(jwt(map[string]any{"jti": "again"})), session[1]); a.status != http.StatusOK {
		t.Errorf("a fresh JWT of the same: %+v", a)
	}
	soon := jwt(map[string]any{"exp": time.Now().Add(8 * time.Second).Unix()})
	mcp, endMCP := s.stream("/mcp", s.begin("/mcp", soon)...)
	defer endMCP()
	sse, endSSE := s.stream("/sse", bearer(soon))
	defer endSSE()
	for _, r := range []*bufio.Reader{mcp, sse} {
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Errorf("a stream goes on after the JWT has expired: %v", err)
		}
	}
}

// flip changes a character of a signature.
func flip(jwt string) string {
	at := strings.LastIndexByte(jwt, '.') + 5
	c := "A"
	if jwt[at] == 'A' {
		c = "B"
	}
	return jwt[:at] + c + jwt[at+1:]
}
