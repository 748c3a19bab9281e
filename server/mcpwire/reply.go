package mcpwire

import (
	"mime"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// reply is the response to the POST of a request: JSON, or a stream of events once
// something has to be said before the answer.
type reply struct {
	*events
	json, streams bool // what the client takes
	stateless     bool // errors have a status of HTTP
}

var _ sink = (*reply)(nil)

// newReply returns the response to a request. If the client takes no kind of it,
// that has been answered, and ok is false.
func newReply(w http.ResponseWriter, r *http.Request) (_ *reply, ok bool) {
	json, streams := accepts(r, "application/json"), accepts(r, eventStream)
	if !json && !streams {
		refuse(w, http.StatusNotAcceptable, "the client must accept application/json and "+eventStream)
		return nil, false
	}
	p := &reply{newEvents(w), json, streams, mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))}
	if !streams {
		p.timer.Stop()
	}
	return p, true
}

// accepts reports whether the client takes a content type. One that does not say
// takes any.
func accepts(r *http.Request, want string) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept == "" {
		return true
	}
	kind, _, _ := strings.Cut(want, "/")
	for part := range strings.SplitSeq(accept, ",") {
		if t, _, err := mime.ParseMediaType(part); err == nil && (t == want || t == kind+"/*" || t == "*/*") {
			return true
		}
	}
	return false
}

// note sends a notification to a client that takes a stream.
func (p *reply) note(message []byte) {
	if p.streams {
		p.events.note(message)
	}
}

func (p *reply) answer(message []byte, code int) {
	status := http.StatusOK
	if p.stateless {
		status = statusOf(code)
	}
	if !p.json || !p.plain(func(w http.ResponseWriter) { writeJSON(w, status, message) }) {
		p.events.answer(message, code)
	}
}

// close ends the response. One to a call that was cancelled is empty.
func (p *reply) close() {
	p.plain(func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) })
	p.events.close()
}

// statusOf is the status that 2026-07-28 has for a JSON-RPC error.
func statusOf(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.PARSE_ERROR, mcp.INVALID_REQUEST, mcp.INVALID_PARAMS,
		mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
