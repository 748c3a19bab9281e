package auth

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"carrel.dev/server"
	"carrel.dev/workspace"
)

// GuardConfig says what a Guard lets in. Auth is needed; the zero value of any other
// field means its default.
type GuardConfig struct {
	Auth Verifier
	// Base is the URL that clients reach the server by, as https://carrel.example or,
	// behind a proxy that takes away a path, https://example.com/carrel. Default: the
	// scheme and Host of each request, if Host allows it.
	Base string
	// Host reports whether this server goes by a host, with or without a port;
	// default: names and addresses of this machine. It is not asked if there is a Base.
	Host func(host string) bool
	// Issuers are the URLs of the OpenID issuers that clients are sent to.
	Issuers []string
	Log     *slog.Logger // default: discarded
}

// Guard keeps requests out that have no principal, and tells clients where to get
// one. All methods are safe for concurrent use.
type Guard struct {
	cfg  GuardConfig
	base *url.URL // nil: as each request says
}

// NewGuard returns a Guard. A Base that is no URL of a server is Invalid.
func NewGuard(cfg *GuardConfig) (*Guard, error) {
	g := &Guard{cfg: *cfg}
	if g.cfg.Host == nil {
		g.cfg.Host = func(host string) bool { return server.IsLoopback((&url.URL{Host: host}).Hostname()) }
	}
	if g.cfg.Log == nil {
		g.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Base == "" {
		return g, nil
	}
	u, err := url.Parse(strings.TrimRight(cfg.Base, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, workspace.Errorf(workspace.Invalid, "%q is no URL that clients reach a server by", cfg.Base).
			Hinted("Write it as https://carrel.example.com, with the path that a proxy takes away if there is one.")
	}
	g.base = u
	return g, nil
}

// Errors of requests, apart from those of bearers.
var (
	errNone  = errors.New("there is no token")
	errQuery = errors.New("the token is in the URL")
	errTwice = errors.New("there are several Authorization headers")
)

// Wrap returns a handler that hands requests with a principal to next, which finds it
// by FromContext, and answers all others.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, err := bearerOf(r)
		var p *Principal
		if err == nil {
			p, err = g.cfg.Auth.Verify(r.Context(), bearer)
		}
		if err != nil {
			g.Refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(WithPrincipal(r.Context(), p)))
	})
}

// bearerOf takes the bearer from the header, see RFC 6750, section 2.1.
func bearerOf(r *http.Request) (string, error) {
	if inQuery(r.URL) {
		return "", errQuery
	}
	given := r.Header.Values("Authorization")
	if len(given) > 1 {
		return "", errTwice
	}
	scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	bearer = strings.Trim(bearer, " ")
	if !strings.EqualFold(scheme, "bearer") || bearer == "" {
		return "", errNone
	}
	return bearer, nil
}

// inQuery reports whether the URL has a token in it: by the name that RFC 6750 has
// for it, or by its look.
func inQuery(u *url.URL) bool {
	query := u.Query()
	if query.Has("access_token") {
		return true
	}
	for _, values := range query {
		for _, v := range values {
			if strings.HasPrefix(v, TokenPrefix) {
				return true
			}
		}
	}
	return false
}

// Refuse answers a request with an error of this package: ErrToken and a missing
// bearer with 401, ErrScope with 403, a malformed request with 400; what is not about
// the request with 503, or 500 in which case only the log has the text.
func (g *Guard) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	a := g.answer(err)
	level := slog.LevelInfo
	switch {
	case a.status >= http.StatusInternalServerError:
		level = slog.LevelError
	case errors.Is(err, errNone): // how every client of OAuth begins
		level = slog.LevelDebug
	}
	// The path, and not the query: there may be a token in it.
	attrs := append(Why(err), slog.Int("status", a.status), slog.String("path", LogPath(r.URL.Path)), slog.String("remote", r.RemoteAddr))
	g.cfg.Log.Log(r.Context(), level, "request refused", attrs...)
	g.write(w, r, a)
}

// Forbid answers a request of a principal who may not do what it asks for: 403,
// naming the scopes that allow it.
func (g *Guard) Forbid(w http.ResponseWriter, r *http.Request, verbs ...workspace.Verb) {
	who := ""
	if p := FromContext(r.Context()); p != nil {
		who = p.ID
	}
	g.Refuse(w, r, short("the grants do not cover the request", who, Scopes(verbs...)))
}

// answer is what a client is told.
type answer struct {
	status     int
	code       string // of RFC 6750, section 3.1; "" without one
	text, hint string
	scope      string
}

func (g *Guard) answer(err error) answer {
	var r *refusal
	switch {
	case errors.Is(err, errNone):
		return answer{http.StatusUnauthorized, "", err.Error(), "Send one in the header `Authorization: Bearer …`.", Scopes(asked()...)}
	case errors.Is(err, errQuery):
		return answer{http.StatusBadRequest, "invalid_request", err.Error(),
			"Send it in the header `Authorization: Bearer …`. URLs are kept in logs and histories: revoke this one and make another.", ""}
	case errors.Is(err, errTwice):
		return answer{http.StatusBadRequest, "invalid_request", err.Error(), "Send one.", ""}
	case errors.Is(err, ErrScope) && errors.As(err, &r):
		return answer{http.StatusForbidden, "insufficient_scope", r.Error(), workspace.HintOf(err), r.need}
	case errors.Is(err, ErrToken):
		return answer{http.StatusUnauthorized, "invalid_token", ErrToken.Error(), workspace.HintOf(err), ""}
	}
	switch k := workspace.KindOf(err); k {
	case workspace.Unavailable, workspace.Limit, workspace.Canceled:
		return answer{http.StatusServiceUnavailable, "", "the token cannot be looked at now", "Try again in a moment.", ""}
	}
	return answer{http.StatusInternalServerError, "", "the token cannot be looked at", "The server's log has the reason.", ""}
}

// asked are the verbs that a client is advised to ask for: what an agent needs.
func asked() []workspace.Verb {
	return []workspace.Verb{workspace.VerbRead, workspace.VerbWrite, workspace.VerbCommit, workspace.VerbCreate}
}

// write writes an answer, with a challenge if it is about the bearer.
func (g *Guard) write(w http.ResponseWriter, r *http.Request, a answer) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if a.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(int(keysPause.Seconds())))
	}
	if a.status < http.StatusInternalServerError {
		h.Set("WWW-Authenticate", g.challenge(r, a))
	}
	body := struct {
		Error       string `json:"error,omitempty"`
		Description string `json:"error_description"`
		Hint        string `json:"hint"`
	}{a.code, a.text, a.hint}
	writeJSON(w, r, a.status, body)
}

// challenge is the header of RFC 6750, section 3, with the metadata of RFC 9728,
// section 5.1. What stands between quotes has none in it.
func (g *Guard) challenge(r *http.Request, a answer) string {
	var params []string
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	if base := g.baseOf(r); base != nil {
		add("resource_metadata", metadataURL(base, resourceOf(r.URL.Path)))
	}
	if a.code != "" {
		add("error", a.code)
		add("error_description", a.text)
	}
	add("scope", a.scope)
	if len(params) == 0 {
		return "Bearer"
	}
	return "Bearer " + strings.Join(params, ", ")
}
