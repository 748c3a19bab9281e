package clients

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpgoSession is mcp-go's client.
type mcpgoSession struct {
	*inbox
	c            *mcpgo.Client
	calls        int
	acknowledged chan struct{}
	stops        []func() // of what listens
}

func mcpgoClient(t *testing.T, at address) client {
	t.Helper()
	via, err := mcpgoTransport(at)
	if err != nil {
		t.Fatal(err)
	}
	s := &mcpgoSession{inbox: newInbox(), c: mcpgo.NewClient(via), acknowledged: make(chan struct{}, 10)}
	s.c.OnNotification(func(n mcp.JSONRPCNotification) {
		fields := n.Params.AdditionalFields
		switch n.Method {
		case "notifications/progress":
			if done, ok := fields["progress"].(float64); ok {
				s.reported(fields["progressToken"], done)
			}
		case mcp.MethodNotificationSubscriptionsAcknowledged:
			s.acknowledged <- struct{}{}
		case string(mcp.MethodNotificationResourceUpdated):
			s.changed(fmt.Sprint(fields["uri"]))
		}
	})
	if err := s.c.Start(t.Context()); err != nil {
		t.Fatalf("connect: %v", err)
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "carrel-conformance", Version: "1"}
	if _, err := s.c.Initialize(t.Context(), hello); err != nil {
		t.Fatalf("initialize: %v", err)
	}
	return s
}

// mcpgoTransport is its way to an address.
func mcpgoTransport(at address) (transport.Interface, error) {
	switch at.Kind {
	case overStdio:
		return transport.NewStdio(at.Command, at.environ(), at.Args...), nil
	case overHTTP:
		return transport.NewStreamableHTTP(at.URL, transport.WithHTTPBasicClient(at.httpClient()))
	default:
		return transport.NewSSE(at.URL, transport.WithHTTPClient(at.httpClient()))
	}
}

func (s *mcpgoSession) revision() string { return s.c.ProtocolVersion() }

func (s *mcpgoSession) close() error {
	for _, stop := range s.stops {
		stop()
	}
	return s.c.Close()
}

func (s *mcpgoSession) tools(ctx context.Context) ([]tool, error) {
	list, err := s.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var tools []tool
	return tools, again(list.Tools, &tools)
}

func (s *mcpgoSession) call(ctx context.Context, name string, args any, reports bool) (c called, err error) {
	s.calls++
	token := fmt.Sprint(name, s.calls)
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = name, args
	r.Params.Meta = &mcp.Meta{ProgressToken: token}
	res, err := s.c.CallTool(ctx, r)
	if err != nil {
		return c, err
	}
	c.Progress = s.reports(token, reports)
	return c, again(res, &c.result)
}

func (s *mcpgoSession) resources(ctx context.Context) (uris []string, err error) {
	list, err := s.c.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return nil, err
	}
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	return uris, nil
}

func (s *mcpgoSession) templates(ctx context.Context) ([]string, error) {
	list, err := s.c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil {
		return nil, err
	}
	var shown []struct{ URITemplate string }
	err = again(list.ResourceTemplates, &shown)
	var uris []string
	for _, r := range shown {
		uris = append(uris, r.URITemplate)
	}
	return uris, err
}

func (s *mcpgoSession) read(ctx context.Context, uri string) (string, error) {
	var r mcp.ReadResourceRequest
	r.Params.URI = uri
	res, err := s.c.ReadResource(ctx, r)
	if err != nil {
		return "", err
	}
	text, ok := res.Contents[0].(mcp.TextResourceContents)
	if !ok {
		return "", fmt.Errorf("%s is %T", uri, res.Contents[0])
	}
	return text.Text, nil
}

// subscribe returns when the subscription is acknowledged. Since 2026-07-28 there is
// one stream for all, and another one ends the one before.
func (s *mcpgoSession) subscribe(ctx context.Context, uri string) error {
	var r mcp.SubscribeRequest
	r.Params.URI = uri
	if err := s.c.Subscribe(ctx, r); err != nil || s.revision() < mcp.ProtocolVersion20260728 {
		return err
	}
	failed := make(chan error, 1)
	stop, err := s.c.ListenAsync(ctx, s.c.PendingSubscriptionFilter(), func(err error) { failed <- err })
	if err != nil {
		return err
	}
	s.stops = append(s.stops, stop)
	select {
	case <-s.acknowledged:
		return nil
	case err := <-failed:
		return err
	case <-time.After(patience):
		return errors.New("the subscription is not acknowledged")
	}
}

func (s *mcpgoSession) complete(ctx context.Context, path, ws string) ([]string, error) {
	res, err := s.c.Complete(ctx, mcp.CompleteRequest{Params: mcp.CompleteParams{
		Ref:      mcp.ResourceReference{Type: "ref/resource", URI: template},
		Argument: mcp.CompleteArgument{Name: "path", Value: path},
		Context:  mcp.CompleteContext{Arguments: map[string]string{"ws": ws}},
	}})
	if err != nil {
		return nil, err
	}
	return res.Completion.Values, nil
}

func (s *mcpgoSession) prompts(ctx context.Context) (names []string, err error) {
	list, err := s.c.ListPrompts(ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return nil, err
	}
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	return names, nil
}

func (s *mcpgoSession) prompt(ctx context.Context, name string, args map[string]string) (string, error) {
	var r mcp.GetPromptRequest
	r.Params.Name, r.Params.Arguments = name, args
	res, err := s.c.GetPrompt(ctx, r)
	if err != nil {
		return "", err
	}
	return res.Messages[0].Content.(mcp.TextContent).Text, nil
}
