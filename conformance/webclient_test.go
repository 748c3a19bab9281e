package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// webClient is a client of one endpoint. It knows as little of MCP as will do.
type webClient struct {
	http    *http.Client
	base    string // of the endpoint's URLs
	session string // Mcp-Session-Id
	stream  *sseStream

	mu   sync.Mutex // guards next
	next int
}

// message is what a server sends.
type message struct {
	ID json.RawMessage
	reply
}

func (c *webClient) openMCP(ctx context.Context, client string) error { return c.greet(ctx, client) }

func (c *webClient) openSSE(ctx context.Context, client string) error {
	stream, err := openStream(context.WithoutCancel(ctx), c.http, c.base+"/sse")
	if err != nil {
		return err
	}
	c.stream = stream
	return c.greet(ctx, client)
}

func (c *webClient) greet(ctx context.Context, client string) error {
	_, err := c.ask(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": client, "version": "1"},
	})
	if err != nil {
		return err
	}
	res, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if err != nil {
		return err
	}
	return drain(res, http.StatusAccepted)
}

// ask sends a request and waits for its response, wherever that comes.
func (c *webClient) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	c.mu.Lock()
	c.next++
	id := strconv.Itoa(c.next)
	c.mu.Unlock()
	request := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params}
	if c.stream != nil {
		return c.stream.exchange(ctx, id, func() error {
			res, err := c.post(ctx, request)
			if err != nil {
				return err
			}
			return drain(res, http.StatusAccepted)
		})
	}
	res, err := c.post(ctx, request)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if method == "initialize" {
		c.session = res.Header.Get("Mcp-Session-Id")
	}
	m, err := responseIn(res)
	if err != nil {
		return nil, err
	}
	if string(m.ID) != id {
		return nil, fmt.Errorf("the response to %s is to %s", id, m.ID)
	}
	return m.value()
}

// responseIn finds the response in the answer to a POST, which is JSON or a stream.
func responseIn(res *http.Response) (m message, err error) {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode != http.StatusOK:
		b, err := io.ReadAll(res.Body)
		return m, errors.Join(fmt.Errorf("%s: %.300s", res.Status, b), err)
	case kind == "application/json":
		return m, json.NewDecoder(res.Body).Decode(&m)
	case kind != "text/event-stream":
		return m, fmt.Errorf("a response of the type %q", kind)
	}
	for r := bufio.NewReader(res.Body); ; {
		_, data, err := readEvent(r)
		if err != nil {
			return m, err
		}
		if m = (message{}); json.Unmarshal(data, &m) == nil && m.ID != nil {
			return m, nil
		}
	}
}

func (c *webClient) post(ctx context.Context, m any) (*http.Response, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	c.identify(r)
	return c.http.Do(r)
}

// endpoint is where the client posts.
func (c *webClient) endpoint() string {
	if c.stream != nil {
		return c.stream.post
	}
	return c.base + "/mcp"
}

// moveTo takes the client, with its session, to where another one is.
func (c *webClient) moveTo(to *webClient) {
	if c.stream != nil {
		c.stream.post = strings.Replace(c.stream.post, c.base, to.base, 1)
	}
	c.base, c.http = to.base, to.http
}

// identify names the session in the header, once there is one.
func (c *webClient) identify(r *http.Request) {
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
}

// drain reads a response that must have a status to its end.
func drain(res *http.Response, want int) error {
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != want {
		err = fmt.Errorf("%s %s: %s: %.300s", res.Request.Method, res.Request.URL, res.Status, b)
	}
	return err
}

func (c *webClient) Tools(ctx context.Context) ([]Tool, error) { return asking(c.ask).tools(ctx) }

func (c *webClient) Call(ctx context.Context, call Call) (Result, error) {
	return asking(c.ask).call(ctx, call)
}

// Close ends the session as a client does that is well-behaved.
func (c *webClient) Close() error {
	if c.stream != nil {
		return c.stream.close()
	}
	if c.session == "" {
		return nil
	}
	r, err := http.NewRequest(http.MethodDelete, c.base+"/mcp", nil)
	if err != nil {
		return err
	}
	c.identify(r)
	res, err := c.http.Do(r)
	if err != nil {
		return err
	}
	return drain(res, http.StatusNoContent)
}

// sseStream is the stream of the HTTP+SSE transport.
type sseStream struct {
	post   string // where to send messages
	body   io.Closer
	cancel context.CancelFunc
	gone   chan struct{} // closed once nothing more comes

	mu      sync.Mutex // guards waiting
	waiting map[string]chan reply
}

func openStream(ctx context.Context, client *http.Client, at string) (*sseStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &sseStream{cancel: cancel, gone: make(chan struct{}), waiting: map[string]chan reply{}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	s.body = res.Body
	events := bufio.NewReader(res.Body)
	name, data, err := readEvent(events)
	if err != nil || name != "endpoint" {
		return nil, errors.Join(fmt.Errorf("%s, and the first event is %q", res.Status, name), err)
	}
	base, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	post, err := base.Parse(string(data))
	if err != nil {
		return nil, err
	}
	s.post = post.String()
	go s.read(events)
	return s, nil
}

// read hands out the replies until the stream ends.
func (s *sseStream) read(events *bufio.Reader) {
	defer close(s.gone)
	for {
		_, data, err := readEvent(events)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(data, &m) != nil {
			return // whoever waits will know that it is over
		}
		s.mu.Lock()
		ch := s.waiting[string(m.ID)]
		delete(s.waiting, string(m.ID))
		s.mu.Unlock()
		if ch != nil {
			ch <- m.reply
		}
	}
}

// exchange sends a request and waits for the reply with its id.
func (s *sseStream) exchange(ctx context.Context, id string, send func() error) (json.RawMessage, error) {
	ch := make(chan reply, 1)
	s.mu.Lock()
	s.waiting[id] = ch
	s.mu.Unlock()
	if err := send(); err != nil {
		return nil, err
	}
	select {
	case r := <-ch:
		return r.value()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.gone:
		return nil, errors.New("the stream ended")
	}
}

func (s *sseStream) close() error {
	s.cancel()
	<-s.gone
	s.body.Close() // it was cancelled
	return nil
}

// readEvent reads an event with its last data line, over comments.
func readEvent(r *bufio.Reader) (name string, data []byte, err error) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return "", nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 && data != nil {
			return name, data, nil
		}
		if value, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			name = string(value)
		}
		if value, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = bytes.Clone(value)
		}
	}
}
