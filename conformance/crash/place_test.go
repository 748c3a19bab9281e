package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/conformance"
)

// place is a data directory with its repositories, on which processes of the real
// program work.
type place struct {
	t      *testing.T
	binary string
	home   string // of the processes, empty
	data   string
	git    *conformance.Repos
	ends   []func() // run at the end, once git has looked
}

// newPlace makes a place without repositories. When the test ends, git finds
// nothing wrong and no lock in those that were made.
func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{
		t: t, binary: built(t), home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"),
		git: &conformance.Repos{Dir: filepath.Join(dir, "repos")},
	}
	for _, d := range []string{p.home, p.git.Dir} {
		must(t, os.Mkdir(d, 0o755))
	}
	t.Cleanup(func() {
		if err := p.git.Check(context.Background()); err != nil {
			t.Error(err)
		}
		for _, end := range p.ends {
			end()
		}
	})
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repo makes a repository of files and registers it under its name.
func (p *place) repo(name string, checkout bool, files map[string]string) {
	p.t.Helper()
	var edits []conformance.Edit
	for path, content := range files {
		edits = append(edits, conformance.Edit{Path: path, Mode: "100644", Content: []byte(content)})
	}
	must(p.t, p.git.Create(p.t.Context(), name, checkout, edits))
	_, err := p.run("repo", "add", p.git.Path(name), name)
	must(p.t, err)
}

// command is the program on the data directory. It has no git, which it does not
// need.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...)
	cmd.Dir = p.home
	cmd.Env = []string{"HOME=" + p.home, "CARREL_DATA=" + p.data, "PATH=" + p.home, "TMPDIR=" + os.TempDir()}
	return cmd
}

// run runs a command to its end and returns what it printed.
func (p *place) run(args ...string) ([]byte, error) {
	cmd := p.command(args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("carrel %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return out, nil
}

// process starts a `carrel mcp`.
func (p *place) process() *conformance.Pipe {
	p.t.Helper()
	s, err := conformance.Dial(p.t.Context(), p.command("mcp", "--project", "default", "--tools", "all"), "crash")
	must(p.t, err)
	return s
}

// sound has the program look for damage. Nobody writes.
func (p *place) sound() {
	p.t.Helper()
	if out, err := p.run("fsck"); err != nil {
		p.t.Errorf("%v: %s", err, out)
	}
}

// record is a record of a stream, as far as it matters here.
type record struct {
	Seq       int
	Type, Key string
}

// records returns a stream's records.
func (p *place) records(workspace string) ([]record, error) {
	out, err := p.run("events", "--json", "--workspace", workspace)
	if err != nil {
		return nil, err
	}
	var list []record
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var r record
		if err := dec.Decode(&r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// lines is what git prints, by lines.
func (p *place) lines(repo string, args ...string) ([]string, error) {
	out, err := p.git.Git(p.t.Context(), repo, args...)
	text := strings.TrimRight(string(out), "\n")
	if text == "" || err != nil {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

// args are the arguments of a tool.
type args map[string]any

// call is a tool call.
type call struct {
	Tool string
	Args args
	Key  string
}

// refusal is a call that a tool refused.
type refusal struct{ code, text string }

func (r *refusal) Error() string { return r.code + ": " + r.text }

// code is the code of a refusal, "" for a call that succeeded, "gone" for a
// process that did not answer.
func code(err error) string {
	var r *refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &r):
		return r.code
	}
	return "gone"
}

// answer makes a call and decodes its facts, if facts is not nil.
func answer(ctx context.Context, s conformance.Session, c call, facts any) (conformance.Result, error) {
	b, err := json.Marshal(c.Args)
	if err != nil {
		return conformance.Result{}, err
	}
	r, err := s.Call(ctx, conformance.Call{Tool: c.Tool, Args: b, Key: c.Key})
	if err == nil && r.IsError {
		err = &refusal{r.Code(), r.Text(0)}
	}
	if err != nil {
		return r, fmt.Errorf("%s %.200s: %w", c.Tool, b, err)
	}
	if facts != nil {
		err = json.Unmarshal(r.Facts(), facts)
	}
	return r, err
}

// try makes a call whose facts are all that matters.
func try(ctx context.Context, s conformance.Session, c call, facts any) error {
	_, err := answer(ctx, s, c, facts)
	return err
}

// mostTries is how often a commit waits for a branch that others are busy with.
const mostTries = 10

// press makes a commit, and again while somebody else holds the branch's lock:
// with many that commit at once, one may not get it in time. A lock that nobody
// removes stays in the way to the end.
func press(ctx context.Context, s conformance.Session, c call, facts any) error {
	for try := 1; ; try++ {
		_, err := answer(ctx, s, c, facts)
		if code(err) != "unavailable" || !strings.Contains(err.Error(), "the lock of") || try == mostTries {
			return err
		}
	}
}

// ask makes a call that must succeed.
func ask(t *testing.T, s conformance.Session, c call, facts any) {
	t.Helper()
	must(t, try(t.Context(), s, c, facts))
}

// version is the version of the file at a path, "" if nothing is there. The
// session has seen that then, and writes from it.
func version(ctx context.Context, s conformance.Session, workspace, path string) (string, error) {
	var facts struct{ Version string }
	err := try(ctx, s, call{Tool: "readFile", Args: args{"workspace": workspace, "path": path, "limit": 1}}, &facts)
	if code(err) == "not_exist" {
		return "", nil
	}
	return facts.Version, err
}
