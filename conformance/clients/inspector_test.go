package clients

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInspector has the MCP Inspector list the tools, and fail if a schema is one
// that other clients have trouble with, list what else there is, and call some tools.
func TestInspector(t *testing.T) {
	for name, serve := range map[string]func(*world) address{
		"stdio":      func(w *world) address { return w.serve(overStdio, underscored) },
		"http":       func(w *world) address { return w.serve(overHTTP, underscored) },
		"http-token": func(w *world) address { return w.serveTokens(overHTTP, underscored) },
		"sse":        func(w *world) address { return w.serve(overSSE, underscored) },
		"sse-token":  func(w *world) address { return w.serveTokens(overSSE, underscored) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := packages(t)
			w := newWorld(t)
			at := serve(w)
			var list struct{ Tools []tool }
			inspect(t, dir, w, at, &list, "--method", "tools/list", "--strict")
			if len(list.Tools) < 20 {
				t.Errorf("only %d tools are listed", len(list.Tools))
			}
			var others struct {
				Prompts           []struct{ Name string }
				Resources         []struct{ URI string }
				ResourceTemplates []struct{ URITemplate string }
			}
			for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
				inspect(t, dir, w, at, &others, "--method", method)
			}
			if len(others.Prompts) != 3 || len(others.ResourceTemplates) != 1 || others.ResourceTemplates[0].URITemplate != template || others.Resources == nil {
				t.Errorf("listed are %+v", others)
			}
			calls := func(tool string, args ...string) (r result) {
				t.Helper()
				more := []string{"--method", "tools/call", "--tool-name", tool}
				for _, a := range args {
					more = append(more, "--tool-arg", a)
				}
				inspect(t, dir, w, at, &r, more...)
				if r.IsError || len(r.Content) == 0 {
					t.Errorf("%s: %+v", tool, r)
				}
				return r
			}
			calls("workspace_create", "path=/agents/demo")
			if r := calls("readFile", "workspace=/agents/demo", "path=/repos/app/main.go"); r.Content[0].Text != files["main.go"] {
				t.Errorf("main.go is read as %+v", r)
			}
			calls("writeFile", "workspace=/agents/demo", "path=/repos/app/new.txt", "content=new")
			calls("git_commit", "workspace=/agents/demo", "message=by hand")
			if got := w.git(w.repo, "show", "--format=%s", "--name-only", "main"); got != "by hand\n\nnew.txt\n" {
				t.Errorf("git has %q", got)
			}
			played.Add(1)
		})
	}
}

// inspect runs the Inspector, which must find nothing wrong, and decodes what it
// prints.
func inspect(t *testing.T, dir string, w *world, at address, out any, more ...string) {
	t.Helper()
	// The launcher is named by its path, since it would run by the node of the host.
	args := []string{filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"), "--cli"}
	if at.Kind == overStdio {
		args = append(append(append(args, more...), "--", at.Command), at.Args...)
	} else {
		args = append(append(args, at.URL, "--transport", string(at.Kind)), more...)
		if at.Token != "" {
			args = append(args, "--header", "Authorization: Bearer "+at.Token)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node(dir), args...)
	cmd.Env = append(os.Environ(), "HOME="+w.dir, "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Dir = w.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", more, err, printed, stderr.String())
	}
	if err := json.Unmarshal(printed, out); err != nil {
		t.Fatalf("%v: %v in %s", more, err, printed)
	}
}
