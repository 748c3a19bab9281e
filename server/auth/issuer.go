package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"carrel.dev/workspace"
)

// IssuerConfig says which JWTs are let in, and as what. URL and Audiences are needed.
type IssuerConfig struct {
	// URL is the issuer, exactly as it names itself. It is https, or http on this
	// machine.
	URL string
	// Audiences: one of them has to be among the token's. That is the URL of the
	// endpoint, or whatever the issuer knows this server by.
	Audiences []string
	// Algorithms that a token may be signed with, by their names in RFC 7518;
	// default: all of Algorithms().
	Algorithms []string
	// Project is that of a token which names none; default: such a token is refused.
	Project string
	Claims  Claims
	Client  *http.Client     // asks the issuer; default: one that gives up after 5 seconds
	Now     func() time.Time // default: time.Now
	Log     *slog.Logger     // default: discarded
}

// Claims are the names of claims. A claim that is not named is not read.
type Claims struct {
	// Scopes hold scopes, as a text with spaces between them or as an array; the first
	// that a token has counts. Default: scope, scp.
	Scopes []string
	// Project, Workspaces and Repos hold what comes after the prefix of a scope, as a
	// text or an array: "acme", "/agents/ann/**", "app=branch". Default: none.
	Project, Workspaces, Repos string
	// Name and Email are whom commits name; default: name, email.
	Name, Email string
}

// Algorithms are the algorithms that can be configured: all are asymmetric.
func Algorithms() []string {
	return []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
		oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	}
}

// Issuer verifies the JWTs of an OpenID issuer. All methods are safe for concurrent
// use.
type Issuer struct {
	cfg        IssuerConfig
	algorithms []jose.SignatureAlgorithm
	keys       *keys
}

// NewIssuer returns an Issuer, which is not asked for anything yet. What is wrong
// with cfg is Invalid.
func NewIssuer(cfg *IssuerConfig) (*Issuer, error) {
	i := &Issuer{cfg: *cfg}
	if err := i.check(); err != nil {
		return nil, err
	}
	c := &i.cfg
	if len(c.Algorithms) == 0 {
		c.Algorithms = Algorithms()
	}
	for _, a := range c.Algorithms {
		i.algorithms = append(i.algorithms, jose.SignatureAlgorithm(a))
	}
	if len(c.Claims.Scopes) == 0 {
		c.Claims.Scopes = []string{"scope", "scp"}
	}
	if c.Claims.Name == "" {
		c.Claims.Name = "name"
	}
	if c.Claims.Email == "" {
		c.Claims.Email = "email"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	i.keys = newKeys(c)
	return i, nil
}

// check refuses a configuration that lets in too much or nobody.
func (i *Issuer) check() error {
	c := &i.cfg
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || checkURL(u) != nil || u.RawQuery != "" || u.Fragment != "":
		return workspace.Errorf(workspace.Invalid, "%q is no URL of an OpenID issuer", c.URL).
			Hinted("Name it as the issuer does in its metadata: with https, or http on this machine, and without ? and #.")
	case len(c.Audiences) == 0 || slices.Contains(c.Audiences, ""):
		return workspace.Errorf(workspace.Invalid, "the OpenID issuer %s has no audience", c.URL).
			Hinted("Name what the issuer knows this server by: else a token for any other service would do here.")
	}
	for _, a := range c.Algorithms {
		if !slices.Contains(Algorithms(), a) {
			return workspace.Errorf(workspace.Invalid, "tokens cannot be signed with %q", a).Hinted("Use some of %s.", strings.Join(Algorithms(), ", "))
		}
	}
	if c.Project == "" {
		return nil
	}
	return workspace.CheckProject(c.Project)
}

// URL is the issuer's name.
func (i *Issuer) URL() string { return i.cfg.URL }

// Prepare asks the issuer for its keys, so that the first token need not wait. An
// issuer that cannot be asked, or that gives itself another name, is Unavailable; it
// is asked again when a token comes.
func (i *Issuer) Prepare(ctx context.Context) error {
	_, err := i.keys.some(ctx, false)
	return err
}

// verify finds the principal of a JWT.
func (i *Issuer) verify(ctx context.Context, raw string) (*Principal, error) {
	jws, err := jose.ParseSignedCompact(raw, i.algorithms)
	if err != nil {
		return nil, refuse(whyAlgorithm, "", err)
	}
	header := jws.Signatures[0].Protected
	if !typeFits(header) {
		return nil, refuse(whyType, "", nil)
	}
	set, err := i.keys.matching(ctx, header)
	switch {
	case err != nil:
		return nil, err
	case len(set.PublicKeys) == 0:
		return nil, refuse(whyKey, "", nil)
	}
	token, err := oidc.NewVerifier(i.cfg.URL, set, &oidc.Config{
		SkipClientIDCheck: true, SupportedSigningAlgs: i.cfg.Algorithms, Now: i.cfg.Now,
	}).Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return nil, refuse(whyExpired, "", nil)
	case err != nil:
		return nil, refuse(whyChecks, "", err)
	case !i.cfg.Now().Before(token.Expiry):
		return nil, refuse(whyExpired, "", nil)
	}
	return i.principal(token)
}

// typeFits reports whether a token is an access token of RFC 9068 or what most
// issuers make of access and id tokens alike, and not one of the other uses of JWTs,
// see RFC 8725, section 3.11.
func typeFits(h jose.Header) bool {
	typ, ok := h.ExtraHeaders[jose.HeaderType]
	if !ok {
		return true
	}
	text, _ := typ.(string)
	return slices.Contains([]string{"jwt", "at+jwt"}, strings.TrimPrefix(strings.ToLower(text), "application/"))
}
