package mcpwire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"carrel.dev/server/mcpwire"
	"carrel.dev/tools"
)

// newClient connects mcp-go's own client, which chooses the newest revision
// unless it is told another.
func newClient(t *testing.T, cfg *mcpwire.Config, name, version string) *client.Client {
	t.Helper()
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- mcpwire.New(cfg).ServeStdio(ctx, toServer, fromServer)
		fromServer.Close()
	}()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Errorf("served: %v", err)
		}
		stop()
	})
	return greet(t, transport.NewIO(out, in, io.NopCloser(strings.NewReader(""))), name, version)
}

// greet begins with mcp-go's own client over a transport.
func greet(t *testing.T, over transport.Interface, name, version string) *client.Client {
	t.Helper()
	ctx := context.Background()
	c := client.NewClient(over, client.WithProtocolVersion(version))
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var req mcp.InitializeRequest
	req.Params.ProtocolVersion = version
	req.Params.ClientInfo = mcp.Implementation{Name: name, Version: "1"}
	res, err := c.Initialize(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.ProtocolVersion(); got != version {
		t.Fatalf("the revision is %s, want %s", got, version)
	}
	if res.ServerInfo.Name != "carrel" || !strings.Contains(res.Instructions, "/repos/app") {
		t.Errorf("greeted with %+v", res)
	}
	if c := res.Capabilities; c.Tools == nil || c.Resources == nil || !c.Resources.Subscribe || !c.Resources.ListChanged ||
		c.Prompts == nil || c.Prompts.ListChanged || c.Completions == nil || c.Logging != nil || c.Roots != nil || c.Sampling != nil || c.Tools.ListChanged {
		t.Errorf("the capabilities are %+v", c)
	}
	return c
}

// The same over HTTP, where only a session remembers what was created.
func TestBothErasOnHTTP(t *testing.T) {
	w := serve(t, &mcpwire.Config{Project: newProject(t, map[string]string{"main.go": "package main\n"}), Version: "0.1"})
	streamable := func() (transport.Interface, error) { return transport.NewStreamableHTTP(w.url + "/mcp") }
	for _, tt := range []struct {
		version string
		open    func() (transport.Interface, error)
		session bool
	}{
		{mcp.ProtocolVersion20260728, streamable, false},
		{mcp.ProtocolVersion20251125, streamable, true},
		{mcp.ProtocolVersion20250326, streamable, true},
		{mcp.ProtocolVersion20241105, func() (transport.Interface, error) { return transport.NewSSE(w.url + "/sse") }, true},
	} {
		t.Run(tt.version, func(t *testing.T) {
			over, err := tt.open()
			if err != nil {
				t.Fatal(err)
			}
			c := greet(t, over, "example", tt.version)
			if list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil || list.Tools[0].Name != "workspace.create" {
				t.Errorf("the tools are %+v, %v", list, err)
			}
			id := "/agents/" + tt.version
			callTool(t, c, "workspace.create", fmt.Sprintf(`{"path":%q}`, id))
			if res := callTool(t, c, "readFile", fmt.Sprintf(`{"workspace":%q,"path":"/repos/app/main.go"}`, id)); textOf(res) != "package main\n" {
				t.Errorf("read %+v", res)
			}
			if res := callTool(t, c, "git.status", `{}`); res.IsError == tt.session {
				t.Errorf("without a workspace: %s", textOf(res))
			}
			var unknown mcp.CallToolRequest
			unknown.Params.Name = "read_file"
			if _, err := c.CallTool(t.Context(), unknown); err == nil || !strings.Contains(err.Error(), "did you mean readFile?") {
				t.Errorf("an unknown tool: %v", err)
			}
		})
	}
}

func callTool(t *testing.T, c *client.Client, tool, args string) *mcp.CallToolResult {
	t.Helper()
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, json.RawMessage(args)
	res, err := c.CallTool(t.Context(), req)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	return res
}

func textOf(res *mcp.CallToolResult) string {
	var all []string
	for _, c := range res.Content {
		if text, ok := c.(mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestBothEras(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "package main\n"})
	for _, version := range []string{mcp.ProtocolVersion20260728, mcp.ProtocolVersion20251125, mcp.ProtocolVersion20241105} {
		t.Run(version, func(t *testing.T) {
			c := newClient(t, &mcpwire.Config{Project: p, Version: "0.1"}, "example", version)
			list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if got := list.Tools[0]; got.Name != "workspace.create" || got.Title != got.Name {
				t.Errorf("the first tool is %+v", got)
			}
			// A stdio process counts as a session in both eras.
			id := "/agents/" + version
			callTool(t, c, "workspace.create", fmt.Sprintf(`{"path":%q}`, id))
			res := callTool(t, c, "readFile", `{"path":"/repos/app/main.go"}`)
			if got := textOf(res); got != "package main\n" || res.StructuredContent != nil {
				t.Errorf("read %q and %v", got, res.StructuredContent)
			}
			if fields, _ := json.Marshal(res.Meta.AdditionalFields["carrel.dev/result"]); !strings.Contains(string(fields), `"workspace":"`+id+`"`) {
				t.Errorf("the fields are %s", fields)
			}
			var unknown mcp.CallToolRequest
			unknown.Params.Name = "read_file"
			if _, err := c.CallTool(t.Context(), unknown); err == nil || !strings.Contains(err.Error(), "did you mean readFile?") {
				t.Errorf("an unknown tool: %v", err)
			}
		})
	}
}

// steps call every tool, each so that it succeeds.
var steps = []struct{ tool, args string }{
	{"workspace.create", `{"path":"/agents/a"}`},
	{"workspace.open", `{"path":"/agents/a"}`},
	{"workspace.list", `{}`},
	{"readFile", `{"path":"/repos/app/main.go"}`},
	{"writeFile", `{"path":"/repos/app/new.go","content":"package main\n"}`},
	{"edit", `{"path":"/repos/app/main.go","oldString":"main","newString":"app"}`},
	{"mv", `{"from":"/repos/app/new.go","to":"/repos/app/moved.go"}`},
	{"cp", `{"from":"/repos/app/moved.go","to":"copy.go"}`},
	{"mkdir", `{"path":"made"}`},
	{"deleteFile", `{"path":"/repos/app/dir","recursive":true}`},
	{"revert", `{"path":"/repos/app/dir"}`},
	{"readDir", `{"path":"/repos/app"}`},
	{"glob", `{"pattern":"/repos/**/*.go"}`},
	{"listAllFiles", `{}`},
	{"grep", `{"pattern":"package"}`},
	{"grep", `{"pattern":"package","mode":"files"}`},
	{"grep", `{"pattern":"package","mode":"count"}`},
	{"git.status", `{}`},
	{"git.diff", `{}`},
	{"git.commit", `{"message":"a commit"}`},
	{"git.log", `{}`},
	{"readFiles", `{"paths":["/repos/app/main.go","none"]}`},
	{"readFileBytes", `{"path":"/repos/app/main.go"}`},
	{"writeFileBytes", `{"path":"bytes","base64":"AP8="}`},
	{"symlink", `{"path":"link","target":"bytes"}`},
	{"batch", `{"changes":[{"op":"mkdir","path":"x"},{"op":"writeFile","path":"x/f","content":"x"}]}`},
	{"stat", `{"path":"/repos/app/main.go"}`},
	{"exists", `{"path":"none"}`},
	{"writeFile", `{"path":"scratch.txt","content":""}`},
	{"git.status", `{"all":true}`},
	{"reset", `{"confirm":true}`},
	{"workspace.show", `{}`},
	{"workspace.configure", `{"mounts":{"/repos/app":{"policy":"read-only"}}}`},
	{"workspace.delete", `{"path":"/agents/a","discard":true}`},
	{"workspace.list", `{}`},
}

// A host that knows schemas is given fields that fit them, and a known host of
// a model text alone; neither is given an empty text for facts.
func TestBothKindsOfHost(t *testing.T) {
	files := map[string]string{"main.go": "package main\n", "dir/a.txt": "a\n"}
	for _, name := range []string{"example", "claude-code"} {
		t.Run(name, func(t *testing.T) {
			r := connect(t, &mcpwire.Config{Project: newProject(t, files), Tools: "all"})
			r.initialize(name)
			host := name != "example"
			schemas := map[string]json.RawMessage{}
			list, _ := r.list()
			for _, l := range list {
				schemas[l.Title] = l.OutputSchema
			}
			textOnly, called := map[string]bool{}, map[string]bool{}
			for _, tool := range tools.All() {
				textOnly[tool.Name] = tool.TextOnly
			}
			for _, step := range steps {
				if _, ok := schemas[step.tool]; !ok {
					continue // of a later version
				}
				called[step.tool] = true
				res := r.ok(step.tool, step.args)
				if res.Content[0].Type != "text" || res.Content[0].Text == "" {
					t.Errorf("%s says nothing: %+v", step.tool, res)
				}
				if strings.HasPrefix(res.Content[0].Text, "{") {
					t.Errorf("%s says JSON to a model: %s", step.tool, res.Content[0].Text)
				}
				fields, beside := res.StructuredContent, res.Meta["carrel.dev/result"]
				switch {
				case textOnly[step.tool]:
					if fields != nil || schemas[step.tool] != nil {
						t.Errorf("%s is text alone, and has %s by %s", step.tool, fields, schemas[step.tool])
					}
					fields = beside
				case host:
					if fields != nil || schemas[step.tool] != nil || beside != nil {
						t.Errorf("%s gives a known host %s by %s and %s", step.tool, fields, schemas[step.tool], beside)
					}
					continue
				default:
					validate(t, step.tool, schemas[step.tool], fields)
				}
				var named struct{ Workspace *string }
				if err := json.Unmarshal(fields, &named); err != nil || named.Workspace == nil || *named.Workspace != "/agents/a" {
					t.Errorf("%s does not name its workspace: %s", step.tool, fields)
				}
				if bytes.Contains(fields, []byte("null")) && step.tool != "readFiles" {
					t.Errorf("%s has null in its fields: %s", step.tool, fields)
				}
			}
			for tool := range textOnly {
				if !called[tool] {
					t.Errorf("no step calls %s", tool)
				}
			}
		})
	}
}

// validate holds fields against the schema that the client was given.
func validate(t *testing.T, tool string, schema, fields json.RawMessage) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatalf("%s: its schema %q: %v", tool, schema, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tool.json", parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("tool.json")
	if err != nil {
		t.Fatalf("%s: its schema %s: %v", tool, schema, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(fields))
	if err != nil {
		t.Fatalf("%s: its fields %q: %v", tool, fields, err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%s: %s: %v", tool, fields, err)
	}
}

// E6: the reason of an error reaches a client that validates.
func TestErrorForValidatingClient(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "package main\n"})
	for _, version := range []string{mcp.ProtocolVersion20260728, mcp.ProtocolVersion20251125} {
		c := newClient(t, &mcpwire.Config{Project: p, Workspace: "/agents/a"}, "example", version)
		callTool(t, c, "workspace.create", `{}`)
		for _, tool := range []string{"readFile", "readDir", "edit"} {
			res := callTool(t, c, tool, `{"path":"/repos/app/none.go"}`)
			if !res.IsError || res.StructuredContent != nil || len(res.Content) != 1 {
				t.Errorf("%s answers %+v", tool, res)
			}
			if got := textOf(res); !strings.Contains(got, "/repos/app/none.go") {
				t.Errorf("the error of %s does not name the path: %q", tool, got)
			}
		}
	}
}
