package grants

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// client is one who has a token, on a session, or without one as clients of
// 2026-07-28 are.
type client struct {
	*served
	path, token, session string
	greeting             string // what the session began with

	mu   sync.Mutex // guards told
	told []string   // the URIs that changed, and listChanged
}

// params are those of a request.
type params map[string]any

// modern is the protocol of clients without sessions.
const modern = "2026-07-28"

// begin begins a session at an endpoint.
func (s *served) begin(path, token string) *client {
	s.Helper()
	c := &client{served: s, path: path, token: token, session: "new"}
	c.greeting = c.ask("initialize", params{"protocolVersion": "2025-11-25", "capabilities": params{}, "clientInfo": params{"name": "x", "version": "1"}})
	return c
}

// send sends a message, as a client of either kind does.
func (c *client) send(method string, p params) *http.Response {
	c.Helper()
	m := params{"jsonrpc": "2.0", "id": 1, "method": method, "params": p}
	if c.session == "" {
		p["_meta"] = params{
			"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": params{},
			"io.modelcontextprotocol/clientInfo": params{"name": "x", "version": "1"},
		}
	}
	b, err := json.Marshal(m)
	c.must(err)
	r := c.request("POST", string(b))
	if c.session == "" {
		r.Header.Set("Mcp-Protocol-Version", modern)
		r.Header.Set("Mcp-Method", method)
		for _, name := range []string{"name", "uri"} {
			if v, ok := p[name].(string); ok {
				r.Header.Set("Mcp-Name", v)
			}
		}
	}
	res, err := http.DefaultClient.Do(r)
	c.must(err)
	return res
}

func (c *client) request(method, body string) *http.Request {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+c.path, strings.NewReader(body))
	c.must(err)
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "new" && c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	return r
}

// ask makes a request and returns all of the answer.
func (c *client) ask(method string, p params) string {
	c.Helper()
	res := c.send(method, p)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	c.must(err)
	if c.session == "new" {
		c.session = res.Header.Get("Mcp-Session-Id")
	}
	return fmt.Sprintf("%d %s", res.StatusCode, b)
}

// begins makes a request that is answered by a stream, if it is not refused, and
// returns the first event of it, or the answer.
func (c *client) begins(method string, p params) string {
	c.Helper()
	res := c.send(method, p)
	defer res.Body.Close()
	first := fmt.Sprint(res.StatusCode)
	for r := bufio.NewReader(res.Body); ; {
		line, err := r.ReadString('\n')
		if strings.HasPrefix(line, "data: {") || strings.HasPrefix(line, "{") || err != nil {
			return first + " " + line
		}
	}
}

// do makes a call of a tool that has to succeed.
func (c *client) do(tool, args string) {
	c.Helper()
	if a := c.ask("tools/call", params{"name": tool, "arguments": json.RawMessage(args)}); !strings.Contains(a, `"structuredContent"`) {
		c.Fatalf("%s %s: %s", tool, args, a)
	}
}

// listChanged stands for the list of resources among what changed.
const listChanged = "the list"

// subscribe has the client told of what changes at some addresses, and of its list of
// resources: by the stream of the session, or by one that it asks for.
func (c *client) subscribe(uris []string) {
	c.Helper()
	if c.session == "" {
		c.hear(c.send("subscriptions/listen", params{"notifications": params{"resourceSubscriptions": uris, "resourcesListChanged": true}}))
		return
	}
	res, err := http.DefaultClient.Do(c.request("GET", ""))
	c.must(err)
	c.hear(res)
	c.ask("resources/list", params{})
	for _, uri := range uris {
		if a := c.ask("resources/subscribe", params{"uri": uri}); strings.Contains(a, `"error":`) {
			c.Errorf("subscribe to %s: %s", uri, a)
		}
	}
}

// hear keeps what a stream tells.
func (c *client) hear(res *http.Response) {
	c.Helper()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		c.Fatalf("%s: no stream, but %s with %s", c.path, res.Status, kind)
	}
	go func() {
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			var n struct {
				Method string
				Params struct{ URI string }
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || json.Unmarshal([]byte(data), &n) != nil {
				continue
			}
			c.mu.Lock()
			switch n.Method {
			case "notifications/resources/updated":
				c.told = append(c.told, n.Params.URI)
			case "notifications/resources/list_changed":
				c.told = append(c.told, listChanged)
			}
			c.mu.Unlock()
		}
	}()
}

// news is what was told so far.
func (c *client) news() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.told)
}

// forget forgets what was told so far.
func (c *client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = nil
}

// hears waits until all that is named has been told.
func (c *client) hears(what ...string) {
	c.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		news := c.news()
		missing := slices.DeleteFunc(slices.Clone(what), func(w string) bool { return slices.Contains(news, w) })
		switch {
		case len(missing) == 0:
			return
		case time.Now().After(deadline):
			c.Fatalf("not told: %q; told: %q", missing, news)
		}
	}
}
