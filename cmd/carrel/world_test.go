package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// asCarrel makes the test binary run as carrel, so that tests can start other
// processes of it.
const asCarrel = "CARREL_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asCarrel) != "" {
		main()
	}
	os.Exit(m.Run())
}

// world is a directory with a data directory and repositories in it: app, a
// checkout with the files main.go, README.md and pkg/x/x.go, and lib.git, a bare
// repository with lib.go. The test works in it.
type world struct {
	*testing.T
	dir string
}

// env is the environment of a test: nothing of the person who runs it.
func (w *world) env() map[string]string {
	return map[string]string{
		"CARREL_DATA": filepath.Join(w.dir, "data"), "CARREL_WORKSPACE": "", "CARREL_BLOBS": "", "CARREL_PROJECT": "", "CARREL_CONFIG": "", "XDG_DATA_HOME": "", "HOME": w.dir,
		"NO_COLOR": "", "PAGER": "", "LESS": "",
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "A U Thor", "GIT_AUTHOR_EMAIL": "author@example.com",
		"GIT_COMMITTER_NAME": "C O Mitter", "GIT_COMMITTER_EMAIL": "committer@example.com",
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, dir}
	t.Chdir(dir)
	for name, value := range w.env() {
		t.Setenv(name, value)
	}
	w.checkout("app", map[string]string{"main.go": "package main\n\nconst greeting = \"one\"\n", "README.md": "# app\n", "pkg/x/x.go": "package x\n"})
	w.checkout("lib", map[string]string{"lib.go": "package lib\n"})
	w.git(".", "clone", "-q", "--bare", "lib", "lib.git")
	if err := os.RemoveAll("lib"); err != nil {
		t.Fatal(err)
	}
	return w
}

// checkout makes a repository with one commit on main.
func (w *world) checkout(dir string, files map[string]string) {
	w.Helper()
	w.git(".", "-c", "init.defaultBranch=main", "init", "-q", dir)
	for name, text := range files {
		w.write(filepath.Join(dir, name), text)
	}
	w.git(dir, "add", "-A")
	w.git(dir, "commit", "-q", "-m", "first")
}

func (w *world) write(name, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

func (w *world) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// result is what a command line came to.
type result struct {
	stdout, stderr string
	status         int
	err            error
}

// try runs a command line in this process.
func (w *world) try(stdin string, args ...string) result {
	w.Helper()
	var stdout, stderr bytes.Buffer
	err := run(w.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	status := report(&stderr, err)
	return result{stdout.String(), stderr.String(), status, err}
}

// carrel runs a command line that has to succeed, and returns its output.
func (w *world) carrel(args ...string) string {
	w.Helper()
	r := w.try("", args...)
	if r.status != statusOK {
		w.Fatalf("carrel %s: status %d\n%s", strings.Join(args, " "), r.status, r.stderr)
	}
	return r.stdout
}

// fails runs a command line that has to fail, with a kind of error and a text in
// what it prints.
func (w *world) fails(kind workspace.Kind, text string, args ...string) {
	w.Helper()
	r := w.try("", args...)
	if r.status != statusRefused || !strings.HasPrefix(r.stderr, "carrel: ") {
		w.Errorf("carrel %s: got status %d, stderr %q", strings.Join(args, " "), r.status, r.stderr)
	}
	var u refused
	if got := workspace.KindOf(r.err); got != kind && !(kind == "" && errorAs(r.err, &u)) {
		w.Errorf("carrel %s: got %v, of kind %s, want %s", strings.Join(args, " "), r.err, got, kind)
	}
	w.has(r.stderr, text)
}

// misused runs a command line that means nothing.
func (w *world) misused(text string, args ...string) {
	w.Helper()
	r := w.try("", args...)
	if r.status != statusUsage || r.stdout != "" {
		w.Errorf("carrel %s: got status %d, stdout %q, want usage", strings.Join(args, " "), r.status, r.stdout)
	}
	w.has(r.stderr, text)
	w.has(r.stderr, "`carrel")
}

func (w *world) has(got, want string) {
	w.Helper()
	if !strings.Contains(got, want) {
		w.Errorf("got %q, want %q in it", got, want)
	}
}

// decode runs a command line with --json and reads what it prints.
func decode[T any](w *world, args ...string) (v T) {
	w.Helper()
	out := w.carrel(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		w.Fatalf("carrel %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return v
}

// demo registers app and lib.git and makes the workspace /agents/demo, which
// later commands act on.
func (w *world) demo() {
	w.Helper()
	w.carrel("repo", "add", "app")
	w.carrel("repo", "add", "lib.git")
	w.carrel("workspace", "create", "/agents/demo")
	w.Setenv("CARREL_WORKSPACE", "/agents/demo")
}

// moveAway makes a repository disappear from where it is registered.
func (w *world) moveAway(dir string) {
	w.Helper()
	if err := os.Rename(dir, dir+"-elsewhere"); err != nil {
		w.Fatal(err)
	}
}

func TestDataPath(t *testing.T) {
	tests := []struct {
		flag string
		env  map[string]string
		want string
	}{
		{"d", map[string]string{"CARREL_DATA": "/c", "HOME": "/h"}, "/work/d"},
		{"", map[string]string{"CARREL_DATA": "c", "HOME": "/h"}, "/work/c"},
		{"", map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/carrel"},
		{"", map[string]string{"HOME": "/h"}, "/h/.local/share/carrel"},
	}
	for _, tt := range tests {
		c := &cli{dir: "/work", data: tt.flag, getenv: func(name string) string { return tt.env[name] }}
		if got, err := c.dataPath(); err != nil || got != filepath.FromSlash(tt.want) {
			t.Errorf("%q, %v: got %q, %v, want %q", tt.flag, tt.env, got, err, tt.want)
		}
	}
}

// TestProcesses runs carrel as a process of its own.
func TestProcesses(t *testing.T) {
	w := newWorld(t)
	tests := []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"repo", "add", "app"}, 0, ""},
		{[]string{"workspace", "create", "/agents/a"}, 0, ""},
		{[]string{"call", "--workspace", "/agents/a", "writeFile", "path=/repos/app/main.go", "content=one"}, 0, ""},
		{[]string{"commit", "--workspace", "/agents/a", "-m", "one"}, 0, ""},
		{[]string{"commit", "--workspace", "/agents/a", "-m", "one"}, 1, "carrel: git.commit: nothing to commit\n"},
		{[]string{"commit", "--workspace", "/agents/a"}, 2, "carrel: required flag(s) \"message\" not set\nSee `carrel commit --help`.\n"},
	}
	for _, tt := range tests {
		cmd := exec.Command(os.Args[0], tt.args...)
		cmd.Env = append(os.Environ(), asCarrel+"=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != tt.status || stderr.String() != tt.stderr {
			t.Errorf("%v: got status %d, stderr %q, want %d, %q", tt.args, got, stderr.String(), tt.status, tt.stderr)
		}
	}
	w.has(w.carrel("workspace", "list"), "carrel commit")
}
