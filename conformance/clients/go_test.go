package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSession is the official Go SDK's client.
type goSession struct {
	*mcp.ClientSession
	mu       sync.Mutex // guards progress and updates
	progress map[any][]float64
	calls    int
	updates  []string // URIs
}

func goClient(t *testing.T, at address) client {
	t.Helper()
	s := &goSession{progress: map[any][]float64{}}
	c := mcp.NewClient(&mcp.Implementation{Name: "carrel-conformance", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.progress[r.Params.ProgressToken] = append(s.progress[r.Params.ProgressToken], r.Params.Progress)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.updates = append(s.updates, r.Params.URI)
		},
	})
	var via mcp.Transport
	switch at.Kind {
	case overStdio:
		cmd := exec.Command(at.Command, at.Args...)
		for name, value := range at.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		via = &mcp.CommandTransport{Command: cmd}
	case overHTTP:
		via = &mcp.StreamableClientTransport{Endpoint: at.URL}
	case overSSE:
		via = &mcp.SSEClientTransport{Endpoint: at.URL}
	}
	session, err := c.Connect(t.Context(), via, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	s.ClientSession = session
	return s
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
	// This client may handle a notification after the result that came behind it.
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if c.Progress = s.take(token); c.Progress != nil || !reports || time.Now().After(end) {
			return c, again(res, &c.result)
		}
	}
}

// take returns the progress of a call.
func (s *goSession) take(token string) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.progress[token]
	delete(s.progress, token)
	return all
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

func (s *goSession) updated(_ context.Context, uri string) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if s.takeUpdate(uri) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("nobody was told of %s", uri)
		}
	}
}

// takeUpdate reports whether a resource was told of, once for each time.
func (s *goSession) takeUpdate(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.updates, uri)
	if i >= 0 {
		s.updates = slices.Delete(s.updates, i, i+1)
	}
	return i >= 0
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
