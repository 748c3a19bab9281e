package auth

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// maxSubject is the longest subject, in bytes, see OpenID Connect Core, section 2.
const maxSubject = 255

// claims are those of a token, by their exact names.
type claims map[string]json.RawMessage

// principal makes the principal of a token whose signature, issuer and times hold.
func (i *Issuer) principal(token *oidc.IDToken) (*Principal, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return nil, refuse(whyClaims, "", err)
	}
	if err := c.exact(); err != nil {
		return nil, refuse(whyClaims, "", err)
	}
	subject, err := c.subject()
	if err != nil {
		return nil, refuse(whyClaims, "", err)
	}
	who := i.cfg.URL + "#" + subject
	audiences, err := c.texts("aud")
	switch {
	case err != nil || c["exp"] == nil:
		return nil, refuse(whyClaims, who, err)
	case !slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(i.cfg.Audiences, a) }):
		return nil, refuse(whyAudience, who, fmt.Errorf("it is for %q", audiences))
	case c["cnf"] != nil:
		return nil, refuse(whyBound, who, nil)
	}
	scopes, err := i.scopes(c)
	if err != nil {
		return nil, refuse(whyClaims, who, err)
	}
	a, err := fromScopes(scopes)
	if err != nil {
		return nil, refuse(whyScopes, who, err)
	}
	if a.project == "" {
		a.project = i.cfg.Project
	}
	switch {
	case len(a.grants.Verbs) == 0:
		return nil, short(whyNothing, who, scopePrefix+"read")
	case a.project == "":
		return nil, short(whyProject, who, scopePrefix+scopeProject+"NAME")
	}
	name, email := i.person(c, subject)
	return &Principal{
		ID: who, Kind: KindJWT, Actor: signature(name, email),
		Project: a.project, Grants: &a.grants, Expires: token.Expiry,
	}, nil
}

// exact refuses claims that differ from those that go-oidc has read in case alone: it
// may have read them instead.
func (c claims) exact() error {
	for name := range c {
		for _, read := range []string{"iss", "sub", "aud", "exp", "nbf", "iat"} {
			if name != read && strings.EqualFold(name, read) {
				return fmt.Errorf("%q is nearly %s", cut(name, maxSubject), read)
			}
		}
	}
	return nil
}

// subject returns the claim sub, which names the principal in logs.
func (c claims) subject() (string, error) {
	s := c.text("sub")
	odd := strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	if s == "" || len(s) > maxSubject || odd {
		return "", fmt.Errorf("sub is %q", cut(s, maxSubject))
	}
	return s, nil
}

// scopes returns the scopes of a token, together with the claims that stand for some.
func (i *Issuer) scopes(c claims) ([]string, error) {
	var all []string
	for _, name := range i.cfg.Claims.Scopes {
		if c[name] == nil {
			continue
		}
		scopes, err := c.texts(name)
		if err != nil {
			return nil, err
		}
		for _, s := range scopes {
			all = append(all, strings.Fields(s)...)
		}
		break
	}
	for prefix, name := range map[string]string{
		scopeProject: i.cfg.Claims.Project, scopeWorkspace: i.cfg.Claims.Workspaces, scopeRepo: i.cfg.Claims.Repos,
	} {
		if name == "" || c[name] == nil {
			continue
		}
		values, err := c.texts(name)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			all = append(all, scopePrefix+prefix+v)
		}
	}
	return all, nil
}

// person is whom commits name. An address that the issuer has not verified is not
// taken: it may be somebody else's.
func (i *Issuer) person(c claims, subject string) (name, email string) {
	if name = c.text(i.cfg.Claims.Name); name == "" {
		name = subject
	}
	email = c.text(i.cfg.Claims.Email)
	if verified := c["email_verified"]; !strings.Contains(email, "@") || verified != nil && string(verified) != "true" {
		host := "localhost"
		if u, err := url.Parse(i.cfg.URL); err == nil {
			host = u.Hostname()
		}
		email = subject + "@" + host
	}
	return name, email
}

// text is a claim that is a text, or "".
func (c claims) text(name string) string {
	var s string
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

// texts is a claim that is a text or an array of texts.
func (c claims) texts(name string) ([]string, error) {
	var many []*string
	if err := json.Unmarshal(c[name], &many); err == nil && many != nil {
		all := make([]string, 0, len(many))
		for _, s := range many {
			if s == nil {
				return nil, fmt.Errorf("%s has a null in it", name)
			}
			all = append(all, *s)
		}
		return all, nil
	}
	var one *string
	if err := json.Unmarshal(c[name], &one); err != nil || one == nil {
		return nil, fmt.Errorf("%s is neither a text nor an array of texts", name)
	}
	return []string{*one}, nil
}
