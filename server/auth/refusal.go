package auth

import (
	"errors"
	"log/slog"
	"strings"

	"carrel.dev/workspace"
)

// The two answers to a bearer that is not let in; errors.Is tells them apart. Both
// are workspace.Permission.
var (
	// ErrToken: it is unknown, revoked, expired, malformed or not for this server.
	ErrToken = errors.New("the token is not valid")
	// ErrScope: it is valid, and does not allow what was asked for.
	ErrScope = errors.New("the token does not allow this")
)

// Why a bearer is refused, as logs have it.
const (
	whyForm      = "it has neither the form of a token nor of a JWT"
	whyLong      = "it is too long"
	whyMistyped  = "its checksum is wrong: a character is lost or changed"
	whyUnknown   = "nobody made it, or not on this data directory"
	whyRevoked   = "it was revoked"
	whyExpired   = "it has expired"
	whyNoTokens  = "capability tokens are not served"
	whyNoIssuer  = "no OpenID issuer is configured"
	whyAlgorithm = "it is no JWT that is signed with an allowed algorithm"
	whyType      = "it is not of the type of an access or id token"
	whyKey       = "the issuer has no such key"
	whyChecks    = "it does not pass the checks of OpenID Connect"
	whyAudience  = "it is for another audience"
	whyBound     = "it is bound to a key of its sender"
	whyClaims    = "a claim is malformed"
	whyScopes    = "a scope is malformed"
	whyNothing   = "no scope allows anything"
	whyProject   = "no scope names a project, and there is no default"
)

// refusal is an error whose text is the same for all reasons.
type refusal struct {
	answer error  // ErrToken or ErrScope
	why    string // for the log
	who    string // the principal's ID, if the bearer has proven it
	cause  error  // for the log
	need   string // the scope that is missing, of an ErrScope
}

func (r *refusal) Error() string { return r.answer.Error() }
func (r *refusal) Unwrap() error { return r.answer }

// refuse makes the error of a bearer that is not valid.
func refuse(why, who string, cause error) error {
	return answered(&refusal{answer: ErrToken, why: why, who: who, cause: cause})
}

// short makes the error of a bearer that lacks a scope.
func short(why, who, need string) error {
	return answered(&refusal{answer: ErrScope, why: why, who: who, need: need})
}

func answered(r *refusal) error {
	hint := "Get a new one from whoever administers this server, or sign in again. The server's log has the reason."
	if r.answer == ErrScope {
		hint = "Ask whoever administers this server for a token with the scope " + r.need + "."
	}
	return workspace.Errorf(workspace.Permission, "%w", r).Hinted("%s", hint)
}

// Why returns what a log says of an error of this package, and what a client must
// not be told: the reason and, if the bearer has proven it, the principal.
func Why(err error) []any {
	var r *refusal
	if !errors.As(err, &r) {
		return []any{slog.String("reason", err.Error())}
	}
	attrs := []any{slog.String("reason", r.why)}
	if r.who != "" {
		attrs = append(attrs, slog.String("principal", r.who))
	}
	if r.cause != nil {
		attrs = append(attrs, slog.String("cause", cut(strings.ToValidUTF8(r.cause.Error(), "?"), 300)))
	}
	return attrs
}
