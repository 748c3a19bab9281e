package load

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel.dev/conformance"
)

var full = flag.Bool("full", os.Getenv("CARREL_FULL") != "", "five minutes of 2,000 sessions")

// size is how much a test does.
type size struct {
	sessions int
	lasts    time.Duration
	think    time.Duration // a session's mean time between calls
}

// sized chooses by how the tests are run.
func sized() size {
	switch {
	case *full:
		return size{2000, 5 * time.Minute, 2 * time.Second}
	case os.Getenv("CARREL_CI") != "":
		return size{2000, time.Minute, 3 * time.Second}
	}
	return size{60, 4 * time.Second, 100 * time.Millisecond}
}

// repos is how many repositories the sessions share.
const repos = 20

// world is a data directory with repositories, and carrel serve on it.
type world struct {
	*testing.T
	dir, binary string
	token       string
	url         string
	serve       *exec.Cmd
	http        *http.Client
	log         log // of the servers
}

// log is what servers wrote, up to a size.
type log struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() < 64<<10 {
		l.b.Write(b)
	}
	return len(b), nil
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newWorld(t *testing.T, sessions int) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir()}
	var err error
	if w.binary, err = conformance.Build(w.dir); err != nil {
		t.Fatal(err)
	}
	for i := range repos {
		w.repo(i)
	}
	w.token = strings.TrimSpace(w.carrel("token", "create", "--project", "default", "--allow", "read,write,commit,create", "--expires", "1d"))
	w.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: sessions, MaxConnsPerHost: 0}, Timeout: 2 * time.Minute}
	t.Cleanup(w.http.CloseIdleConnections)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the servers logged:\n%s", &w.log)
		}
	})
	return w
}

// repo makes a bare repository of some files and registers it.
func (w *world) repo(i int) {
	w.Helper()
	dir := filepath.Join(w.dir, fmt.Sprintf("r%d.git", i))
	w.git(w.dir, "init", "-q", "--bare", "-b", "main", dir)
	var stream strings.Builder
	stream.WriteString("commit refs/heads/main\ncommitter A U Thor <author@example.com> 1700000000 +0000\ndata 5\nfirst\n")
	for f := range 300 {
		content := fileOf(i, f)
		fmt.Fprintf(&stream, "M 100644 inline src/d%d/f%d.txt\ndata %d\n%s\n", f%20, f, len(content), content)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = dir, w.env(), strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git fast-import: %v: %s", err, out)
	}
	w.carrel("repo", "add", dir, fmt.Sprint("r", i), "--project", "default")
}

// fileOf is the content of a file of a repository.
func fileOf(repo, file int) string {
	return strings.Repeat(fmt.Sprintf("repository %d, file %d\n", repo, file), 40)
}

func (w *world) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "CARREL_DATA=" + filepath.Join(w.dir, "data"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + os.TempDir(),
	}
}

func (w *world) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, w.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// carrel runs the program and returns what it printed.
func (w *world) carrel(args ...string) string {
	w.Helper()
	cmd := exec.Command(w.binary, args...)
	cmd.Dir, cmd.Env = w.dir, w.env()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("carrel %s: %v: %s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// start starts the server, without a limit of one token's calls: all sessions have
// the same one.
func (w *world) start() {
	w.Helper()
	w.serve = exec.Command(w.binary, "serve", "--tokens", "--addr", "127.0.0.1:0", "--tools", "all", "--tool-names", "dotted",
		"--project", "default", "--limit-rate", "-1", "--limit-requests", "-1")
	w.serve.Dir, w.serve.Env = w.dir, w.env()
	stderr, err := w.serve.StderrPipe()
	if err == nil {
		err = w.serve.Start()
	}
	if err != nil {
		w.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		buf := make([]byte, 4096)
		for {
			n, err := stderr.Read(buf)
			text.Write(buf[:n])
			if at := regexp.MustCompile(`on (http://[^/]+)/mcp`).FindSubmatch(text.Bytes()); at != nil {
				said <- string(at[1])
				io.Copy(&w.log, stderr)
				return
			}
			if err != nil {
				said <- ""
				return
			}
		}
	}()
	if w.url = <-said; w.url == "" {
		w.Fatal("carrel serve does not say where it is")
	}
	w.Cleanup(func() { w.kill(syscall.SIGKILL) })
}

// kill ends the server and waits for it.
func (w *world) kill(s syscall.Signal) {
	if w.serve.ProcessState != nil {
		return
	}
	w.serve.Process.Signal(s)
	w.serve.Wait()
}

// resident is the memory that the server has now, in bytes.
func (w *world) resident() int64 {
	w.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.serve.Process.Pid))
	if err != nil {
		w.Skipf("the memory of a process is not known here: %v", err)
	}
	at := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	n, err := strconv.ParseInt(string(at[1]), 10, 64)
	if err != nil {
		w.Fatal(err)
	}
	return n << 10
}
