package mcpwire

import (
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"

	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// The members of _meta that are Carrel's.
const (
	metaKey    = "carrel.dev/key"    // of a call: its idempotency key
	metaResult = "carrel.dev/result" // of a result that is text: its fields
	metaCode   = "code"              // of an error: its kind
)

// keyOf returns the idempotency key of a call, "" for none.
func keyOf(meta *mcp.Meta) (string, error) {
	value := meta.GetMetaField(metaKey)
	if value == nil {
		return "", nil
	}
	key, ok := value.(string)
	if !ok {
		return "", workspace.Errorf(workspace.Invalid, "_meta %q must be a string", metaKey)
	}
	return key, nil
}

// progressToken returns what a call's progress is to be sent under, or nil. The
// protocol has it a string or a number.
func progressToken(meta *mcp.Meta) mcp.ProgressToken {
	if meta == nil {
		return nil
	}
	switch meta.ProgressToken.(type) {
	case string, float64:
		return meta.ProgressToken
	}
	return nil
}

// result puts a reply on the wire. A known host is spared the fields that say
// once more what the text says.
func result(r server.Reply, host bool) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: r.IsError()}
	for _, text := range r.Text {
		res.Content = append(res.Content, mcp.TextContent{Type: mcp.ContentTypeText, Text: text})
	}
	if r.Data != nil {
		res.Content = append(res.Content, dataContent(r.Data))
	}
	switch {
	case r.IsError():
		res.Meta = mcp.NewMetaFromMap(map[string]any{metaCode: r.Code})
	case r.TextOnly:
		res.Meta = mcp.NewMetaFromMap(map[string]any{metaResult: r.Fields})
	case !host:
		res.RawStructuredContent = r.Fields
	}
	return res
}

// dataContent is the block of a content in bytes.
func dataContent(d *tools.Data) mcp.Content {
	bytes := base64.StdEncoding.EncodeToString(d.Bytes)
	if d.Image {
		return mcp.ImageContent{Type: mcp.ContentTypeImage, Data: bytes, MIMEType: d.MIME}
	}
	return mcp.EmbeddedResource{Type: mcp.ContentTypeResource, Resource: mcp.BlobResourceContents{URI: d.URI, MIMEType: d.MIME, Blob: bytes}}
}
