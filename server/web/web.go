package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"carrel.dev/server"
	"carrel.dev/server/auth"
	"carrel.dev/server/mcpwire"
	"carrel.dev/workspace"
)

// Config says what a Server serves. Front is needed; the zero value of any other
// field means its default.
type Config struct {
	Front *mcpwire.Front
	// Auth and Guard let requests in, and Project finds the server of a principal's
	// project. Without them only this machine is served.
	Auth    *auth.Authenticator
	Guard   *auth.Guard
	Project func(ctx context.Context, name string) (*mcpwire.Server, error)
	// Hosts are the names, without ports, that requests may give in Host beside those
	// of this machine. With Auth, none means any.
	Hosts []string
	// Origins are those of pages in a browser that are served, as https://example.com.
	Origins []string
	// Ready reports why requests could not be served; nil: they always can.
	Ready  func(ctx context.Context) error
	Limits Limits
	// Metrics are served to whoever may admin; nil: none are.
	Metrics *Metrics
	// Drain is how long the server still takes requests once it says that it is not
	// ready any more, so that whoever distributes them has noticed. Default: not at all.
	Drain time.Duration
	Log   *slog.Logger // default: discarded
	Now   func() time.Time
}

// Server is Carrel on HTTP. All methods are safe for concurrent use.
type Server struct {
	cfg      Config
	limits   *limiter
	handler  http.Handler
	stopping atomic.Bool
}

// New returns a Server.
func New(cfg *Config) *Server {
	s := &Server{cfg: *cfg}
	if s.cfg.Log == nil {
		s.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if s.cfg.Now == nil {
		s.cfg.Now = time.Now
	}
	if s.cfg.Ready == nil {
		s.cfg.Ready = func(context.Context) error { return nil }
	}
	s.limits = newLimiter(s.cfg.Limits, s.cfg.Metrics, s.cfg.Now)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	if s.cfg.Metrics != nil {
		mux.Handle("GET /metrics", s.protected(s.admin(s.cfg.Metrics.handler())))
	}
	if s.cfg.Guard != nil {
		mux.Handle(auth.MetadataPath, s.cfg.Guard.Metadata())
		mux.Handle(auth.MetadataPath+"/", s.cfg.Guard.Metadata())
	}
	mux.Handle("/", s.protected(s.limits.wrap(s.cfg.Front)))
	s.handler = identified(s.cfg.Metrics.count(s.logged(s.fromAllowed(mux))))
	return s
}

// unreadTime is how long a client may take to send a body that nobody reads: that of a
// request which is refused, say. Whoever reads one says how long that may take.
const unreadTime = 5 * time.Second

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTime)) // else the connection waits for the rest
	}
	if r.ContentLength < 0 {
		// It came in chunks, and may have had a length as well, which net/http drops: RFC
		// 9112, section 6.1, has the connection end then, so that what one of two servers
		// takes for a body is not the other one's next request.
		w.Header().Set("Connection", "close")
	}
	s.handler.ServeHTTP(w, r)
}

// Serve serves a listener until ctx ends: then it is not ready, after Config.Drain
// it takes nothing more, and running calls finish. The error is that of the listener,
// which is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stopped, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		s.stopping.Store(true)
		time.AfterFunc(s.cfg.Drain, stop)
	})()
	return s.cfg.Front.Serve(stopped, l, s)
}

// ready answers whether requests can be served.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.stopping.Load() {
		say(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.cfg.Ready(ctx); err != nil {
		s.cfg.Log.ErrorContext(r.Context(), "not ready", "err", err)
		say(w, http.StatusServiceUnavailable, "not ready: the log says why")
		return
	}
	say(w, http.StatusOK, "ok")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write([]byte(text + "\n")) // a client that is gone gets nothing
}

// protected lets requests of principals through, and makes each a client of the
// front.
func (s *Server) protected(next http.Handler) http.Handler {
	if s.cfg.Guard == nil {
		return next
	}
	return s.cfg.Guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := auth.FromContext(r.Context())
		r = r.WithContext(server.WithLabels(r.Context(), server.Labels{Principal: p.ID}))
		project, err := s.cfg.Project(r.Context(), p.Project)
		if err != nil {
			s.noProject(w, r, p, err)
			return
		}
		ctx := mcpwire.WithClient(r.Context(), &mcpwire.Client{
			ID: p.ID, Standing: p.Standing(), Actor: p.Actor, Grants: p.Grants, Server: project,
			Good: func(ctx context.Context) error {
				// A store that cannot be asked now is no reason to end what is open.
				if err := s.cfg.Auth.Recheck(ctx, p); errors.Is(err, auth.ErrToken) {
					return err
				}
				return nil
			},
		})
		next.ServeHTTP(w, r.WithContext(ctx))
	}))
}

// noProject answers a principal whose project cannot be served.
func (s *Server) noProject(w http.ResponseWriter, r *http.Request, p *auth.Principal, err error) {
	s.cfg.Log.ErrorContext(r.Context(), "a project cannot be served", "project", p.Project, "principal", p, "path", auth.LogPath(r.URL.Path), "err", err)
	switch workspace.KindOf(err) {
	case workspace.NotExist:
		say(w, http.StatusForbidden, "the project of this token does not exist, or no longer")
	default:
		say(w, http.StatusServiceUnavailable, "the project cannot be served now: the server's log says why")
	}
}

// admin lets those through who may admin.
func (s *Server) admin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := auth.FromContext(r.Context()); p != nil && !p.Grants.May(workspace.VerbAdmin) {
			s.cfg.Guard.Forbid(w, r, workspace.VerbAdmin)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// logged writes a line for each request. What a client sends is in none but for the
// path, without what looks like a secret.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.cfg.Log.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		began := s.cfg.Now()
		seen := &observed{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		s.cfg.Log.DebugContext(r.Context(), "request", "method", r.Method, "path", auth.LogPath(r.URL.Path), "status", seen.status(),
			"remote", r.RemoteAddr, "ms", s.cfg.Now().Sub(began).Milliseconds())
	})
}

// observed notes the status of a response.
type observed struct {
	http.ResponseWriter
	code int
}

func (o *observed) WriteHeader(code int) {
	if o.code == 0 {
		o.code = code
	}
	o.ResponseWriter.WriteHeader(code)
}

func (o *observed) status() int {
	if o.code == 0 {
		return http.StatusOK
	}
	return o.code
}

// Unwrap is for http.ResponseController.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }
