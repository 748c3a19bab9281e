package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// Pipe is a client of one `carrel mcp`, spoken to in JSON lines as an MCP host
// does. It knows as little of MCP as will do. All methods are safe for concurrent
// use.
type Pipe struct {
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

var _ Session = (*Pipe)(nil)

type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// Dial starts a process and greets it as the client that is named.
func Dial(ctx context.Context, cmd *exec.Cmd, client string) (*Pipe, error) {
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	_, err = p.ask(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": client, "version": "1"},
	})
	if err == nil {
		err = p.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func start(cmd *exec.Cmd) (*Pipe, error) {
	p := &Pipe{cmd: cmd, waiting: map[int]chan reply{}, gone: make(chan struct{})}
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
func (p *Pipe) read(out io.Reader) {
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

func (p *Pipe) take(line []byte) error {
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

func (p *Pipe) send(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return p.sendLine(b)
}

func (p *Pipe) sendLine(b []byte) error {
	p.write.Lock()
	defer p.write.Unlock()
	_, err := p.in.Write(append(b, '\n'))
	return err
}

func (p *Pipe) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
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

// Tools implements Session.
func (p *Pipe) Tools(ctx context.Context) ([]Tool, error) { return asking(p.ask).tools(ctx) }

// Call implements Session. It fails if the process ends before it answers.
func (p *Pipe) Call(ctx context.Context, c Call) (Result, error) { return asking(p.ask).call(ctx, c) }

// asking sends a request of MCP, by whatever transport, and returns its result.
type asking func(ctx context.Context, method string, params any) (json.RawMessage, error)

func (ask asking) tools(ctx context.Context) ([]Tool, error) {
	b, err := ask(ctx, "tools/list", map[string]any{})
	if err != nil {
		return nil, err
	}
	var list struct{ Tools []Tool }
	return list.Tools, json.Unmarshal(b, &list)
}

func (ask asking) call(ctx context.Context, c Call) (Result, error) {
	params := map[string]any{"name": c.Tool, "arguments": c.Args}
	if c.Key != "" {
		params["_meta"] = map[string]any{"carrel.dev/key": c.Key}
	}
	b, err := ask(ctx, "tools/call", params)
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

// Kill ends the process at once and waits for that.
func (p *Pipe) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	<-p.gone
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return p.complaint()
}

// PID is the process's id.
func (p *Pipe) PID() int { return p.cmd.Process.Pid }

// Close ends the input, as a host does, and waits for the process.
func (p *Pipe) Close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	<-p.gone
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("carrel mcp: %w: %s", err, p.said.String())
	}
	return p.complaint()
}

// complaint is an error if the process said what none may say. It has ended.
func (p *Pipe) complaint() error {
	s := p.said.String()
	for _, bad := range []string{"panic", "DATA RACE", "appended and not reduced", "database is locked"} {
		if strings.Contains(s, bad) {
			return fmt.Errorf("carrel mcp said: %s", s)
		}
	}
	return nil
}
