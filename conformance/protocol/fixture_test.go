package protocol

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server/mcpwire"
)

// fixture answers what the suites ask, with what they want there to be.
type fixture struct{ *mcpserver.MCPServer }

var _ mcpwire.Handler = fixture{}

// newFixture returns a fixture. It offers what Carrel does not, since the suites
// want it: logging, which is deprecated, and requests to the client.
func newFixture() fixture {
	f := fixture{mcpserver.NewMCPServer("carrel-protocol-fixture", "1",
		mcpserver.WithToolCapabilities(false), mcpserver.WithResourceCapabilities(true, false), mcpserver.WithPromptCapabilities(false),
		mcpserver.WithLogging(), mcpserver.WithElicitation(),
		mcpserver.WithCompletions(), mcpserver.WithPromptCompletionProvider(completions{}),
	)}
	f.EnableSampling()
	f.addTools()
	f.addQuestions()
	f.addResources()
	f.addPrompts()
	return f
}

func (f fixture) WithContext(ctx context.Context, client mcpserver.ClientSession) context.Context {
	return f.MCPServer.WithContext(ctx, guest{client.(mcpwire.Peer)})
}

// HandleMessage refuses test_missing_capability to a client of 2026-07-28 that cannot
// sample, in its own code: a tool of mcp-go has none but -32603.
func (f fixture) HandleMessage(ctx context.Context, request json.RawMessage) mcp.JSONRPCMessage {
	var r struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			Name string         `json:"name"`
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if err := json.Unmarshal(request, &r); err == nil && r.Params.Name == "test_missing_capability" {
		if can, ok := r.Params.Meta[mcp.MetaKeyClientCapabilities].(map[string]any); ok && can["sampling"] == nil {
			return mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(r.ID), Error: mcp.JSONRPCErrorDetails{
				Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, Message: "the client does not declare sampling",
				Data: map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}},
			}}
		}
	}
	return f.MCPServer.HandleMessage(ctx, request)
}

// guest is a client that mcp-go may send what Carrel never sends.
type guest struct{ mcpwire.Peer }

var (
	_ mcpserver.SessionWithLogging     = guest{}
	_ mcpserver.SessionWithSampling    = guest{}
	_ mcpserver.SessionWithElicitation = guest{}
)

// The level is not kept: the suites set one, and log at a higher one.
func (g guest) SetLogLevel(mcp.LoggingLevel)        {}
func (g guest) GetLogLevel() mcp.LoggingLevel       { return mcp.LoggingLevelInfo }
func (g guest) SubscribeToResourceErr(string) error { return nil } // none of these changes

func (g guest) RequestSampling(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	var result struct {
		mcp.CreateMessageResult
		Content mcp.TextContent `json:"content"`
	}
	raw, err := g.Ask(ctx, r.Method, r.CreateMessageParams)
	if err == nil {
		err = json.Unmarshal(raw, &result)
	}
	result.CreateMessageResult.Content = result.Content
	return &result.CreateMessageResult, err
}

func (g guest) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	var result mcp.ElicitationResult
	raw, err := g.Ask(ctx, r.Method, r.Params)
	if err == nil {
		err = json.Unmarshal(raw, &result)
	}
	return &result, err
}

// completions completes arguments of prompts.
type completions struct{}

func (completions) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{a.Value + "ris", a.Value + "rk"}}, nil
}

// A picture of one pixel, and a sound of none.
const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	sound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func (f fixture) addResources() {
	add := func(uri, name, description, kind string, contents mcp.ResourceContents) {
		f.AddResource(mcp.NewResource(uri, name, mcp.WithResourceDescription(description), mcp.WithMIMEType(kind)),
			func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{contents}, nil
			})
	}
	add("test://static-text", "text", "a text", "text/plain",
		mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."})
	add("test://static-binary", "binary", "a picture", "image/png",
		mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel})
	add("test://watched-resource", "watched", "one to subscribe to", "text/plain",
		mcp.TextResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "watched"})
	f.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateDescription("data of an id"), mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := r.Params.Arguments["id"]
			if ids, ok := id.([]string); ok && len(ids) == 1 {
				id = ids[0]
			}
			text := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %v"}`, id, id)
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: text}}, nil
		})
}

func (f fixture) addPrompts() {
	add := func(name string, messages func(args map[string]string) []mcp.Content, args ...string) {
		options := []mcp.PromptOption{mcp.WithPromptDescription("a prompt")}
		for _, a := range args {
			options = append(options, mcp.WithArgument(a, mcp.RequiredArgument(), mcp.ArgumentDescription("an argument")))
		}
		f.AddPrompt(mcp.NewPrompt(name, options...), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			var result mcp.GetPromptResult
			for _, c := range messages(r.Params.Arguments) {
				result.Messages = append(result.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
			}
			return &result, nil
		})
	}
	add("test_simple_prompt", func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewTextContent("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", func(args map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"]))}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(args map[string]string) []mcp.Content {
		return []mcp.Content{
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: args["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}),
			mcp.NewTextContent("Please process the embedded resource above."),
		}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewImageContent(pixel, "image/png"), mcp.NewTextContent("Please analyze the image above.")}
	})
}
