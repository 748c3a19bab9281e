// Package auth says who asks over HTTP, and what they may do: it turns the bearer
// of a request into a [Principal], or into one answer that tells a stranger nothing.
//
// # Nouns
//
//   - bearer: what a client sends in the Authorization header, a capability token
//     of ours or a JWT of an OpenID issuer. Its form says which.
//   - capability token: made by carrel token create, kept as a hash, revocable.
//   - principal: who has shown a bearer, and the grants that come with it.
//   - refusal: why a bearer is not let in. Whoever sent it is told only that it is
//     not valid; the log has the reason.
//
// # Capability tokens
//
// A token is "carrel_" and 58 characters of a base32 alphabet without letters that
// look like digits, all of which a double click selects and any shell, URL and
// configuration file takes: 32 random bytes and their CRC-32. The store has the
// SHA-256 of the whole text, and no slow hash: 256 random bits are not guessed. The
// checksum only tells the log that somebody lost a character; a scanner for leaked
// secrets can use it too. That a token with a wrong one is refused without a lookup
// can be measured, and says nothing that the sender could not compute.
//
// Nothing is cached. Each request looks its token up in the store, which sees what
// any process has committed: what is revoked is refused from the next request on,
// whoever revoked it. What is open for long asks again, see [Authenticator.Recheck].
//
// # JWTs
//
// Discovery and the checks of a JWT are those of go-oidc: signature, issuer, expiry,
// and nbf with five minutes for clocks that differ. What it does not do is done here:
//
//   - Only asymmetric algorithms can be configured, so that a public key is never
//     the secret of an HMAC. A key is used if its kid, use and alg agree with the
//     token's header; keys and URLs in the header are ignored.
//   - Keys are asked for again after five minutes, so that one that the issuer has
//     withdrawn is not taken for ever, which go-oidc's key set would do. It would also
//     ask the issuer for every token with an unknown kid; here that happens every ten
//     seconds at most. While the issuer cannot be reached, keys serve for an hour.
//   - A token whose type is not that of an access or id token, and one that is bound
//     to a key of its sender (cnf), is refused: nobody here checks the possession.
//   - Claims are read by their exact names. encoding/json takes "SCOPE" for "scope",
//     and issuers let their users choose claims.
//
// The issuer is asked when the first JWT comes, or earlier by [Issuer.Prepare]; while
// it is down, JWTs are unavailable and tokens work.
//
// # From scopes to grants
//
// Scopes that begin with "carrel:" are ours; others are left to others.
//
//	carrel:read, write, commit, create, admin   what may be done
//	carrel:project:NAME                         in which project, one for each token
//	carrel:workspace:PATTERN                    in which workspaces; without one: all
//	carrel:repo:PATTERN=POLICY                  with which repos; without one: all
//
// Whatever is malformed, and a scope of ours that is unknown, refuses the token: a
// restriction that is not understood is not dropped. Scopes have no order, so that
// of the repo scopes that match a repo the narrowest counts, and not the last as on
// the command line. Claims can be named that hold the same without the prefix.
//
// # HTTP
//
// [Guard] is the middleware. A bearer is taken from the header only: URLs end up in
// logs, histories and Referer headers, and a token found in one is refused with the
// advice to revoke it. Challenges follow RFC 6750, the metadata that they point to
// RFC 9728.
package auth
