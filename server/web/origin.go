package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"carrel.dev/server"
	"carrel.dev/server/mcpwire"
)

// fromAllowed refuses requests that give a foreign Host, or come from a page that is
// not allowed, and answers what browsers ask before they send a page's request.
func (s *Server) fromAllowed(next http.Handler) http.Handler {
	if s.cfg.Guard == nil && len(s.cfg.Hosts) == 0 && len(s.cfg.Origins) == 0 {
		return mcpwire.Local(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.hostAllowed(r.Host) {
			turnAway(w, "the host that the request names is not one of this server: --url says by which it is reached")
			return
		}
		origins := r.Header.Values("Origin")
		if len(origins) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		if len(origins) > 1 || !s.originAllowed(origins[0], r.Host) {
			turnAway(w, "pages of this origin are not served: --origin allows one")
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Expose-Headers", mcp.HeaderSessionID+", WWW-Authenticate, Retry-After, "+requestIDHeader)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// turnAway refuses a request without reading what it sends.
func turnAway(w http.ResponseWriter, text string) {
	w.Header().Set("Connection", "close")
	say(w, http.StatusForbidden, text)
}

// hostAllowed reports whether the server goes by a host, with or without a port.
func (s *Server) hostAllowed(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if server.IsLoopback(host) || slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	return s.cfg.Guard != nil && len(s.cfg.Hosts) == 0
}

// originAllowed reports whether pages of an origin are served: those that are
// allowed by name, and on this machine those of this machine.
func (s *Server) originAllowed(origin, host string) bool {
	if slices.Contains(s.cfg.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && server.IsLoopback(u.Host) && server.IsLoopback(host)
}
