package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// stdio reaches Carrel as an MCP host does: one process of the real binary for
// every session, spoken to in JSON lines. All of them share the data directory.
type stdio struct {
	binary string
	home   string // of the processes, with a git configuration that must not matter
}

func (stdio) Name() string { return "stdio" }

func (s stdio) Start(_ context.Context, data string) (Server, error) {
	return &stdioServer{stdio: s, data: data}, os.MkdirAll(data, 0o700)
}

type stdioServer struct {
	stdio
	data string
}

// command is carrel with the server's data directory. There is no git to be
// found: Carrel does not need one.
func (s *stdioServer) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir = s.home
	cmd.Env = []string{"HOME=" + s.home, "CARREL_DATA=" + s.data, "PATH=" + s.home, "TMPDIR=" + os.TempDir()}
	return cmd
}

// run runs a command to its end and returns what it printed.
func (s *stdioServer) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := s.command(ctx, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("carrel %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return out, nil
}

func (s *stdioServer) AddRepo(ctx context.Context, name, path string) error {
	_, err := s.run(ctx, "repo", "add", path, name)
	return err
}

func (s *stdioServer) Records(ctx context.Context, stream string) (json.RawMessage, error) {
	args := []string{"events", "--json"}
	if stream != "/" {
		args = append(args, "--workspace", stream)
	}
	out, err := s.run(ctx, args...)
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		out, err = nil, nil // it was never born: there are no records
	}
	if err != nil {
		return nil, err
	}
	rows := []json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var row json.RawMessage
		if err := dec.Decode(&row); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("carrel events: %w in %.200s", err, out)
		}
		rows = append(rows, row)
	}
	return json.Marshal(rows)
}

func (s *stdioServer) Session(ctx context.Context, o SessionOptions) (Session, error) {
	args := []string{"mcp", "--project", "default"}
	if !o.Core {
		args = append(args, "--tools", "all")
	}
	if o.Workspace != "" {
		args = append(args, "--workspace", o.Workspace)
	}
	client := o.Client
	if client == "" {
		client = "conformance"
	}
	return Dial(ctx, s.command(context.WithoutCancel(ctx), args...), client)
}

func (s *stdioServer) Close() error { return nil }
