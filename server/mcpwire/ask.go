package mcpwire

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// errNotAsked is why a client is not sent a request.
var errNotAsked = errors.New("the client takes no requests here")

// questions are the requests that a client was sent and has not answered.
type questions struct {
	mu   sync.Mutex // guards what follows
	sent int
	open map[string]chan<- json.RawMessage // by id as it is on the wire; has room for the response
}

// begin returns the id of a further request, and where its response comes.
func (q *questions) begin() (id json.RawMessage, response <-chan json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sent++
	id = strconv.AppendInt(nil, int64(q.sent), 10)
	c := make(chan json.RawMessage, 1)
	if q.open == nil {
		q.open = map[string]chan<- json.RawMessage{}
	}
	q.open[string(id)] = c
	return id, c
}

// answer hands on a response, to whoever waits for it; there may be nobody.
func (q *questions) answer(m message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.open[string(m.answers)]; c != nil {
		delete(q.open, string(m.answers))
		c <- m.raw
	}
}

// forget ends the waiting for a response.
func (q *questions) forget(id json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, string(id))
}

// ask sends the client a request beside the answer to the call, and waits for its
// response, the client's end or that of ctx.
func (k *call) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if r, ok := k.out.(*reply); k.conn.stateless || ok && !r.streams {
		return nil, errNotAsked
	}
	id, response := k.conn.questions.begin()
	defer k.conn.questions.forget(id)
	k.out.note(k.conn.server.encoded(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Request: mcp.Request{Method: method}, Params: params,
	}))
	select {
	case raw := <-response:
		return resultOf(raw)
	case <-k.conn.gone:
		return nil, errors.New("the client is gone")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// resultOf is the result of a response, or the error that it has.
func resultOf(raw json.RawMessage) (json.RawMessage, error) {
	var r struct {
		Result json.RawMessage          `json:"result"`
		Error  *mcp.JSONRPCErrorDetails `json:"error"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, errors.New(r.Error.Message)
	}
	return r.Result, nil
}
