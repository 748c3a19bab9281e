package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

const (
	// keysFresh is how long keys are taken without asking again, and keysUsable how
	// long if the issuer does not answer.
	keysFresh  = 5 * time.Minute
	keysUsable = time.Hour
	// keysPause is how long the issuer is left alone after it was asked.
	keysPause = 10 * time.Second
	// issuerTime is how long it has for an answer, and maxAnswer how long that may
	// be, in bytes.
	issuerTime = 5 * time.Second
	maxAnswer  = 1 << 20
	minRSABits = 2048
)

// keys are the keys that an issuer signs with, as it last said.
type keys struct {
	cfg    *IssuerConfig
	client *http.Client
	turn   chan struct{} // holds one when nobody is asking the issuer

	mu    sync.Mutex // guards what follows
	known []jose.JSONWebKey
	asked time.Time // when the issuer was last asked
	told  time.Time // when it last answered
}

func newKeys(cfg *IssuerConfig) *keys {
	client := http.Client{Timeout: issuerTime}
	if cfg.Client != nil {
		client = *cfg.Client
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = bounded{client.Transport}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return fmt.Errorf("it redirects too often")
		}
		return checkURL(r.URL)
	}
	k := &keys{cfg: cfg, client: &client, turn: make(chan struct{}, 1)}
	k.turn <- struct{}{}
	return k
}

// matching returns the keys that may have signed a token with a header. None is no
// error.
func (k *keys) matching(ctx context.Context, h jose.Header) (*oidc.StaticKeySet, error) {
	for _, anew := range []bool{false, true} {
		all, err := k.some(ctx, anew)
		if err != nil {
			return nil, err
		}
		var fit []crypto.PublicKey
		for _, key := range all {
			if fits(key, h) {
				fit = append(fit, key.Key)
			}
		}
		if len(fit) > 0 {
			return &oidc.StaticKeySet{PublicKeys: fit}, nil
		}
	}
	return &oidc.StaticKeySet{}, nil
}

// fits reports whether a key may be the one that a header names.
func fits(key jose.JSONWebKey, h jose.Header) bool {
	return (h.KeyID == "" || key.KeyID == h.KeyID) && (key.Algorithm == "" || key.Algorithm == h.Algorithm)
}

// some returns the keys of the issuer, asked anew if it may be and either anew is set
// or what is known is old. Who finds somebody else asking takes what is known if it
// will do.
func (k *keys) some(ctx context.Context, anew bool) ([]jose.JSONWebKey, error) {
	known, age := k.now()
	if !anew && age < keysFresh {
		return known, nil
	}
	if !anew && age < keysUsable {
		select {
		case <-k.turn:
		default:
			return known, nil
		}
	} else {
		select {
		case <-k.turn:
		case <-ctx.Done():
			return nil, workspace.Errorf(workspace.Canceled, "%w", context.Cause(ctx))
		}
	}
	defer func() { k.turn <- struct{}{} }()
	k.ask(ctx)
	if known, age = k.now(); age < keysUsable {
		return known, nil
	}
	return nil, workspace.Errorf(workspace.Unavailable, "the OpenID issuer cannot be asked").
		Hinted("Try again in a moment. The server's log has the reason.")
}

// now returns what is known and for how long.
func (k *keys) now() ([]jose.JSONWebKey, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.told.IsZero() {
		return nil, keysUsable
	}
	return k.known, k.cfg.Now().Sub(k.told)
}

// ask asks the issuer, unless that was done a moment ago. The caller has the turn.
func (k *keys) ask(ctx context.Context) {
	k.mu.Lock()
	pause := k.cfg.Now().Sub(k.asked) < keysPause
	k.mu.Unlock()
	if pause {
		return
	}
	// Others wait for the answer too: a client that gives up does not take it away.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), issuerTime)
	defer stop()
	set, err := k.fetch(ctx)
	if err != nil {
		k.cfg.Log.Warn("the OpenID issuer cannot be asked", slog.String("issuer", k.cfg.URL), slog.String("reason", cut(err.Error(), 300)))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = k.cfg.Now()
	if err == nil {
		k.known, k.told = set, k.asked
	}
}

// fetch finds the issuer's keys by OpenID Connect Discovery. They may have moved, so
// that nothing of it is kept.
func (k *keys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, k.client), k.cfg.URL)
	if err != nil {
		return nil, err
	}
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&found); err != nil {
		return nil, err
	}
	u, err := url.Parse(found.Keys)
	if err != nil {
		return nil, err
	}
	if err := checkURL(u); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its keys: %s", answer.Status)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return parseKeys(body)
}

// parseKeys reads a JWK set. Keys of kinds that are not known here are left out, as
// RFC 7517, section 5, has it, and so are those that tokens are not signed with.
func parseKeys(body []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("its keys: %w", err)
	}
	var all []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && signs(key) {
			all = append(all, key)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("its keys: none of %d can be used", len(set.Keys))
	}
	return all, nil
}

// signs reports whether a key is a public one for signatures.
func signs(key jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// checkURL refuses a URL over which anybody on the way could answer.
func checkURL(u *url.URL) error {
	if u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && server.IsLoopback(u.Hostname())) {
		return nil
	}
	return fmt.Errorf("%q is not https, nor http on this machine", u.Redacted())
}

// bounded is a transport whose answers have an end.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}
