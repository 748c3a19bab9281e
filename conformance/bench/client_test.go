package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// client speaks MCP with a process, in lines of JSON: one request at a time, the
// same way with all servers.
type client struct {
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
	id     int
}

// connect starts a server, which ends with the test.
func connect(t testing.TB, cmd *exec.Cmd) *client {
	t.Helper()
	c := &client{stderr: &bytes.Buffer{}}
	cmd.Stderr = c.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("%s: %v\n%s", cmd.Path, err, c.stderr)
		}
	})
	c.in, c.out = in, bufio.NewReaderSize(out, 1<<20)
	hello := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
	answer, err := c.exchange(c.request("initialize", hello))
	if err == nil && !bytes.Contains(answer, []byte(`"protocolVersion"`)) {
		err = fmt.Errorf("it answers %s", answer)
	}
	if err == nil {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		t.Fatalf("%s: initialize: %v\n%s", cmd.Path, err, c.stderr)
	}
	return c
}

// request is the line of a request.
func (c *client) request(method, params string) []byte {
	c.id++
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params)
}

// exchange sends a request and returns the line that answers it.
func (c *client) exchange(request []byte) ([]byte, error) {
	if _, err := c.in.Write(request); err != nil {
		return nil, err
	}
	return c.out.ReadBytes('\n')
}

// call calls a tool, and returns its text and how long the exchange took.
func (c *client) call(tool string, args map[string]any) (string, time.Duration, error) {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return "", 0, err
	}
	request := c.request("tools/call", string(params))
	began := time.Now()
	line, err := c.exchange(request)
	took := time.Since(began)
	if err != nil {
		return "", 0, fmt.Errorf("%w\n%s", err, c.stderr)
	}
	var answer struct {
		ID     int
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return "", 0, err
	}
	if answer.ID != c.id || answer.Result.IsError || len(answer.Result.Content) == 0 {
		return "", 0, fmt.Errorf("%s answers %s", tool, strings.TrimSpace(string(line)))
	}
	return answer.Result.Content[0].Text, took, nil
}

// serveMinimal is the least that a server for files can be: one tool on mcp-go.
func serveMinimal(context.Context) error {
	s := server.NewMCPServer("minimal", "1")
	s.AddTool(mcp.NewTool("readFile", mcp.WithString("path", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			content, err := os.ReadFile(r.GetString("path", ""))
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText(string(content)), nil
		})
	return server.ServeStdio(s)
}

// child is this test binary as another process.
func child(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	return cmd, nil
}
