package mcpwire

import (
	"context"
	"encoding/base64"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// anyResource is the one resource that mcp-go knows: every address is read as it,
// since only the session can tell what there is. It is not listed.
const anyResource = tools.Scheme + ":"

// offer has mcp-go take what concerns resources, completion and prompts.
func (s *Server) offer(h *mcpserver.MCPServer, hooks *mcpserver.Hooks) {
	for _, option := range []mcpserver.ServerOption{
		mcpserver.WithResourceCapabilities(true, true), mcpserver.WithPromptCapabilities(false), mcpserver.WithCompletions(),
		mcpserver.WithResourceCompletionProvider(completer{s}), mcpserver.WithPromptCompletionProvider(completer{s}),
	} {
		option(h)
	}
	h.AddResource(mcp.Resource{URI: anyResource, Name: anyResource}, s.readResource)
	h.AddResourceTemplate(mcp.NewResourceTemplate(tools.URITemplate, "file",
		mcp.WithTemplateTitle("Files"),
		mcp.WithTemplateDescription("A file or directory as the workspace ws sees it, or, with at=base, as it is committed. "+
			"The path is percent-encoded where a name has a character that means something in a URI."),
	), func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return s.readResource(ctx, r)
	})
	hooks.AddBeforeReadResource(func(ctx context.Context, _ any, r *mcp.ReadResourceRequest) {
		callOf(ctx).uri, r.Params.URI = r.Params.URI, anyResource
	})
	hooks.AddBeforeListResources(func(ctx context.Context, _ any, r *mcp.ListResourcesRequest) {
		callOf(ctx).cursor, r.Params.Cursor = string(r.Params.Cursor), ""
	})
	hooks.AddAfterListResources(s.listResources)
	hooks.AddBeforeSubscribe(func(ctx context.Context, _ any, _ *mcp.SubscribeRequest) { callOf(ctx).asked = s.asked(ctx) })
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest) {
		callOf(ctx).asked = s.asked(ctx)
	})
	for _, p := range s.desk.Prompts() {
		h.AddPrompt(mcp.Prompt{Name: p.Name}, s.getPrompt)
	}
	hooks.AddAfterListPrompts(listPrompts)
}

// asked is what the session is to know of who asks for something that is no tool.
func (s *Server) asked(ctx context.Context) server.Asked {
	who := s.client(ctx)
	return server.Asked{URI: callOf(ctx).uri, Client: who.name, Spelling: who.spelling}
}

// listResources replaces the list that mcp-go has. Who was given one on a session is
// told when it changes; a client of 2026-07-28 asks for that by listening.
func (s *Server) listResources(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
	k := callOf(ctx)
	asked := s.asked(ctx)
	if !k.isModern() {
		k.fail(k.conn.subs.addList(ctx, asked))
	}
	page, next, err := k.conn.session.Offers(ctx, asked, k.cursor)
	k.fail(err)
	result.Resources, result.NextCursor = []mcp.Resource{}, mcp.Cursor(next)
	for _, o := range page {
		result.Resources = append(result.Resources, mcp.Resource{
			URI: o.URI, Name: o.Name, Title: o.Title, Description: o.Description, MIMEType: o.MIME,
		})
	}
}

func (s *Server) readResource(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	k := callOf(ctx)
	r, err := k.conn.session.Read(ctx, s.asked(ctx))
	switch {
	case err != nil:
		return nil, k.fail(err)
	case r.Bytes != nil:
		return []mcp.ResourceContents{mcp.BlobResourceContents{URI: k.uri, MIMEType: r.MIME, Blob: base64.StdEncoding.EncodeToString(r.Bytes)}}, nil
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: k.uri, MIMEType: r.MIME, Text: r.Text}}, nil
}

// isModern reports whether the request is of 2026-07-28 or later.
func (k *call) isModern() bool { return mcp.IsModernProtocol(k.message.version()) }

// fail has the request answered with an error as the session gives it, if that is
// not nil: mcp-go knows no codes for it. The first one counts.
func (k *call) fail(err error) error {
	if err == nil || k.failed != nil {
		return err
	}
	d := mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: "internal error"}
	var r *server.Refusal
	if errors.As(err, &r) {
		d.Code, d.Message = k.codeOf(r.Kind), r.Text
		data := map[string]any{metaCode: r.Kind}
		if k.uri != "" && len(k.uri) <= maxErrorText {
			data["uri"] = k.uri
		}
		d.Data = data
	}
	k.failed = &d
	return err
}

// codeOf is the JSON-RPC code of what went wrong. A resource that is not there has
// one of MCP's own until 2025-11-25.
func (k *call) codeOf(kind workspace.Kind) int {
	switch kind {
	case workspace.NotExist, workspace.NotDir, workspace.Closed:
		if k.uri != "" && !k.isModern() {
			return mcp.RESOURCE_NOT_FOUND
		}
		return mcp.INVALID_PARAMS
	case workspace.Internal, workspace.Unavailable, workspace.Corrupt, workspace.Canceled:
		return mcp.INTERNAL_ERROR
	}
	return mcp.INVALID_PARAMS
}
