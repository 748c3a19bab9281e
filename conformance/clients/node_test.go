package clients

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// modules is the directory in which the packages for node are installed, once
// for each lock file.
var modules = sync.OnceValues(install)

// install puts the packages into the cache. They come from whatever registry npm
// is configured with; the lock file has the sum of each.
func install() (string, error) {
	lock, err := os.ReadFile("node/package-lock.json")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "carrel", fmt.Sprintf("clients-%.12x", sha256.Sum256(lock)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "installing-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	for _, name := range []string{"package.json", "package-lock.json"} {
		if err := copyFile(filepath.Join("node", name), filepath.Join(fresh, name)); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	// Not npm ci: that wants an optional package for Windows, which the lock file
	// does not have.
	npm := exec.CommandContext(ctx, "npm", "install", "--no-save", "--omit=optional", "--no-audit", "--no-fund")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// packages returns the directory of the packages for node. Without it the test is
// skipped, or fails where everything has to run.
func packages(t *testing.T) string {
	t.Helper()
	dir, err := modules()
	if err != nil {
		lacking(t, "the packages for node: %v", err)
	}
	return dir
}

// node is the program, of the version that the lock file has.
func node(dir string) string { return filepath.Join(dir, "node_modules", ".bin", "node") }

// nodeSession is a client of the TypeScript SDKs in a process of its own, which
// does one thing at a time.
type nodeSession struct {
	in       io.WriteCloser
	out      *bufio.Reader
	cmd      *exec.Cmd
	stderr   bytes.Buffer
	version  string
	finished bool
}

func nodeClient(flavour string) maker {
	return func(t *testing.T, at address) client {
		t.Helper()
		s := startNode(t, flavour)
		var answer struct{ Version string }
		if err := s.do(connecting{"connect", at}, &answer); err != nil {
			t.Fatalf("connect: %v", err)
		}
		s.version = answer.Version
		return s
	}
}

// startNode starts a driver, which is connected to nothing.
func startNode(t *testing.T, flavour string) *nodeSession {
	t.Helper()
	dir := packages(t)
	// Imports are resolved from where the script lies.
	place, err := os.MkdirTemp(dir, "driver-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(place) })
	script := filepath.Join(place, "driver.mjs")
	if err := copyFile("node/driver.mjs", script); err != nil {
		t.Fatal(err)
	}
	s := &nodeSession{cmd: exec.Command(node(dir), script, flavour)}
	s.cmd.Stderr = &s.stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.close()
		if t.Failed() {
			t.Logf("%s", s.stderr.String())
		}
	})
	return s
}

type connecting struct {
	Op string `json:"op"`
	address
}

// do has the driver do something, and decodes the outcome.
func (s *nodeSession) do(command, outcome any) error {
	b, err := json.Marshal(command)
	if err != nil {
		return err
	}
	if _, err := s.in.Write(append(b, '\n')); err != nil {
		return err
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the client ended: %w", err)
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(line, &failed); err != nil {
		return fmt.Errorf("%w: %s", err, line)
	}
	if failed.Error != "" {
		return errors.New(failed.Error)
	}
	return json.Unmarshal(line, outcome)
}

func (s *nodeSession) revision() string { return s.version }

func (s *nodeSession) tools(context.Context) ([]tool, error) {
	var outcome struct{ Tools []tool }
	err := s.do(map[string]any{"op": "tools"}, &outcome)
	return outcome.Tools, err
}

func (s *nodeSession) call(_ context.Context, name string, args any, _ bool) (called, error) {
	var outcome struct {
		Result   result
		Progress []float64
	}
	err := s.do(map[string]any{"op": "call", "name": name, "arguments": args}, &outcome)
	return called{outcome.Result, outcome.Progress}, err
}

func (s *nodeSession) resources(context.Context) ([]string, error) {
	var outcome struct{ URIs []string }
	err := s.do(map[string]any{"op": "resources"}, &outcome)
	return outcome.URIs, err
}

func (s *nodeSession) templates(context.Context) ([]string, error) {
	var outcome struct{ URIs []string }
	err := s.do(map[string]any{"op": "templates"}, &outcome)
	return outcome.URIs, err
}

func (s *nodeSession) read(_ context.Context, uri string) (string, error) {
	var outcome struct{ Text string }
	err := s.do(map[string]any{"op": "read", "uri": uri}, &outcome)
	return outcome.Text, err
}

func (s *nodeSession) subscribe(_ context.Context, uri string) error {
	var outcome struct{}
	return s.do(map[string]any{"op": "subscribe", "uri": uri}, &outcome)
}

func (s *nodeSession) updated(_ context.Context, uri string) error {
	var outcome struct{}
	return s.do(map[string]any{"op": "updated", "uri": uri, "patience": patience.Milliseconds()}, &outcome)
}

func (s *nodeSession) complete(_ context.Context, path, ws string) ([]string, error) {
	var outcome struct{ Values []string }
	err := s.do(map[string]any{"op": "complete", "template": template, "path": path, "ws": ws}, &outcome)
	return outcome.Values, err
}

func (s *nodeSession) prompts(context.Context) ([]string, error) {
	var outcome struct{ Names []string }
	err := s.do(map[string]any{"op": "prompts"}, &outcome)
	return outcome.Names, err
}

func (s *nodeSession) prompt(_ context.Context, name string, args map[string]string) (string, error) {
	var outcome struct{ Text string }
	err := s.do(map[string]any{"op": "prompt", "name": name, "arguments": args}, &outcome)
	return outcome.Text, err
}

func (s *nodeSession) close() error {
	if s.finished {
		return nil
	}
	s.finished = true
	var outcome struct{}
	err := s.do(map[string]any{"op": "close"}, &outcome)
	s.in.Close()
	return errors.Join(err, s.cmd.Wait())
}
