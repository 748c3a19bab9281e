package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"carrel.dev/workspace"
)

// Kind is what a principal has shown.
type Kind string

// The kinds.
const (
	KindToken Kind = "token" // a capability token
	KindJWT   Kind = "jwt"   // a JWT of the OpenID issuer
)

// Principal is who asks, and what they may do. It is not changed once it is made.
type Principal struct {
	// ID names the principal in logs and records: the id of its token, or issuer and
	// subject with # between them. It is no secret. Two JWTs of one subject have the
	// same, and may have different grants: see Standing.
	ID      string
	Kind    Kind
	Actor   workspace.Signature // whom commits and events name
	Project string
	Grants  *workspace.Grants // never nil
	Expires time.Time         // zero: never

	hash [32]byte // of a capability token
}

// LogValue is the principal as logs have it.
func (p *Principal) LogValue() slog.Value { return slog.StringValue(p.ID) }

// Standing is the same for two principals only if they are one, in the same project
// and with the same grants. What was opened with one bearer, a session for example, may
// be used with another only then.
func (p *Principal) Standing() string {
	grants, err := json.Marshal(p.Grants)
	if err != nil {
		panic("auth: grants always encode: " + err.Error())
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %q %s", p.Kind, p.ID, p.Project, grants))
	return hex.EncodeToString(sum[:16])
}

type principalKey struct{}

// WithPrincipal returns a context of a request that p makes.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the principal of a request, or nil if it was not asked for one.
func FromContext(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// signature makes whom commits name of what others have chosen: git takes no angle
// brackets and no line ends.
func signature(name, email string) workspace.Signature {
	return workspace.Signature{Name: fitName(name, "Carrel agent"), Email: fitName(strings.ReplaceAll(email, " ", ""), "agent@localhost")}
}

// fitName is a name without what git refuses or nobody can read, at most 200 bytes
// of it, or other if nothing is left.
func fitName(name, other string) string {
	name = strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if name = strings.TrimSpace(cut(name, 200)); name == "" {
		return other
	}
	return name
}

// cut is s without what follows its first n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
