package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"carrel.dev/conformance"
)

// fenced finds the README's blocks of code with their language.
var fenced = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

func blocks(t *testing.T, language string) []string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range fenced.FindAllStringSubmatch(string(readme), -1) {
		if m[1] == language {
			found = append(found, strings.TrimSpace(m[2]))
		}
	}
	if len(found) == 0 {
		t.Fatalf("the README has no block of %s", language)
	}
	return found
}

// hello is what a client says first, and what it asks then.
const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"readme","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"workspace_create","arguments":{"path":"/agents/readme"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"glob","arguments":{"pattern":"/repos/*/README.md"}}}
`

// clone makes a fresh clone of this repository, on a branch.
func clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "carrel")
	for _, args := range [][]string{{"clone", "-q", "--no-local", "..", dir}, {"-C", dir, "checkout", "-q", "-B", "main"}} {
		cmd := exec.Command("git", args...)
		cmd.Env = plain()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// plain is the environment without the traps that the other tests set for git.
func plain() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
}

// run runs a command in a directory, with a data directory of its own, and
// returns what it prints.
func run(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(plain(), "CARREL_DATA="+filepath.Join(t.TempDir(), "data"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// TestReadmeCommands runs every command of the README as it stands there, in this
// checkout: in a clone all of it would be built once more. The tests themselves are
// what is running now.
func TestReadmeCommands(t *testing.T) {
	const dir = ".."
	ran := 0
	for _, block := range blocks(t, "sh") {
		for line := range strings.SplitSeq(block, "\n") {
			args := strings.Fields(line)
			if line == "go test ./..." {
				continue
			}
			ran++
			stdin := ""
			if slices.Contains(args, "mcp") {
				stdin = hello
			}
			out := run(t, dir, stdin, args...)
			if stdin != "" && !strings.Contains(out, "/README.md") {
				t.Errorf("%s does not serve this repository:\n%s", line, out)
			}
		}
	}
	if ran < 3 {
		t.Errorf("only %d commands were run", ran)
	}
}

// TestReadmeConfigurations starts what each client's configuration starts.
func TestReadmeConfigurations(t *testing.T) {
	dir := clone(t)
	binary, err := conformance.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	started := 0
	for _, block := range blocks(t, "json") {
		for _, args := range commands(t, block) {
			started++
			serves(t, dir, binary, args)
		}
	}
	for _, block := range blocks(t, "toml") {
		var args []string
		for line := range strings.SplitSeq(block, "\n") {
			if value, ok := strings.CutPrefix(line, "args = "); ok {
				if err := json.Unmarshal([]byte(value), &args); err != nil {
					t.Fatal(err)
				}
			}
		}
		started++
		serves(t, dir, binary, args)
	}
	for _, block := range blocks(t, "console") {
		if strings.Contains(block, "token create") {
			started++
			servesTokens(t, dir, binary, block)
			continue
		}
		_, command, _ := strings.Cut(block, "/path/to/carrel ")
		started++
		if args := strings.Fields(command); args[0] == "serve" {
			servesURL(t, dir, binary, args)
		} else {
			serves(t, dir, binary, args)
		}
	}
	if started < 8 {
		t.Errorf("only %d configurations were started", started)
	}
}

// commands returns the arguments of each server that a client's JSON names.
func commands(t *testing.T, block string) [][]string {
	t.Helper()
	var config map[string]map[string]struct {
		Command string
		Args    []string
		URL     string
		Headers map[string]string
	}
	if err := json.Unmarshal([]byte(block), &config); err != nil {
		t.Fatalf("%v in\n%s", err, block)
	}
	var list [][]string
	for _, servers := range config {
		for _, s := range servers {
			switch {
			case s.URL == clientURL, s.URL == hostedURL && s.Headers["Authorization"] == "Bearer TOKEN":
			case s.Command != "/path/to/carrel":
				t.Errorf("command %q, url %q", s.Command, s.URL)
			default:
				list = append(list, s.Args)
			}
		}
	}
	return list
}

// serves starts the binary the way a client does, in another directory.
func serves(t *testing.T, repo, binary string, args []string) {
	t.Helper()
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "/path/to/repo", repo)
	}
	out := run(t, t.TempDir(), hello, append([]string{binary}, args...)...)
	if !strings.Contains(out, "/repos/carrel/README.md") {
		t.Errorf("%v does not serve the repository:\n%s", args, out)
	}
}

// clientURL is what the README tells clients to connect to.
const (
	clientURL = "http://127.0.0.1:7717/mcp"
	hostedURL = "https://carrel.example.com/mcp"
)

// served is where a server says that it is reached.
var served = regexp.MustCompile(`http://\S+/mcp`)

// servesTokens runs the commands of a block, the last of which serves, and greets
// the server with the token that one of them has made, and without.
func servesTokens(t *testing.T, repo, binary, block string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	block = strings.NewReplacer("/path/to/carrel", binary, "/path/to/repo", repo, ":7717", "127.0.0.1:0",
		" --url https://carrel.example.com", "").Replace(strings.TrimSpace(block))
	lines := strings.Split(block, "\n")
	token := ""
	for _, line := range lines[:len(lines)-1] {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = t.TempDir(), append(plain(), "CARREL_DATA="+data)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if strings.Contains(line, "token create") {
			token = strings.TrimSpace(string(out))
		}
	}
	serve := strings.Fields(lines[len(lines)-1])
	greets(t, data, serve, "", http.StatusUnauthorized)
	greets(t, data, serve, "Bearer "+token, http.StatusOK)
}

// servesURL starts the server, on any free port, and greets it over HTTP.
func servesURL(t *testing.T, repo, binary string, args []string) {
	t.Helper()
	args = append([]string{binary}, args...)
	for i, a := range args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(a, "/path/to/repo", repo), ":7717", ":0")
	}
	greets(t, filepath.Join(t.TempDir(), "data"), args, "", http.StatusOK)
}

// greets starts a server and greets it over HTTP.
func greets(t *testing.T, data string, args []string, authorization string, want int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(plain(), "CARREL_DATA="+data)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(stderr); !served.MatchString(said) && lines.Scan(); {
		said += lines.Text() + "\n"
	}
	go io.Copy(io.Discard, stderr)
	greeting, _, _ := strings.Cut(hello, "\n")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, served.FindString(said), strings.NewReader(greeting))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != want || want == http.StatusOK && !strings.Contains(string(body), "/repos/") {
		t.Errorf("%v answers %d, %v, %s", args, r.StatusCode, err, body)
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v ends with %v", args, err)
	}
}
