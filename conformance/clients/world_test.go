package clients

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	binary  string // of carrel
	played  atomic.Int64
	skipped atomic.Int64
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// TestMain builds the program, and at the end counts what was played.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "carrel-clients-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "carrel")
		build := exec.Command("go", "build", "-o", binary, "./cmd/carrel")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build carrel: %v\n%s", err, out)
			return 1
		}
		code := m.Run()
		fmt.Printf("clients: %d played, %d skipped\n", played.Load(), skipped.Load())
		return code
	}())
}

// lacking skips a test for want of something, or fails it where everything is
// meant to be there.
func lacking(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CARREL_CI") != "" {
		t.Fatalf(format, args...)
	}
	skipped.Add(1)
	t.Skipf(format, args...)
}

// naming is how the tools are named in lists.
type naming string

const (
	dotted      naming = "dotted"
	underscored naming = "underscore"
)

// spell is a tool's name as it is listed.
func (n naming) spell(tool string) string {
	if n == underscored {
		return strings.ReplaceAll(tool, ".", "_")
	}
	return tool
}

// world is a repository and a data directory of one session.
type world struct {
	t    *testing.T
	dir  string
	repo string // bare
}

var files = map[string]string{
	"main.go":    "package main\n\nfunc main() {}\n",
	"dir/a.txt":  "alpha\nbeta\n",
	"crlf.txt":   "one\r\ntwo\r\n",
	".gitignore": "*.log\n",
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.repo = filepath.Join(w.dir, "app.git")
	clone := filepath.Join(w.dir, "clone")
	w.git(w.dir, "init", "-q", "--bare", "-b", "main", w.repo)
	w.git(w.dir, "clone", "-q", w.repo, clone)
	for name, text := range files {
		full := filepath.Join(clone, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.git(clone, "add", "-A")
	w.git(clone, "commit", "-q", "-m", "first")
	w.git(clone, "push", "-q", "origin", "HEAD:main")
	return w
}

// env is the environment of git and carrel: nothing of the host's configuration.
func (w *world) env() map[string]string {
	return map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": w.dir, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
		"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org",
	}
}

func (w *world) environ() []string { return address{Env: w.env()}.environ() }

// environ is the environment of what is run.
func (a address) environ() (all []string) {
	for name, value := range a.Env {
		all = append(all, name+"="+value)
	}
	return all
}

// git runs git in a directory and returns what it printed.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, w.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// args are those of a command of carrel that serves the repository.
func (w *world) args(command string, more ...string) []string {
	return append([]string{command, "--data", filepath.Join(w.dir, "data"), "--project", "default", "--repo", "app=" + w.repo, "--tools", "all"}, more...)
}

// call has another process on the same data call a tool.
func (w *world) call(more ...string) {
	w.t.Helper()
	w.carrel(append([]string{"call", "--project", "default"}, more...)...)
}

// carrel runs a command of another process on the same data, and returns what it
// printed.
func (w *world) carrel(args ...string) string {
	w.t.Helper()
	cmd := exec.Command(binary, append(args, "--data", filepath.Join(w.dir, "data"))...)
	cmd.Env = w.environ()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("carrel %s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// serve says where a client finds the program; over HTTP it is started.
func (w *world) serve(k kind, names naming) address {
	w.t.Helper()
	if k == overStdio {
		return address{Kind: k, Command: binary, Args: w.args("mcp", "--tool-names", string(names)), Env: w.env()}
	}
	return address{Kind: k, URL: w.listen(names) + doors[k]}
}

// doors are the paths of endpoints.
var doors = map[kind]string{overHTTP: "/mcp", overSSE: "/sse"}

// serveTokens is serve of a program that wants a token, which the address has.
func (w *world) serveTokens(k kind, names naming) address {
	w.t.Helper()
	at := address{Kind: k, URL: w.listen(names, "--tokens") + doors[k]}
	at.Token = w.token()
	return at
}

func (w *world) token() string {
	w.t.Helper()
	return strings.TrimSpace(w.carrel("token", "create", "--project", "default", "--allow", "admin", "--expires", "1d"))
}

var listening = regexp.MustCompile(`http://[0-9.:]+`)

// listen starts carrel serve and returns its URL. It has to end by itself when it
// is interrupted.
func (w *world) listen(names naming, more ...string) string {
	w.t.Helper()
	url, _ := w.start(names, more...)
	return url
}

// start is listen of a server that may be interrupted before the test ends.
func (w *world) start(names naming, more ...string) (at string, stop func()) {
	w.t.Helper()
	cmd := exec.Command(binary, w.args("serve", append(more, "--addr", "127.0.0.1:0", "--tool-names", string(names))...)...)
	cmd.Env = w.environ()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	url, said := make(chan string, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if found := listening.FindString(lines.Text()); found != "" {
				select {
				case url <- found:
				default:
				}
			}
		}
		said <- all.String()
	}()
	stop = sync.OnceFunc(func() { w.interrupt(cmd, said) })
	w.t.Cleanup(stop)
	select {
	case found := <-url:
		return found, stop
	case text := <-said:
		said <- text
		w.t.Fatalf("carrel serve says:\n%s", text)
	case <-time.After(patience):
		w.t.Fatal("carrel serve does not say where it listens")
	}
	return "", nil
}

// interrupt ends carrel serve as a person does.
func (w *world) interrupt(cmd *exec.Cmd, said <-chan string) {
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		w.t.Errorf("interrupt carrel serve: %v", err)
	}
	stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stop.Stop()
	text := <-said
	if err := cmd.Wait(); err != nil || w.t.Failed() {
		w.t.Errorf("carrel serve ends with %v and said:\n%s", err, text)
	}
}
