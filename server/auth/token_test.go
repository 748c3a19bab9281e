package auth_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/persistence/memory"
	"carrel.dev/server/auth"
	"carrel.dev/workspace"
)

func TestMint(t *testing.T) {
	form := regexp.MustCompile(`^carrel_[0-9a-hjkmnp-tv-z]{58}$`)
	ids := map[string]bool{}
	for range 100 {
		m := auth.Mint()
		if !form.MatchString(m.Bearer) || m.Hash != sha256.Sum256([]byte(m.Bearer)) {
			t.Fatalf("got %q with hash %x", m.Bearer, m.Hash)
		}
		if ids[m.ID] || ids[m.Bearer] || strings.Contains(m.Bearer, m.ID[2:]) {
			t.Fatalf("got %s again, or a part of the token as its id", m.ID)
		}
		ids[m.ID], ids[m.Bearer] = true, true
	}
}

func TestToken(t *testing.T) {
	w := newWorld(t, nil)
	m := w.token(func(tok *workspace.Token) {
		tok.Name = "the <ci>\nbot"
		tok.Grants.Workspaces = []string{"/agents/**"}
	})
	p := w.good(m.Bearer)
	got := *p
	want := auth.Principal{
		ID: m.ID, Kind: auth.KindToken, Actor: workspace.Signature{Name: "the cibot", Email: m.ID + "@localhost"}, Project: "p",
		Grants:  &workspace.Grants{Verbs: []workspace.Verb{workspace.VerbRead}, Workspaces: []string{"/agents/**"}},
		Expires: w.clock.now().Add(time.Hour),
	}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".hash" }, cmp.Ignore())); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	unnamed := w.token(func(tok *workspace.Token) { tok.Name, tok.Expires = "", time.Time{} })
	w.clock.pass(100 * 365 * 24 * time.Hour)
	if p := w.good(unnamed.Bearer); p.Actor.Name != "Carrel agent" || !p.Expires.IsZero() {
		t.Errorf("got %+v", p)
	}
}

// refusals are bearers that are not let in, by why; each reason is another.
func refusals(w *world) map[string]string {
	revoked, expired := w.token(nil), w.token(func(tok *workspace.Token) { tok.Expires = w.clock.now() })
	w.revoke(revoked)
	good := w.token(nil).Bearer
	last := "0"
	if strings.HasSuffix(good, "0") {
		last = "4" // the last character has three bits, the highest ones
	}
	return map[string]string{
		"unknown":   auth.Mint().Bearer,
		"revoked":   revoked.Bearer,
		"expired":   expired.Bearer,
		"mistyped":  good[:len(good)-1] + last,
		"malformed": good[:len(good)-1],
		"too long":  good + strings.Repeat("0", 16<<10),
		"wrong key": newSigner(w.T, "k2", w.signer.alg).sign(w.T, nil, w.claims(nil)),
		"audience":  w.jwt(map[string]any{"aud": "https://elsewhere.example"}),
		"issuer":    w.jwt(map[string]any{"iss": "https://elsewhere.example"}),
	}
}

// TestConstantAnswers has all that is not valid answered alike, and logged apart.
func TestConstantAnswers(t *testing.T) {
	w := newWorld(t, nil)
	var text string
	reasons := map[string]string{}
	for name, bearer := range refusals(w) {
		p, err := w.auth.Verify(t.Context(), bearer)
		if p != nil || !errors.Is(err, auth.ErrToken) || workspace.KindOf(err) != workspace.Permission {
			t.Errorf("%s: got %v, %v", name, p, err)
			continue
		}
		told := err.Error() + workspace.HintOf(err)
		if text == "" {
			text = told
		}
		if told != text {
			t.Errorf("%s: got %q, want %q", name, told, text)
		}
		why := auth.Why(err)
		reason := why[0].(interface{ String() string }).String()
		if other, ok := reasons[reason]; ok {
			t.Errorf("%s and %s: both %s", name, other, reason)
		}
		reasons[reason] = name
	}
}

func TestMalformedTokens(t *testing.T) {
	w := newWorld(t, nil)
	good := w.token(nil).Bearer
	for _, bearer := range []string{
		"", " ", "carrel_", "carrel", good + "0", good + "=", good[:20] + "\n" + good[20:], strings.ToUpper(good), "carrel_" + strings.ToUpper(good[7:]),
		strings.Replace(good, "carrel_", "carrel-", 1), " " + good, "a.b", "a.b.c.d", "..", "carrel_.x.y", strings.Repeat("a", 70) + "..",
	} {
		if p, err := w.auth.Verify(t.Context(), bearer); !errors.Is(err, auth.ErrToken) {
			t.Errorf("%q: got %v, %v", bearer, p, err)
		}
	}
	none := auth.New(&auth.Config{})
	for _, bearer := range []string{good, w.jwt(nil)} {
		if _, err := none.Verify(t.Context(), bearer); !errors.Is(err, auth.ErrToken) {
			t.Errorf("nothing is served: got %v", err)
		}
	}
}

// failing is a store that cannot be asked.
type failing struct {
	*memory.Store
	err error
}

func (f failing) TokenByHash(context.Context, [32]byte) (workspace.Token, error) {
	return workspace.Token{}, f.err
}

// wrong is a store that returns another token than it was asked for.
type wrong struct {
	*memory.Store
	as [32]byte
}

func (f wrong) TokenByHash(ctx context.Context, _ [32]byte) (workspace.Token, error) {
	return f.Store.TokenByHash(ctx, f.as)
}

func TestStoreFails(t *testing.T) {
	w := newWorld(t, nil)
	m := w.token(nil)
	for _, kind := range []workspace.Kind{workspace.Unavailable, workspace.Corrupt, workspace.Internal} {
		a := auth.New(&auth.Config{Tokens: failing{w.store, workspace.Errorf(kind, "the store fails")}})
		if p, err := a.Verify(t.Context(), m.Bearer); p != nil || workspace.KindOf(err) != kind || errors.Is(err, auth.ErrToken) {
			t.Errorf("%s: got %v, %v", kind, p, err)
		}
	}
	a := auth.New(&auth.Config{Tokens: wrong{w.store, m.Hash}, Now: w.clock.now})
	if p, err := a.Verify(t.Context(), auth.Mint().Bearer); p != nil || !errors.Is(err, auth.ErrToken) {
		t.Errorf("the token of another hash: got %v, %v", p, err)
	}
}

func TestRecheck(t *testing.T) {
	w := newWorld(t, nil)
	revoked, kept := w.token(nil), w.token(nil)
	ps := map[string]*auth.Principal{
		"revoked": w.good(revoked.Bearer), "kept": w.good(kept.Bearer), "jwt": w.good(w.jwt(nil)),
	}
	check := func(when string, want map[string]bool) {
		t.Helper()
		for name, p := range ps {
			if err := w.auth.Recheck(t.Context(), p); (err == nil) != want[name] || err != nil && !errors.Is(err, auth.ErrToken) {
				t.Errorf("%s, %s: got %v", when, name, err)
			}
		}
	}
	check("first", map[string]bool{"revoked": true, "kept": true, "jwt": true})
	w.revoke(revoked)
	check("revoked", map[string]bool{"kept": true, "jwt": true})
	w.clock.pass(time.Hour)
	check("expired", nil)
}

// TestStanding tells apart what one bearer must not take over from another.
func TestStanding(t *testing.T) {
	w := newWorld(t, nil)
	scopes := func(s string) string { return w.good(w.jwt(map[string]any{"scope": s})).Standing() }
	base := scopes("carrel:read carrel:write carrel:repo:a=none")
	w.clock.pass(time.Minute)
	if again := scopes("carrel:repo:a=none openid carrel:write carrel:read"); again != base {
		t.Error("another token with the same scopes is another")
	}
	for name, other := range map[string]string{
		"fewer verbs":     scopes("carrel:read carrel:repo:a=none"),
		"another project": scopes("carrel:read carrel:write carrel:repo:a=none carrel:project:q"),
		"more repos":      scopes("carrel:read carrel:write"),
		"another subject": w.good(w.jwt(map[string]any{"scope": "carrel:read carrel:write carrel:repo:a=none", "sub": "eve"})).Standing(),
		"a token":         w.good(w.token(nil).Bearer).Standing(),
	} {
		if other == base {
			t.Errorf("%s: the same", name)
		}
	}
}
