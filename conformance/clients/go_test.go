package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inbox is what a client was notified of. Clients for Go may handle a notification
// after the result that came behind it, so that what has to come is waited for.
type inbox struct {
	mu       sync.Mutex // guards what follows
	progress map[any][]float64
	updates  []string // URIs
}

func newInbox() *inbox { return &inbox{progress: map[any][]float64{}} }

func (b *inbox) reported(token any, done float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress[token] = append(b.progress[token], done)
}

func (b *inbox) changed(uri string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.updates = append(b.updates, uri)
}

// reports returns the progress of a call that is over; with some there has to be.
func (b *inbox) reports(token string, some bool) []float64 {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		all := b.progress[token]
		b.mu.Unlock()
		if all != nil || !some || time.Now().After(end) {
			return all
		}
	}
}

// updated waits until a resource was told of, once for each time.
func (b *inbox) updated(_ context.Context, uri string) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if b.takeUpdate(uri) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("nobody was told of %s", uri)
		}
	}
}

func (b *inbox) takeUpdate(uri string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.updates, uri)
	if i >= 0 {
		b.updates = slices.Delete(b.updates, i, i+1)
	}
	return i >= 0
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// httpClient is one that has the token of an address, if there is any.
func (a address) httpClient() *http.Client {
	if a.Token == "" {
		return &http.Client{}
	}
	return &http.Client{Transport: bearer(a.Token)}
}

// goSession is the official Go SDK's client.
type goSession struct {
	*mcp.ClientSession
	*inbox
	calls int
}

func goClient(t *testing.T, at address) client {
	t.Helper()
	s := &goSession{inbox: newInbox()}
	c := mcp.NewClient(&mcp.Implementation{Name: "carrel-conformance", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.reported(r.Params.ProgressToken, r.Params.Progress)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { s.changed(r.Params.URI) },
	})
	session, err := c.Connect(t.Context(), transportOf(at), nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	s.ClientSession = session
	return s
}

// transportOf is the SDK's way to an address.
func transportOf(at address) mcp.Transport {
	switch at.Kind {
	case overStdio:
		cmd := exec.Command(at.Command, at.Args...)
		cmd.Env = at.environ()
		return &mcp.CommandTransport{Command: cmd}
	case overHTTP:
		return &mcp.StreamableClientTransport{Endpoint: at.URL, HTTPClient: at.httpClient()}
	default:
		return &mcp.SSEClientTransport{Endpoint: at.URL, HTTPClient: at.httpClient()}
	}
}

func (s *goSession) revision() string { return s.InitializeResult().ProtocolVersion }
func (s *goSession) close() error     { return s.Close() }

func (s *goSession) tools(ctx context.Context) ([]tool, error) {
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var tools []tool
	return tools, again(list.Tools, &tools)
}

func (s *goSession) call(ctx context.Context, name string, args any, reports bool) (c called, err error) {
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	s.calls++
	token := fmt.Sprint(name, s.calls)
	params.SetProgressToken(token)
	res, err := s.CallTool(ctx, params)
	if err != nil {
		return c, err
	}
	c.Progress = s.reports(token, reports)
	return c, again(res, &c.result)
}

func (s *goSession) resources(ctx context.Context) (uris []string, err error) {
	list, err := s.ListResources(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	return uris, nil
}

func (s *goSession) templates(ctx context.Context) (uris []string, err error) {
	list, err := s.ListResourceTemplates(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range list.ResourceTemplates {
		uris = append(uris, r.URITemplate)
	}
	return uris, nil
}

func (s *goSession) read(ctx context.Context, uri string) (string, error) {
	res, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return res.Contents[0].Text, nil
}

func (s *goSession) subscribe(ctx context.Context, uri string) error {
	return s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
}

func (s *goSession) complete(ctx context.Context, path, ws string) ([]string, error) {
	res, err := s.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: template},
		Argument: mcp.CompleteParamsArgument{Name: "path", Value: path},
		Context:  &mcp.CompleteContext{Arguments: map[string]string{"ws": ws}},
	})
	if err != nil {
		return nil, err
	}
	return res.Completion.Values, nil
}

func (s *goSession) prompts(ctx context.Context) (names []string, err error) {
	list, err := s.ListPrompts(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	return names, nil
}

func (s *goSession) prompt(ctx context.Context, name string, args map[string]string) (string, error) {
	res, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	return res.Messages[0].Content.(*mcp.TextContent).Text, nil
}

// again turns what a client gave into what is looked at here.
func again(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}
