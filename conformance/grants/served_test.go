package grants

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel.dev/conformance"
)

// patience is how long anything may take.
const patience = time.Minute

// program is the real one, built by the first test that needs it.
var program struct {
	once   sync.Once
	dir    string
	binary string
	err    error
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		defer func() { os.RemoveAll(program.dir) }()
		return m.Run()
	}())
}

func build() {
	if program.dir, program.err = os.MkdirTemp("", "grants"); program.err == nil {
		program.binary, program.err = conformance.Build(program.dir)
	}
}

// served is a data directory, with hidden things or without, that the real program
// serves over HTTP to whoever has a token.
type served struct {
	*testing.T
	hides        bool
	dir, url     string
	git, secrets *conformance.Repos
	wide, other  *client // of who may do everything in the project, and in another one
}

func newServed(t *testing.T, hides bool) *served {
	t.Helper()
	program.once.Do(build)
	if program.err != nil {
		t.Fatal(program.err)
	}
	dir := t.TempDir()
	s := &served{
		T: t, hides: hides, dir: dir,
		git: &conformance.Repos{Dir: filepath.Join(dir, "granted")}, secrets: &conformance.Repos{Dir: filepath.Join(dir, "secret")},
	}
	for _, name := range []string{"app", "lib2", "team/tool", "outer"} {
		s.add(s.git, "default", name, "granted")
	}
	s.add(s.git, "other", "app", "another project's")
	if hides {
		for _, name := range []string{"secret", "secret2", "secret3", "team", "outer/inner"} {
			s.add(s.secrets, "default", name, "hush")
		}
	}
	s.serve()
	s.wide = s.begin("/mcp", s.token("--project", "default", "--allow", "admin"))
	s.other = s.begin("/mcp", s.token(foreign...))
	s.work()
	return s
}

// of is what is served as a subtest knows it.
func (s *served) of(t *testing.T) *served {
	c := *s
	c.T = t
	return &c
}

func (s *served) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// add makes a repository, whose files have a word, and registers it.
func (s *served) add(g *conformance.Repos, project, name, word string) {
	s.Helper()
	var edits []conformance.Edit
	for _, p := range []string{"a", "d/x", "d/y", "own", "s", "vendor/secret/own", "vendor/secret/x", "inner/x"} {
		edits = append(edits, conformance.Edit{Path: p, Mode: "100644", Content: []byte(word + " " + name + "\n")})
	}
	s.must(os.MkdirAll(g.Dir, 0o755))
	disk := project + "-" + strings.ReplaceAll(name, "/", "-")
	s.must(g.Create(s.Context(), disk, false, edits))
	s.carrel("repo", "add", "--project", project, g.Path(disk), name)
}

// work does what was done before the others come.
func (s *served) work() {
	s.Helper()
	for _, c := range []*client{s.wide, s.other} {
		c.do("workspace.create", `{"path":"`+mine+`"}`)
	}
	s.other.do("writeFile", `{"path":"/workspace/notes","content":"another project's\n"}`)
	s.wide.do("workspace.configure", `{"mounts":{"/side":{"repoPath":"/repos/app","policy":"branch"}}}`)
	for _, p := range []string{"/workspace/notes", "/repos/app/a", "/repos/app/added", "/side/added", "/repos/team/tool/a"} {
		s.wide.do("writeFile", `{"path":"`+p+`","content":"granted work\n"}`)
	}
	s.wide.do("deleteFile", `{"path":"/repos/app/d/x"}`)
	if !s.hides {
		return
	}
	s.wide.do("workspace.configure", `{"mounts":{
		"/vendor/secret":{"repoPath":"/repos/secret","policy":"branch"}, "/repos/app/vendor/secret":{"repoPath":"/repos/secret","policy":"branch"},
		"/side/nest":{"repoPath":"/repos/secret2","policy":"read-only"}, "/repos/lib2":{"repoPath":"/repos/secret2","policy":"branch"}}}`)
	for _, p := range []string{"/repos/secret", "/vendor/secret", "/repos/app/vendor/secret", "/repos/lib2", "/repos/team", "/repos/outer/inner"} {
		s.wide.do("writeFile", `{"path":"`+p+`/s","content":"hushed change\n"}`)
		s.wide.do("writeFile", `{"path":"`+p+`/added","content":"hushed work\n"}`)
		s.wide.do("deleteFile", `{"path":"`+p+`/own"}`)
	}
	for _, id := range []string{theirs, mine + "/theirs", "/agents/dead"} {
		s.wide.do("workspace.create", `{"path":"`+id+`"}`)
		s.wide.do("writeFile", `{"workspace":"`+id+`","path":"/workspace/theirs","content":"hushed\n"}`)
		s.wide.do("writeFile", `{"workspace":"`+id+`","path":"/repos/app/a","content":"hushed\n"}`)
	}
	s.wide.do("workspace.delete", `{"path":"/agents/dead","discard":true}`)
	s.wide.do("workspace.open", `{"path":"`+mine+`","rebind":true}`)
}

func (s *served) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program.binary, args...)
	cmd.Dir = s.git.Dir // no repository
	data := filepath.Join(s.dir, "data")
	cmd.Env = []string{"HOME=" + data, "CARREL_DATA=" + data, "PATH=", "TMPDIR=" + os.TempDir()}
	return cmd
}

// carrel runs a command and returns what it printed.
func (s *served) carrel(args ...string) string {
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

func (s *served) token(flags ...string) string {
	s.Helper()
	return s.carrel(append([]string{"token", "create"}, flags...)...)
}

// serve starts the server, which the end of the test stops.
func (s *served) serve() {
	s.Helper()
	free := httptest.NewServer(http.NotFoundHandler())
	addr := free.Listener.Addr().String()
	free.Close()
	s.url = "http://" + addr
	cmd := s.command("serve", "--addr", addr, "--tokens", "--tools", "all", "--limit-rate", "-1")
	var said bytes.Buffer
	cmd.Stderr = &said
	s.must(cmd.Start())
	s.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		dead := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer dead.Stop()
		if err := cmd.Wait(); err != nil || strings.Contains(said.String(), "panic") {
			s.Errorf("carrel serve: %v: %.4000s", err, &said)
		}
		for _, g := range []*conformance.Repos{s.git, s.secrets} {
			if err := g.Check(context.Background()); err != nil {
				s.Error(err)
			}
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		res, err := http.Get(s.url + "/readyz")
		if err == nil {
			res.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			s.Fatal("carrel serve does not serve")
		}
	}
}
