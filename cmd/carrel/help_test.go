package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// each visits our commands, without those that cobra adds.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, visit)
	}
}

// TestExamples runs every example of every command, each with a data directory
// of its own.
func TestExamples(t *testing.T) {
	w := newWorld(t)
	w.git("app", "branch", "next")
	// The working directory is a repository too, for the examples that name none.
	w.git(".", "-c", "init.defaultBranch=main", "init", "-q")
	w.write("README.md", "hello\n")
	w.git(".", "add", "README.md")
	w.git(".", "commit", "-q", "-m", "first")

	w.write("carrel.yaml", "log-format: json\n")
	w.demo()
	w.carrel("call", "writeFile", "path=/repos/app/main.go", "content=one\n")
	w.addToken("t-4k2m8qrx")
	w.s3Server()

	each((&cli{}).root(), func(cmd *cobra.Command) {
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help %q", cmd.CommandPath(), cmd.Short)
		}
		for example := range strings.Lines(cmd.Example) {
			example, _, _ = strings.Cut(strings.TrimSuffix(example, "\n"), "  #")
			example = strings.TrimSpace(example)
			t.Run(example, func(t *testing.T) {
				w := &world{t, w.dir}
				if err := os.RemoveAll("app/.git/refs/heads/carrel"); err != nil { // work branches of other examples
					t.Fatal(err)
				}
				data := filepath.Join(t.TempDir(), "data")
				if err := os.CopyFS(data, os.DirFS("data")); err != nil {
					t.Fatal(err)
				}
				t.Setenv("CARREL_DATA", data)
				args := words(example)
				if path := strings.Fields(cmd.CommandPath()); strings.Join(args[:len(path)], " ") != cmd.CommandPath() {
					t.Fatalf("an example of %s", cmd.CommandPath())
				}
				do := func() result { return w.try("", args[1:]...) }
				if cmd.Name() == "health" {
					ready := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
					defer ready.Close()
					args[2] = ready.URL
				}
				if cmd.Name() == "serve" {
					do = func() result { return w.interrupted(nil, append(args[1:], "--addr", "127.0.0.1:0")...) }
				}
				r := do()
				if r.status != statusOK {
					t.Errorf("status %d\n%s", r.status, r.stderr)
				}
			})
		}
	})
}

// words splits an example as a shell does, as far as examples go: white space,
// single and double quotes.
func words(line string) []string {
	var all []string
	word, in, any := "", rune(0), false
	for _, r := range line + " " {
		switch {
		case in != 0 && r == in:
			in = 0
		case in != 0:
			word += string(r)
		case r == '\'' || r == '"':
			in, any = r, true
		case r == ' ':
			if any || word != "" {
				all = append(all, word)
			}
			word, any = "", false
		default:
			word += string(r)
		}
	}
	return all
}

func TestHelp(t *testing.T) {
	w := newWorld(t)
	each((&cli{}).root(), func(cmd *cobra.Command) {
		args := strings.Fields(cmd.CommandPath())[1:]
		w.has(w.carrel(append(args, "--help")...), cmd.Example)
	})
	w.has(w.carrel(), "Available Commands:")
	w.has(w.carrel("repo"), "Available Commands:")
	w.has(w.carrel("completion", "bash"), "bash completion")
}

func TestCompletion(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("workspace", "create", "/agents/other")
	w.addToken("t-1")
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"call", "git."}, "git.status\n"},
		{[]string{"repo", "configure", ""}, "app\nlib\n"},
		{[]string{"repo", "configure", "app", "--policy", ""}, "commit-to-main\nbranch\nread-only\n"},
		{[]string{"workspace", "show", "/agents/d"}, "/agents/demo\n"},
		{[]string{"status", "--workspace", "/agents/"}, "/agents/demo\n/agents/other\n"},
		{[]string{"mcp", "--tools", ""}, "core\nall\n"},
		{[]string{"token", "create", "--allow", ""}, "read\nwrite\ncommit\ncreate\nadmin\n"},
		{[]string{"token", "create", "--workspace", "/agents/"}, "/agents/demo\n/agents/other\n"},
		{[]string{"token", "revoke", ""}, "t-1\tof a test\n"},
	}
	for _, tt := range tests {
		w.has(w.carrel(append([]string{"__complete"}, tt.args...)...), tt.want)
	}
}

func TestVersion(t *testing.T) {
	w := newWorld(t)
	v := decode[versionInfo](w, "version")
	if v.Version == "" || !strings.HasPrefix(v.Go, "go1.") || !strings.Contains(v.Platform, "/") {
		t.Errorf("got %+v", v)
	}
	w.has(w.carrel("version"), "carrel "+v.Version)
	want := "carrel v1.2.3 abcdef with changes (go1.26, linux/amd64)"
	if got := (versionInfo{"v1.2.3", "abcdef", true, "go1.26", "linux/amd64"}).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.misused("takes no arguments", "version", "now")
}
