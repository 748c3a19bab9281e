package workspace

import (
	"context"
	"time"
)

// Token is what is known of a capability token: not the token itself, which only
// its bearer has.
type Token struct {
	ID      string   // names it in lists and records; no secret
	Hash    [32]byte // SHA-256 of the token
	Project string
	Name    string // what it is for, in its maker's words
	Grants  Grants
	Created time.Time
	Expires time.Time // zero: never
	Revoked time.Time // zero: not
}

// Tokens keeps capability tokens. They are rows, not events: what is revoked has
// no history that anybody could go back to.
type Tokens interface {
	// AddToken keeps a token, durable on return. An id or hash that is there
	// already is Exist.
	AddToken(ctx context.Context, t Token) error
	// TokenByHash returns a token, revoked and expired ones included, or NotExist.
	TokenByHash(ctx context.Context, hash [32]byte) (Token, error)
	// Tokens returns those of a project, the oldest first.
	Tokens(ctx context.Context, project string) ([]Token, error)
	// RevokeToken marks a token as revoked at a time, durable on return. A second
	// time changes nothing; an id that the project does not have is NotExist.
	RevokeToken(ctx context.Context, project, id string, at time.Time) error
}
