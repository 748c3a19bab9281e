package mcpwire

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// listPrompts completes the list of mcp-go by what the session has.
func listPrompts(ctx context.Context, _ any, _ *mcp.ListPromptsRequest, result *mcp.ListPromptsResult) {
	result.Prompts = []mcp.Prompt{}
	for _, p := range callOf(ctx).conn.session.Prompts() {
		shown := mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			shown.Arguments = append(shown.Arguments, mcp.PromptArgument{Name: a.Name, Description: a.Description})
		}
		result.Prompts = append(result.Prompts, shown)
	}
}

func (s *Server) getPrompt(ctx context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	k := callOf(ctx)
	text, err := k.conn.session.Prompt(ctx, s.asked(ctx), r.Params.Name, r.Params.Arguments)
	if err != nil {
		return nil, k.fail(err)
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{
		Role: mcp.RoleUser, Content: mcp.TextContent{Type: mcp.ContentTypeText, Text: text},
	}}}, nil
}

// completer completes what a client types, for mcp-go.
type completer struct{ server *Server }

func (c completer) CompleteResourceArgument(ctx context.Context, uri string, arg mcp.CompleteArgument, with mcp.CompleteContext) (*mcp.Completion, error) {
	k := callOf(ctx)
	// A client may name a resource that was made from the template instead.
	if uri != tools.URITemplate && !strings.HasPrefix(uri, tools.Scheme+":") {
		return nil, k.fail(&server.Refusal{Kind: workspace.Invalid, Text: "there is no such template: there is " + tools.URITemplate})
	}
	found, err := k.conn.session.CompleteURI(ctx, c.server.asked(ctx), argument(arg, with))
	return completion(found), k.fail(err)
}

func (c completer) CompletePromptArgument(ctx context.Context, name string, arg mcp.CompleteArgument, with mcp.CompleteContext) (*mcp.Completion, error) {
	k := callOf(ctx)
	found, err := k.conn.session.CompletePrompt(ctx, c.server.asked(ctx), name, argument(arg, with))
	return completion(found), k.fail(err)
}

func argument(arg mcp.CompleteArgument, with mcp.CompleteContext) server.Argument {
	return server.Argument{Name: arg.Name, Value: arg.Value, With: with.Arguments}
}

func completion(c server.Completion) *mcp.Completion {
	return &mcp.Completion{Values: c.Values, HasMore: c.More}
}
