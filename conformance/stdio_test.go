package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	c, err := dial(s.command(context.WithoutCancel(ctx), args...))
	if err != nil {
		return nil, err
	}
	_, err = c.ask(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": client, "version": "1"},
	})
	if err == nil {
		err = c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (s *stdioServer) Close() error { return nil }

// pipe is a client of one process. It knows as little of MCP as will do.
type pipe struct {
	cmd  *exec.Cmd
	said bytes.Buffer // on standard error

	write sync.Mutex // guards in
	in    io.WriteCloser

	mu      sync.Mutex // guards what follows
	next    int
	waiting map[int]chan reply
	ended   error // set once nothing more is read
	gone    chan struct{}
}

type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func dial(cmd *exec.Cmd) (*pipe, error) {
	p := &pipe{cmd: cmd, waiting: map[int]chan reply{}, gone: make(chan struct{})}
	cmd.Stderr = &p.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// read hands out replies until the process ends.
func (p *pipe) read(out io.Reader) {
	lines := bufio.NewReader(out)
	var err error
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err == nil {
			err = p.take(line)
		}
	}
	p.mu.Lock()
	p.ended = fmt.Errorf("carrel ended: %w", err)
	p.mu.Unlock()
	close(p.gone)
}

func (p *pipe) take(line []byte) error {
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		reply
	}
	if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
		return fmt.Errorf("a line on standard output is no message: %.200q", line)
	}
	id, err := strconv.Atoi(string(m.ID))
	if err != nil {
		return nil // a notification, or the answer to somebody else's id
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ch := p.waiting[id]; ch != nil {
		delete(p.waiting, id)
		ch <- m.reply
	}
	return nil
}

func (p *pipe) send(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return p.sendLine(b)
}

func (p *pipe) sendLine(b []byte) error {
	p.write.Lock()
	defer p.write.Unlock()
	_, err := p.in.Write(append(b, '\n'))
	return err
}

func (p *pipe) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ch := make(chan reply, 1)
	p.mu.Lock()
	p.next++
	id := p.next
	p.waiting[id] = ch
	p.mu.Unlock()
	if err := p.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	select {
	case r := <-ch:
		return r.value()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.gone:
	}
	select { // the reply may have come just before the end
	case r := <-ch:
		return r.value()
	default:
		return nil, p.ended
	}
}

func (r reply) value() (json.RawMessage, error) {
	if r.Error != nil {
		return nil, fmt.Errorf("protocol error %d: %s", r.Error.Code, r.Error.Message)
	}
	return r.Result, nil
}

func (p *pipe) Tools(ctx context.Context) ([]Tool, error) {
	b, err := p.ask(ctx, "tools/list", map[string]any{})
	if err != nil {
		return nil, err
	}
	var list struct{ Tools []Tool }
	return list.Tools, json.Unmarshal(b, &list)
}

func (p *pipe) Call(ctx context.Context, c Call) (Result, error) {
	params := map[string]any{"name": c.Tool, "arguments": c.Args}
	if c.Key != "" {
		params["_meta"] = map[string]any{"carrel.dev/key": c.Key}
	}
	b, err := p.ask(ctx, "tools/call", params)
	if err != nil {
		return Result{}, err
	}
	return decodeResult(b)
}

// decodeResult reads a tool result as MCP writes it.
func decodeResult(b []byte) (Result, error) {
	var r struct {
		Content []struct {
			Type, Text string
			Data       []byte // of an image
			Resource   struct{ Blob []byte }
		}
		StructuredContent json.RawMessage
		Meta              map[string]json.RawMessage `json:"_meta"`
		IsError           bool
	}
	err := json.Unmarshal(b, &r)
	res := Result{Structured: r.StructuredContent, Meta: r.Meta, IsError: r.IsError}
	for _, c := range r.Content {
		res.Blocks = append(res.Blocks, Block{c.Type, c.Text, append(c.Data, c.Resource.Blob...)})
	}
	return res, err
}

// kill ends the process at once and waits for that.
func (p *pipe) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	<-p.gone
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// Close ends the input, as a host does, and waits for the process.
func (p *pipe) Close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	<-p.gone
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("carrel mcp: %w: %s", err, p.said.String())
	}
	if s := p.said.String(); slices.ContainsFunc([]string{"panic", "DATA RACE", "appended and not reduced"}, func(bad string) bool { return strings.Contains(s, bad) }) {
		return fmt.Errorf("carrel mcp said: %s", s)
	}
	return nil
}

// buildCarrel builds the program into a directory, with the race detector if the
// tests run with it.
func buildCarrel(dir string) (string, error) {
	binary := filepath.Join(dir, "carrel")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "carrel.dev/cmd/carrel")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return binary, nil
}
