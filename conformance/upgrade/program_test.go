package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/conformance"
)

// program is a version of Carrel with a data directory.
type program struct {
	t            *testing.T
	binary, data string
	home         string
}

func newProgram(t *testing.T, binary, data string) *program {
	t.Helper()
	return &program{t, binary, data, t.TempDir()}
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), p.binary, args...)
	cmd.Dir = p.home
	cmd.Env = []string{"HOME=" + p.home, "CARREL_DATA=" + p.data, "PATH=" + p.home, "TMPDIR=" + os.TempDir()}
	return cmd
}

// run runs a command to its end and returns what it printed.
func (p *program) run(args ...string) []byte {
	p.t.Helper()
	cmd := p.command(args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("carrel %s: %v: %s", strings.Join(args, " "), err, said.String())
	}
	return out
}

// session starts a process that serves one client.
func (p *program) session() *conformance.Pipe {
	p.t.Helper()
	s, err := conformance.Dial(p.t.Context(), p.command("mcp", "--project", "default", "--tools", "all"), "upgrade")
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// records are the types of a stream's records, in order.
func (p *program) records(workspace string) []string {
	p.t.Helper()
	dec := json.NewDecoder(bytes.NewReader(p.run("events", "--json", "--workspace", workspace)))
	types := []string{}
	for dec.More() {
		var r struct {
			Seq  int
			Type string
		}
		if err := dec.Decode(&r); err != nil {
			p.t.Fatal(err)
		}
		types = append(types, fmt.Sprint(r.Seq, " ", r.Type))
	}
	return types
}

// git runs git in a managed repository.
func (p *program) git(repo string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.repo(repo)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *program) repo(name string) string { return filepath.Join(p.data, "repos", name+".git") }

// client is a session whose calls must succeed.
type client struct {
	t *testing.T
	*conformance.Pipe
}

// call calls a tool and returns the result's facts. Arguments are names and values
// in turn.
func (c client) call(tool string, args ...any) map[string]any {
	c.t.Helper()
	r := c.try(tool, "", args...)
	if r.IsError {
		c.t.Fatalf("%s %v: %s: %s", tool, args, r.Code(), r.Text(0))
	}
	facts := map[string]any{}
	if err := json.Unmarshal(r.Facts(), &facts); err != nil {
		c.t.Fatal(err)
	}
	return facts
}

func (c client) try(tool, key string, args ...any) conformance.Result {
	c.t.Helper()
	r, err := c.Call(context.Background(), conformance.Call{Tool: tool, Args: object(c.t, args...), Key: key})
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, args, err)
	}
	return r
}

func object(t *testing.T, args ...any) json.RawMessage {
	t.Helper()
	m := map[string]any{}
	for i := 0; i+1 < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
