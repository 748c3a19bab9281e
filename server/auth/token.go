package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"

	"carrel.dev/workspace"
)

// TokenPrefix begins every capability token.
const TokenPrefix = "carrel_"

const (
	secretBytes = 32
	tokenBytes  = secretBytes + crc32.Size
)

// alphabet is Crockford's: no i, l, o and u.
func alphabet() *base32.Encoding {
	return base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
}

// Minted is a new capability token.
type Minted struct {
	Bearer string   // what its bearer sends: a secret that nobody keeps
	ID     string   // as of workspace.Token
	Hash   [32]byte // as of workspace.Token
}

// Mint makes a capability token.
func Mint() Minted {
	raw := make([]byte, secretBytes, tokenBytes)
	rand.Read(raw) // never fails
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	bearer := TokenPrefix + alphabet().EncodeToString(raw)
	id := make([]byte, 5)
	rand.Read(id)
	return Minted{bearer, "t-" + alphabet().EncodeToString(id), sha256.Sum256([]byte(bearer))}
}

// parseToken returns the hash of a capability token, or why it is none.
func parseToken(bearer string) (hash [32]byte, why string) {
	encoded := strings.TrimPrefix(bearer, TokenPrefix)
	raw, err := alphabet().DecodeString(encoded)
	switch {
	case err != nil || len(raw) != tokenBytes || alphabet().EncodeToString(raw) != encoded:
		return hash, whyForm
	case binary.BigEndian.Uint32(raw[secretBytes:]) != crc32.ChecksumIEEE(raw[:secretBytes]):
		return hash, whyMistyped
	}
	return sha256.Sum256([]byte(bearer)), ""
}

// verifyToken finds the principal of a capability token.
func (a *Authenticator) verifyToken(ctx context.Context, bearer string) (*Principal, error) {
	if a.cfg.Tokens == nil {
		return nil, refuse(whyNoTokens, "", nil)
	}
	hash, why := parseToken(bearer)
	if why != "" {
		return nil, refuse(why, "", nil)
	}
	t, err := a.good(ctx, hash)
	if err != nil {
		return nil, err
	}
	return &Principal{
		ID: t.ID, Kind: KindToken, Actor: signature(t.Name, t.ID+"@localhost"),
		Project: t.Project, Grants: &t.Grants, Expires: t.Expires, hash: hash,
	}, nil
}

// good returns the token with a hash if it is neither revoked nor expired.
func (a *Authenticator) good(ctx context.Context, hash [32]byte) (workspace.Token, error) {
	t, err := a.cfg.Tokens.TokenByHash(ctx, hash)
	switch {
	case errors.Is(err, workspace.NotExist):
		return t, refuse(whyUnknown, "", nil)
	case err != nil:
		return t, err
	case subtle.ConstantTimeCompare(t.Hash[:], hash[:]) != 1:
		return t, refuse(whyUnknown, "", nil)
	case !t.Revoked.IsZero():
		return t, refuse(whyRevoked, t.ID, nil)
	case !t.Expires.IsZero() && !a.cfg.Now().Before(t.Expires):
		return t, refuse(whyExpired, t.ID, nil)
	}
	return t, nil
}
