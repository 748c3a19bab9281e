package mcpwire

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// checkEncoded holds what encode writes of a result against encoding/json.
func checkEncoded(t *testing.T, id json.RawMessage, r *mcp.CallToolResult) {
	t.Helper()
	response := mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Result: r}
	want, err := plain(response)
	if err != nil {
		t.Fatal(err)
	}
	got, err := encode(response)
	if err != nil || string(got) != string(want)+"\n" {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestEncodeResult(t *testing.T) {
	text := func(s string) mcp.Content { return mcp.TextContent{Type: mcp.ContentTypeText, Text: s} }
	meta := func(fields map[string]any) *mcp.Meta { return mcp.NewMetaFromMap(fields) }
	for name, r := range map[string]*mcp.CallToolResult{
		"nothing":    {},
		"texts":      {Content: []mcp.Content{text("a"), text(""), text("b\n")}},
		"an error":   {Content: []mcp.Content{text("no")}, IsError: true, Result: mcp.Result{Meta: meta(map[string]any{metaCode: "not_exist"})}},
		"fields":     {Content: []mcp.Content{text("a")}, RawStructuredContent: json.RawMessage(`{"a":"<b>","c":[1,2]}`)},
		"beside":     {Content: []mcp.Content{text("a")}, Result: mcp.Result{Meta: meta(map[string]any{metaResult: json.RawMessage(`{"n":1}`), "a": 1})}},
		"empty meta": {Result: mcp.Result{Meta: &mcp.Meta{}}},
		"token":      {Result: mcp.Result{Meta: &mcp.Meta{ProgressToken: "t", AdditionalFields: map[string]any{"x": "<"}}}},
		"2026":       {Content: []mcp.Content{text("a")}, Result: mcp.Result{ResultType: mcp.ResultTypeComplete}},
		"an image":   {Content: []mcp.Content{mcp.ImageContent{Type: mcp.ContentTypeImage, Data: "AA==", MIMEType: "image/png"}, text("x")}},
		"annotated":  {Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: "x", Annotated: mcp.Annotated{Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}}}}},
		"a value":    {Content: []mcp.Content{text("a")}, StructuredContent: map[string]any{"a": "&"}},
		"a question": {MultiRoundTripResult: mcp.MultiRoundTripResult{RequestState: "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkEncoded(t, json.RawMessage(`7`), r)
			checkEncoded(t, json.RawMessage(`"a\"b"`), r)
		})
	}
}

// FuzzEncodeText holds the strings that are written here against encoding/json.
func FuzzEncodeText(f *testing.F) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	f.Add(string(all))
	f.Add("a\u2028b\u2029\ufffd\x7f<>&\\u003c\"é\U0001F600\xe2\x80")
	f.Fuzz(func(t *testing.T, s string) {
		checkEncoded(t, json.RawMessage(`1`), &mcp.CallToolResult{Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: s}}})
	})
}
