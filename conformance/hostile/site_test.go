package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel.dev/conformance"
)

// patience is how long anything may take.
const patience = time.Minute

// binary is the program, built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hostile")
		if err == nil {
			defer os.RemoveAll(dir)
			binary, err = conformance.Build(dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// site is a running carrel serve that needs tokens, as a test or subtest knows it.
type site struct {
	*testing.T
	*process
}

// of is the site as a subtest knows it.
func (s *site) of(t *testing.T) *site { return &site{t, s.process} }

// process is what the tests of a site share.
type process struct {
	data, addr string
	env        []string
	git        *conformance.Repos
	cmd        *exec.Cmd
	ended      chan struct{} // closed once said is complete

	mu      sync.Mutex // guards what follows
	said    bytes.Buffer
	secrets []string // that no log may have
}

// secretContent is in files, messages and keys of the tests.
const secretContent = "hush-hush-content"

// open starts a server with flags; env are more variables of its environment.
func open(t *testing.T, env []string, flags ...string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t, &process{
		data: filepath.Join(dir, "data"), env: env, ended: make(chan struct{}),
		git: &conformance.Repos{Dir: filepath.Join(dir, "repos")}, secrets: []string{secretContent},
	}}
	s.must(os.MkdirAll(s.git.Dir, 0o755))
	for _, project := range []string{"default", "other"} {
		name := "app-" + project
		s.must(s.git.Create(t.Context(), name, false, []conformance.Edit{
			{Path: "a", Mode: "100644", Content: []byte(project + "\n")}, {Path: "l", Mode: "120000", Content: []byte("/etc/passwd")},
			{Path: "l2", Mode: "120000", Content: []byte("../../lib/f")}, {Path: "d/x", Mode: "100644", Content: []byte("x\n")},
		}))
		s.carrel("repo", "add", "--project", project, s.git.Path(name), "app")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	s.addr = free.Addr().String() // what it says is the URL by which clients reach it
	s.must(free.Close())
	args := append([]string{"serve", "--addr", s.addr, "--tools", "all", "--log-level", "debug"}, flags...)
	s.cmd = s.command(args...)
	stderr, err := s.cmd.StderrPipe()
	s.must(err)
	s.must(s.cmd.Start())
	serving := make(chan bool)
	go s.listen(stderr, serving)
	select {
	case <-serving:
	case <-s.ended:
		t.Fatalf("carrel serve: %s", &s.said)
	}
	t.Cleanup(s.stop)
	return s
}

// listen keeps what the server says, and tells when it serves.
func (s *site) listen(stderr io.Reader, serving chan<- bool) {
	defer close(s.ended)
	for r := bufio.NewReader(stderr); ; {
		line, err := r.ReadString('\n')
		s.mu.Lock()
		s.said.WriteString(line)
		s.mu.Unlock()
		if strings.HasPrefix(line, "Serving MCP on ") {
			close(serving)
		}
		if err != nil {
			return
		}
	}
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = s.git.Dir // no repository
	cmd.Env = append([]string{"HOME=" + s.data, "CARREL_DATA=" + s.data, "PATH=", "TMPDIR=" + os.TempDir()}, s.env...)
	return cmd
}

// carrel runs a command and returns what it printed.
func (s *site) carrel(args ...string) string {
	s.Helper()
	cmd := s.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("carrel %s: %v: %s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// token makes a token.
func (s *site) token(flags ...string) string {
	s.Helper()
	if !slices.Contains(flags, "--project") {
		flags = append(flags, "--project", "default")
	}
	t := s.carrel(append([]string{"token", "create"}, flags...)...)
	s.secret(t)
	return t
}

// revoke revokes the only token of a name.
func (s *site) revoke(name string) {
	s.Helper()
	var list struct {
		Tokens []struct{ ID, Name string }
	}
	s.must(json.Unmarshal([]byte(s.carrel("token", "list", "--project", "default", "--json")), &list))
	for _, t := range list.Tokens {
		if t.Name == name {
			s.carrel("token", "revoke", "--project", "default", t.ID)
			return
		}
	}
	s.Fatalf("no token %s", name)
}

// secret notes what no log may have.
func (s *site) secret(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, text)
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // why there is none, or not all of it
}

// dial connects to the server.
func (s *site) dial() net.Conn {
	s.Helper()
	c, err := net.Dial("tcp", s.addr)
	s.must(err)
	s.must(c.SetDeadline(time.Now().Add(patience)))
	return c
}

// raw sends bytes on a connection of their own and reads one response.
func (s *site) raw(text string) answer {
	s.Helper()
	c := s.dial()
	defer c.Close()
	io.WriteString(c, text) // a server that has refused may not read it all
	return read(bufio.NewReader(c))
}

func read(r *bufio.Reader) answer {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b), err}
}

// request is the text of a request; headers are "Name: value".
func request(method, target, body string, headers ...string) string {
	all := []string{method + " " + target + " HTTP/1.1"}
	has := func(name string) bool {
		for _, h := range headers {
			if strings.HasPrefix(h, name+":") {
				return true
			}
		}
		return false
	}
	for _, usual := range []string{"Host: localhost", "Connection: close", "Accept: application/json, text/event-stream"} {
		if name, _, _ := strings.Cut(usual, ":"); !has(name) {
			all = append(all, usual)
		}
	}
	if body != "" {
		all = append(all, "Content-Length: "+strconv.Itoa(len(body)))
		if !has("Content-Type") {
			all = append(all, "Content-Type: application/json")
		}
	}
	for _, h := range headers {
		if h != "" {
			all = append(all, h)
		}
	}
	return strings.Join(all, "\r\n") + "\r\n\r\n" + body
}

// ask makes a request, again if the client has made too many.
func (s *site) ask(method, target, body string, headers ...string) answer {
	s.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		a := s.raw(request(method, target, body, headers...))
		if a.status != http.StatusTooManyRequests || time.Since(began) > patience {
			return a
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}`

// list is a message that is answered at once.
const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`

func bearer(token string) string { return "Authorization: Bearer " + token }

// begin begins a session on an endpoint and returns its headers.
func (s *site) begin(path, token string) []string {
	s.Helper()
	a := s.ask("POST", path, initialize, bearer(token))
	if a.status != http.StatusOK {
		s.Fatalf("initialize: %+v", a)
	}
	id := a.header.Get("Mcp-Session-Id")
	s.secret(id)
	return []string{bearer(token), "Mcp-Session-Id: " + id}
}

// call is a message that calls a tool.
func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// stateless makes a call as clients of 2026-07-28 do.
func (s *site) stateless(path, token, tool, arguments string) answer {
	s.Helper()
	m := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments)
	return s.ask("POST", path, m, bearer(token), "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: "+tool)
}

// stream opens a stream and returns it with its first event, if it has one at once.
func (s *site) stream(path string, headers ...string) (events *bufio.Reader, end func()) {
	s.Helper()
	c := s.dial()
	s.Cleanup(func() { c.Close() })
	_, err := io.WriteString(c, request("GET", path, "", append(headers, "Accept: text/event-stream", "Connection: keep-alive")...))
	s.must(err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	s.must(err)
	if res.StatusCode != http.StatusOK {
		s.Fatalf("GET %s: %s", path, res.Status)
	}
	return bufio.NewReader(res.Body), func() { c.Close() }
}

// post is where the client of a stream of the older transport posts.
func (s *site) post(events *bufio.Reader) string {
	s.Helper()
	for {
		line, err := events.ReadString('\n')
		s.must(err)
		if at, ok := strings.CutPrefix(line, "data: "); ok {
			at = strings.TrimSpace(at)
			_, id, _ := strings.Cut(at, "sessionId=")
			s.secret(id)
			return at
		}
	}
}

// finish checks that the server is as it should be after everything: it serves, its
// memory is bounded, it stops as it is told, nothing is lost, and no log has a secret.
func (s *site) finish(token string) {
	s.Helper()
	headers := s.begin("/mcp", token)
	s.ask("POST", "/mcp", call(3, "workspace.create", `{"path":"/agents/last"}`), headers...)
	if a := s.ask("POST", "/mcp", call(4, "readFile", `{"path":"/repos/app/a"}`), headers...); !strings.Contains(a.body, "default\\n") {
		s.Errorf("afterwards: %+v", a)
	}
	now, peak := s.memory()
	s.Logf("resident memory: %d MiB, at most %d MiB", now>>20, peak>>20)
	if peak > 2<<30 {
		s.Errorf("resident memory was %d MiB", peak>>20)
	}
	s.stop()
	var checked struct{ OK bool }
	if out := s.carrel("fsck", "--json"); json.Unmarshal([]byte(out), &checked) != nil || !checked.OK {
		s.Errorf("fsck: %s", out)
	}
	s.must(s.git.Check(context.Background()))
	for _, secret := range s.secrets {
		if strings.Contains(s.said.String(), strings.TrimPrefix(secret, "carrel_")) {
			s.Errorf("the log has the secret %.20s…", secret)
		}
	}
	for _, bad := range []string{"panic", "DATA RACE", "goroutine ", "still running", "appended and not reduced"} {
		if i := strings.Index(s.said.String(), bad); i >= 0 {
			s.Errorf("the server says: %.2000s", s.said.String()[i:])
		}
	}
	if n := strings.Count(s.said.String(), "\n"); n < 10 {
		s.Errorf("only %d lines were logged: %s", n, &s.said)
	}
}

// memory is the resident memory of the server now, and the most that it was, in bytes.
func (s *site) memory() (now, peak int64) {
	s.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, 0 // not Linux
	}
	s.must(err)
	kilobytes := func(field string) (n int64) {
		_, rest, _ := strings.Cut(string(b), field+":")
		fmt.Sscan(rest, &n)
		return n << 10
	}
	return kilobytes("VmRSS"), kilobytes("VmHWM")
}

// stop ends the server as a supervisor does.
func (s *site) stop() {
	s.Helper()
	select {
	case <-s.ended:
		return
	default:
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.cmd.Process.Kill()
		s.Error("the server does not stop")
		<-s.ended
	}
	if err := s.cmd.Wait(); err != nil {
		s.Errorf("carrel serve: %v: %.2000s", err, &s.said)
	}
}
