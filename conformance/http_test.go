package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// web reaches Carrel over HTTP: one process of the real binary for a data
// directory serves all sessions. Its name says by which transport.
type web struct {
	stdio
	name string // "http" or "sse"
}

func (w web) Name() string { return w.name }

func (w web) Start(_ context.Context, data string) (Server, error) {
	s := &webServer{stdioServer: stdioServer{stdio: w.stdio, data: data}, transport: w.name, processes: map[bool]*webProcess{}}
	return s, os.MkdirAll(data, 0o700)
}

type webServer struct {
	stdioServer
	transport string

	mu        sync.Mutex           // guards processes
	processes map[bool]*webProcess // by whether they offer the core tools only; started when first needed
}

func (s *webServer) process(core bool) (*webProcess, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.processes[core]; p != nil {
		return p, nil
	}
	args := []string{"serve", "--addr", "127.0.0.1:0", "--project", "default"}
	if !core {
		args = append(args, "--tools", "all")
	}
	p, err := startServe(s.command(context.Background(), args...))
	if err == nil {
		s.processes[core] = p
	}
	return p, err
}

func (s *webServer) Session(ctx context.Context, o SessionOptions) (Session, error) {
	p, err := s.process(o.Core)
	if err != nil {
		return nil, err
	}
	c := &webClient{http: p.client, base: p.url + o.Workspace}
	open := c.openMCP
	if s.transport == "sse" {
		open = c.openSSE
	}
	client := o.Client
	if client == "" {
		client = "conformance"
	}
	if err := open(ctx, client); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (s *webServer) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for _, p := range s.processes {
		all = append(all, p.stop())
	}
	return errors.Join(all...)
}

// webProcess is a running carrel serve.
type webProcess struct {
	cmd    *exec.Cmd
	url    string // of the server's root, without a slash at the end
	client *http.Client
	ended  chan struct{} // closed once said is complete
	said   bytes.Buffer  // on standard error
}

// startServe starts a process and waits until it says where it listens.
func startServe(cmd *exec.Cmd) (*webProcess, error) {
	p := &webProcess{cmd: cmd, ended: make(chan struct{}), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	errors, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		defer close(p.ended)
		for r := bufio.NewReader(errors); ; {
			line, err := r.ReadString('\n')
			p.said.WriteString(line)
			if _, at, ok := strings.Cut(line, "Serving MCP on "); ok {
				at, _, _ = strings.Cut(at, "/mcp")
				found <- at
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case p.url = <-found:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("carrel serve: %w: %s", cmd.Wait(), &p.said)
	}
}

// stop ends the process as a supervisor does.
func (p *webProcess) stop() error {
	p.client.CloseIdleConnections()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.ended
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("carrel serve: %w: %s", err, &p.said)
	}
	for _, bad := range []string{"panic", "DATA RACE", "appended and not reduced", "database is locked", "still running"} {
		if strings.Contains(p.said.String(), bad) {
			return fmt.Errorf("carrel serve said: %s", &p.said)
		}
	}
	return nil
}
