package mcpwire

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is what has to be known of a message before it is handled.
type message struct {
	raw     json.RawMessage
	id      json.RawMessage // nil: a notification
	method  string
	tool    string          // of tools/call
	cancels json.RawMessage // id of the request that notifications/cancelled ends
	answers json.RawMessage // id of the request of the server that this is the response to
	meta    json.RawMessage // _meta of the params
}

// envelope is a message as JSON-RPC has it. Members are raw so that one of a
// wrong type spoils no other.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  struct {
		Name      json.RawMessage `json:"name"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      json.RawMessage `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// parse reads a message, without white space around it. The refusal is nil if it is a request or a notification;
// a response has no method, no id of its own and no refusal either.
func parse(raw []byte) (message, *refusal) {
	var e envelope
	err := json.Unmarshal(raw, &e)
	var wrong *json.UnmarshalTypeError
	switch {
	case len(raw) == 0 || err != nil && !errors.As(err, &wrong):
		return message{}, &refusal{code: mcp.PARSE_ERROR, text: "the message is no JSON"}
	case raw[0] == '[':
		return message{}, &refusal{code: mcp.INVALID_REQUEST, text: "a batch is not supported: send each message by itself"}
	case raw[0] != '{':
		return message{}, &refusal{code: mcp.INVALID_REQUEST, text: "a message is a JSON object"}
	case e.ID != nil && !isID(e.ID):
		return message{}, &refusal{code: mcp.INVALID_REQUEST, text: "an id is a string or a number"}
	}
	m := message{
		raw: raw, id: e.ID, method: text(e.Method),
		tool: text(e.Params.Name), cancels: e.Params.RequestID, meta: e.Params.Meta,
	}
	switch {
	case e.Method == nil && (e.Result != nil || e.Error != nil):
		return message{raw: raw, answers: e.ID}, nil
	case text(e.Version) != mcp.JSONRPC_VERSION:
		return m, &refusal{m.id, mcp.INVALID_REQUEST, "jsonrpc must be \"2.0\""}
	case m.method == "":
		return m, &refusal{m.id, mcp.INVALID_REQUEST, "a message needs a method"}
	case wrong != nil && m.id != nil:
		return m, &refusal{m.id, mcp.INVALID_PARAMS, "params must be an object"}
	}
	return m, nil
}

// version is the protocol revision that a message names itself, as it does since
// 2026-07-28, or "".
func (m message) version() string {
	var meta map[string]json.RawMessage
	if json.Unmarshal(m.meta, &meta) != nil {
		return ""
	}
	return text(meta[mcp.MetaKeyProtocolVersion])
}

// isID reports whether a value may be the id of a request.
func isID(raw json.RawMessage) bool {
	c := raw[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9'
}

// text is the string that a value is, or "".
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// refusal is the answer to what is no valid request.
type refusal struct {
	id   json.RawMessage // nil if it is not known
	code int
	text string
}

func (r *refusal) response() mcp.JSONRPCMessage {
	return mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(r.id), Error: mcp.NewJSONRPCErrorDetails(r.code, r.text, nil)}
}

// tooLong refuses a message of more than most bytes.
func tooLong(id json.RawMessage, most int) *refusal {
	return &refusal{id, mcp.INVALID_REQUEST, fmt.Sprintf("the message is longer than %d bytes", most)}
}

// maxErrorText is the longest text of an error, in bytes: those of mcp-go repeat
// what the client sent.
const maxErrorText = 300

// addressed returns the response to a request: with the id as it was sent, and
// with the code that says what was wrong with a request which parse let pass.
func addressed(response mcp.JSONRPCMessage, m message) mcp.JSONRPCMessage {
	id := mcp.NewRequestId(m.id)
	switch r := response.(type) {
	case mcp.JSONRPCResponse:
		r.ID = id
		return r
	case mcp.JSONRPCError:
		r.ID = id
		if r.Error.Code == mcp.INVALID_REQUEST {
			r.Error.Code = mcp.INVALID_PARAMS
		}
		if len(r.Error.Message) > maxErrorText {
			n := maxErrorText
			for !utf8.RuneStart(r.Error.Message[n]) {
				n--
			}
			r.Error.Message = r.Error.Message[:n] + "…"
		}
		return r
	}
	return (&refusal{m.id, mcp.INVALID_REQUEST, "the message is both a request and a response"}).response()
}
