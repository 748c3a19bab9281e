package web

import (
	"crypto/rand"
	"net/http"
	"regexp"
	"strings"

	"carrel.dev/server"
	"carrel.dev/server/auth"
)

// requestIDHeader names a request, in both directions.
const requestIDHeader = "X-Request-Id"

var (
	// requestID is what a client may call its request: nothing that a reader of logs
	// could take for something else. A token is none.
	requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	// traceparent is the header of W3C Trace Context, version 00 and what later ones
	// must keep of it; it names the trace and the span that the request is part of.
	traceparent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
)

// identified gives each request an id, by which the log has it and which the response
// tells: the client's own, else the trace that it is part of, else a random one.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := labelsOf(r.Header)
		w.Header().Set(requestIDHeader, l.Request)
		next.ServeHTTP(w, r.WithContext(server.WithLabels(r.Context(), l)))
	})
}

// labelsOf reads what the header of a request says of it. What is malformed is as if
// it were not there.
func labelsOf(h http.Header) server.Labels {
	var l server.Labels
	if id := h.Get(requestIDHeader); requestID.MatchString(id) && !strings.Contains(id, auth.TokenPrefix) {
		l.Request = id
	}
	if id := traceOf(h.Values("Traceparent")); id != "" {
		l.Traceparent, l.Tracestate = h.Get("Traceparent"), h.Get("Tracestate")
		if l.Request == "" {
			l.Request = id
		}
	}
	if l.Request == "" {
		l.Request = rand.Text()
	}
	return l
}

// traceOf returns the id of the trace that a request is part of, or "".
func traceOf(given []string) string {
	const noTrace, noSpan = "00000000000000000000000000000000", "0000000000000000"
	if len(given) != 1 {
		return ""
	}
	m := traceparent.FindStringSubmatch(given[0])
	if m == nil || m[1] == "ff" || m[2] == noTrace || m[3] == noSpan || m[1] == "00" && m[4] != "" {
		return ""
	}
	return m[2]
}
