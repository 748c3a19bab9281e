package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

// refused verifies a bearer that must not be let in.
func (w *world) refused(bearer string, kind error) {
	w.Helper()
	if p, err := w.auth.Verify(w.Context(), bearer); p != nil || !errors.Is(err, kind) {
		w.Errorf("got %+v, %v, want %v", p, err, kind)
	}
}

// long are claims of a token that outlives the test.
func (w *world) long() map[string]any {
	return w.claims(map[string]any{"exp": w.clock.now().Add(1000 * time.Hour).Unix()})
}

// TestRotation has the issuer change its keys.
func TestRotation(t *testing.T) {
	w := newWorld(t, nil)
	first := w.signer.sign(t, nil, w.long())
	w.good(first)

	next := newSigner(t, "k2", jose.ES256)
	second := next.sign(t, nil, w.long())
	w.issuer.set(func() { w.issuer.keys = append(w.issuer.keys, next.public()) })
	w.refused(second, auth.ErrToken) // the issuer was asked a moment ago
	w.clock.pass(10 * time.Second)
	w.good(second)
	w.good(first)

	w.issuer.set(func() { w.issuer.keys = w.issuer.keys[1:] })
	w.good(first) // not asked again yet
	w.clock.pass(5 * time.Minute)
	w.refused(first, auth.ErrToken)
	w.good(second)
}

// TestSameKid has the issuer replace a key under its name.
func TestSameKid(t *testing.T) {
	w := newWorld(t, nil)
	w.good(w.jwt(nil))
	again := newSigner(t, "k1", jose.ES256)
	w.issuer.set(func() { w.issuer.keys = []any{again.public()} })
	w.clock.pass(5 * time.Minute)
	w.refused(w.jwt(nil), auth.ErrToken)
	w.good(again.sign(t, nil, w.claims(nil)))
}

// TestIssuerDown has the issuer away at first, and later for long.
func TestIssuerDown(t *testing.T) {
	w := newWorld(t, nil)
	raw, m := w.signer.sign(t, nil, w.long()), w.token(func(tok *workspace.Token) { tok.Expires = time.Time{} })
	down := func(is bool) { w.issuer.set(func() { w.issuer.down = is }) }
	down(true)
	w.refused(raw, workspace.Unavailable)
	w.good(m.Bearer)
	down(false)
	w.refused(raw, workspace.Unavailable) // it is left alone for a moment
	w.clock.pass(10 * time.Second)
	w.good(raw)

	down(true)
	for range 11 {
		w.clock.pass(5 * time.Minute)
		w.good(raw)
	}
	w.clock.pass(5 * time.Minute)
	w.refused(raw, workspace.Unavailable)
	w.good(m.Bearer)
	down(false)
	w.clock.pass(10 * time.Second)
	w.good(raw)
	if !strings.Contains(w.log.String(), "the OpenID issuer cannot be asked") || !strings.Contains(w.log.String(), "502") {
		t.Errorf("logged:\n%s", w.log)
	}
}

// TestFlood has strangers send tokens with keys that nobody has: the issuer is not
// asked for each.
func TestFlood(t *testing.T) {
	w := newWorld(t, nil)
	w.good(w.jwt(nil))
	w.clock.pass(10 * time.Second)
	var wg sync.WaitGroup
	for i := range 50 {
		raw := newSigner(t, fmt.Sprint("x", i), jose.ES256).sign(t, nil, w.claims(nil))
		wg.Go(func() { w.refused(raw, auth.ErrToken) })
	}
	wg.Wait()
	if got := w.issuer.askedFor(); got != 2 {
		t.Errorf("the issuer was asked %d times, want 2", got)
	}
}

// TestIssuerLies has the issuer call itself something else, or show no keys.
func TestIssuerLies(t *testing.T) {
	weak := map[string]any{"kty": "RSA", "kid": "k1", "n": strings.Repeat("A", 20), "e": "AQAB"}
	for name, lie := range map[string]func(*issuer){
		"another name":       func(i *issuer) { i.name = "https://elsewhere.example" },
		"no keys":            func(i *issuer) { i.keys = nil },
		"no key that is fit": func(i *issuer) { i.keys = []any{jose.JSONWebKey{Key: []byte("secret"), KeyID: "k1"}, weak} },
		"more than is taken": func(i *issuer) { i.keys = append(i.keys, strings.Repeat("x", 1<<20)) },
	} {
		w := newWorld(t, nil)
		lie(w.issuer)
		w.refused(w.jwt(nil), workspace.Unavailable)
		if !strings.Contains(w.log.String(), "cannot be asked") {
			t.Errorf("%s: logged:\n%s", name, w.log)
		}
	}
}

func TestPrepare(t *testing.T) {
	w := newWorld(t, nil)
	c := &auth.IssuerConfig{URL: w.issuer.URL, Audiences: []string{audience}, Client: w.issuer.Client()}
	i, err := auth.NewIssuer(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Prepare(t.Context()); err != nil || i.URL() != w.issuer.URL {
		t.Errorf("%s: %v", i.URL(), err)
	}
	c.Client = nil // does not trust the test's certificate
	if i, err = auth.NewIssuer(c); err != nil {
		t.Fatal(err)
	}
	if err := i.Prepare(t.Context()); workspace.KindOf(err) != workspace.Unavailable || workspace.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}
