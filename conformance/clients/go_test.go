package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSession is the official Go SDK's client.
type goSession struct {
	*mcp.ClientSession
	mu       sync.Mutex // guards progress
	progress map[any][]float64
	calls    int
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

// again turns what a client gave into what is looked at here.
func again(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}
