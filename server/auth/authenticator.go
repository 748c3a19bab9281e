package auth

import (
	"context"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// maxBearer is the longest bearer that is looked at, in bytes.
const maxBearer = 16 << 10

// Verifier tells who shows a bearer. It is safe for concurrent use.
type Verifier interface {
	// Verify returns the principal of a bearer. What is not valid is ErrToken, what
	// allows nothing ErrScope; Why tells the reason of both. Anything else is not
	// about the bearer: the store or the issuer could not be asked.
	Verify(ctx context.Context, bearer string) (*Principal, error)
}

// Config says whom an Authenticator lets in.
type Config struct {
	Tokens workspace.Tokens // nil: no capability tokens
	Issuer *Issuer          // nil: no JWTs
	Now    func() time.Time // default: time.Now
}

// Authenticator tells capability tokens and JWTs apart by their form and verifies
// both. All methods are safe for concurrent use.
type Authenticator struct{ cfg Config }

var _ Verifier = (*Authenticator)(nil)

// New returns an Authenticator.
func New(cfg *Config) *Authenticator {
	a := &Authenticator{*cfg}
	if a.cfg.Now == nil {
		a.cfg.Now = time.Now
	}
	return a
}

// Verify implements Verifier.
func (a *Authenticator) Verify(ctx context.Context, bearer string) (*Principal, error) {
	switch {
	case len(bearer) > maxBearer:
		return nil, refuse(whyLong, "", nil)
	case strings.HasPrefix(bearer, TokenPrefix):
		return a.verifyToken(ctx, bearer)
	case strings.Count(bearer, ".") != 2:
		return nil, refuse(whyForm, "", nil)
	case a.cfg.Issuer == nil:
		return nil, refuse(whyNoIssuer, "", nil)
	}
	return a.cfg.Issuer.verify(ctx, bearer)
}

// Recheck reports whether a principal is still let in, for what stays open for long:
// ErrToken once it is revoked or has expired. A JWT cannot be revoked. Other errors are
// those of the store, which could not be asked.
func (a *Authenticator) Recheck(ctx context.Context, p *Principal) error {
	if !p.Expires.IsZero() && !a.cfg.Now().Before(p.Expires) {
		return refuse(whyExpired, p.ID, nil)
	}
	if p.Kind != KindToken {
		return nil
	}
	_, err := a.good(ctx, p.hash)
	return err
}
