package protocol

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"carrel.dev/server/mcpwire"
)

// pause is how long a tool works between two messages.
const pause = 50 * time.Millisecond

func (f fixture) addTools() {
	const pictureURI, mixedURI = "test://embedded-resource", "test://mixed-content-resource"
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":       {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content":     {mcp.NewImageContent(pixel, "image/png")},
		"test_audio_content":     {mcp.NewAudioContent(sound, "audio/wav")},
		"test_embedded_resource": {mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: pictureURI, MIMEType: "text/plain", Text: "This is an embedded resource content."})},
		"test_multiple_content_types": {
			mcp.NewTextContent("Multiple content types test:"), mcp.NewImageContent(pixel, "image/png"),
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: mixedURI, MIMEType: "application/json", Text: `{"test":"data","value":123}`}),
		},
	} {
		f.add(name, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	f.add("test_error_handling", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
	f.add("test_missing_capability", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("the client can sample"), nil
	})
	f.add("test_tool_with_progress", progresses)
	f.add("test_tool_with_logging", f.logs)
	f.add("test_logging_tool", f.logs)
	f.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", schema2020), nothing)
	f.AddTool(mcp.NewToolWithRawSchema("test_custom_headers", "Tool with an argument in a header", headerSchema), nothing)
}

// add adds a tool that takes any arguments.
func (f fixture) add(name string, call mcpserver.ToolHandlerFunc) {
	f.AddTool(mcp.NewTool(name, mcp.WithDescription("a tool of the suites")), call)
}

func nothing(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("done"), nil
}

// progresses reports as Carrel's own tools do.
func progresses(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Params.Meta != nil {
		report := mcpserver.ClientSessionFromContext(ctx).(mcpwire.Peer).Progress(r.Params.Meta.ProgressToken)
		for _, done := range []float64{1, 50, 100} {
			if report != nil {
				report(done, 100, "")
			}
			time.Sleep(pause)
		}
	}
	return mcp.NewToolResultText("done"), nil
}

func (f fixture) logs(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		n := mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "fixture", text)
		if err := f.SendLogMessageToClient(ctx, n); err != nil {
			return nil, err
		}
		time.Sleep(pause)
	}
	return mcp.NewToolResultText("done"), nil
}

var (
	schema2020 = json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {
			"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
			"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}
		},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]},
		"additionalProperties": false}`)
	headerSchema = json.RawMessage(`{
		"type": "object",
		"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}`)
)
