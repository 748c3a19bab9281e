package mcpwire_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"carrel.dev/server"
	"carrel.dev/server/mcpwire"
	"carrel.dev/workspace"
)

// listed is what tools/list says of a tool.
type listed struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]*bool
}

func (r *raw) list() ([]listed, int) {
	r.t.Helper()
	m := r.ask("tools/list", `{}`)
	var result struct{ Tools []listed }
	if err := json.Unmarshal(m.Result, &result); err != nil {
		r.t.Fatal(err)
	}
	return result.Tools, len(m.Result)
}

func TestSpellingFollowsTheClient(t *testing.T) {
	p := newProject(t, map[string]string{"a": "a\n"})
	tests := []struct {
		names, client string
		underscore    bool
		host          bool
	}{
		{"", "claude-ai", true, true},
		{"", "Claude Code", true, true},
		{"auto", "cursor-vscode", true, true},
		{"auto", "Visual Studio Code", true, true},
		{"auto", "Visual-Studio-Code - Insiders", true, true},
		{"auto", "codex_mcp_client", true, true},
		{"auto", "mcp", true, true},
		{"auto", "JetBrains/IDEA", true, true},
		{"auto", "MCP", false, false},
		{"auto", "mcp-inspector", false, false},
		{"auto", "precursor", false, false},
		{"auto", "vibe", false, false},
		{"auto", "example", false, false},
		{"auto", "", false, false},
		{"dotted", "claude-ai", false, true},
		{"underscore", "example", true, false},
	}
	for _, tt := range tests {
		t.Run(tt.names+" "+tt.client, func(t *testing.T) {
			r := connect(t, &mcpwire.Config{Project: p, Names: tt.names})
			instructions := r.initialize(tt.client)
			name := map[bool]string{false: "git.commit", true: "git_commit"}[tt.underscore]
			if !strings.Contains(instructions, "`"+name+"`") {
				t.Errorf("the instructions do not name %s:\n%s", name, instructions)
			}
			tools, _ := r.list()
			found := false
			for _, l := range tools {
				if (l.OutputSchema == nil) != (tt.host || l.Title == "readFile" || l.Title == "git.diff") {
					t.Errorf("%s: output schema %s", l.Name, l.OutputSchema)
				}
				found = found || l.Name == name && l.Title == "git.commit"
			}
			if !found {
				t.Errorf("%s is not listed: %v", name, tools)
			}
			r.ok("workspace.create", `{"path":"/agents/a"}`)
			for _, spelling := range []string{"git.status", "git_status"} {
				if got := r.ok(spelling, `{}`).StructuredContent; (got == nil) != tt.host {
					t.Errorf("%s: structured content %s", spelling, got)
				}
			}
		})
	}
}

func TestAnnotationsAndSchemas(t *testing.T) {
	p := newProject(t, map[string]string{"a": "a\n"})
	r := connect(t, &mcpwire.Config{Project: p, Tools: string(server.All)})
	r.initialize("example")
	tools, _ := r.list()
	for _, l := range tools {
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if l.Annotations[hint] == nil {
				t.Errorf("%s: %s is not set", l.Name, hint)
			}
		}
		if *l.Annotations["openWorldHint"] {
			t.Errorf("%s reaches out", l.Name)
		}
		schema := string(l.InputSchema)
		if own := strings.HasPrefix(l.Name, "workspace."); !own && !strings.Contains(schema, `"workspace":{`) {
			t.Errorf("%s takes no workspace: %s", l.Name, schema)
		}
		if regexp.MustCompile(`"type":\[|"null"|\$ref|anyOf|oneOf`).MatchString(schema + string(l.OutputSchema)) {
			t.Errorf("%s: the schema has a union: %s", l.Name, schema)
		}
	}
	bound := connect(t, &mcpwire.Config{Project: p, Workspace: "/agents/a"})
	bound.initialize("example")
	tools, _ = bound.list()
	for _, l := range tools {
		if strings.Contains(string(l.InputSchema), `"workspace"`) {
			t.Errorf("%s takes a workspace on a bound endpoint: %s", l.Name, l.InputSchema)
		}
		if l.Name == "workspace.create" && strings.Contains(string(l.InputSchema), `"required"`) {
			t.Errorf("workspace.create requires something: %s", l.InputSchema)
		}
	}
}

// What a host puts before every conversation has to be small.
func TestListSize(t *testing.T) {
	p := newProject(t, map[string]string{"a": "a\n"})
	for _, tt := range []struct {
		client string
		most   int
	}{{"claude-ai", 11 << 10}, {"example", 17 << 10}} {
		r := connect(t, &mcpwire.Config{Project: p})
		instructions := r.initialize(tt.client)
		if n := strings.Count(instructions, "\n") + 1; n > 10 {
			t.Errorf("%d lines of instructions:\n%s", n, instructions)
		}
		tools, size := r.list()
		for _, l := range tools {
			t.Logf("%6d input %5d output %5d  %s", len(l.Description), len(l.InputSchema), len(l.OutputSchema), l.Name)
		}
		t.Logf("%s: %d bytes of at most %d", tt.client, size, tt.most)
		if size > tt.most {
			t.Errorf("tools/list has %d bytes for %s, at most %d are allowed", size, tt.client, tt.most)
		}
	}
}

func TestInstructions(t *testing.T) {
	p := newProject(t, map[string]string{"a": "a\n"})
	tests := []struct {
		name  string
		cfg   mcpwire.Config
		says  []string
		never []string
	}{
		{"unbound", mcpwire.Config{Notes: []string{"lib is at /repos/lib-2."}}, []string{"/repos/app (commits land on main)", "lib is at /repos/lib-2.", "`workspace.open`"}, nil},
		{"repos given", mcpwire.Config{Repos: []workspace.Repo{{Path: "/repos/lib", Branch: "dev", Policy: workspace.ReadOnly}}}, []string{"/repos/lib (dev, read-only)."}, []string{"/repos/app"}},
		{"bound", mcpwire.Config{Workspace: "/agents/a"}, []string{"/agents/a", "`workspace.create`"}, []string{"workspace.open"}},
		{"notes about tools that are not there", mcpwire.Config{Notes: []string{"Use `stat`.\nOr not."}}, []string{"Or not."}, []string{"stat"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Project = p
			got := connect(t, &tt.cfg).initialize("example")
			for _, s := range append(tt.says, "/workspace is private scratch", "see the machine's disk") {
				if !strings.Contains(got, s) {
					t.Errorf("the instructions do not say %q:\n%s", s, got)
				}
			}
			for _, s := range tt.never {
				if strings.Contains(got, s) {
					t.Errorf("the instructions say %q:\n%s", s, got)
				}
			}
			if strings.Count(got, "\n") >= 10 {
				t.Errorf("more than ten lines:\n%s", got)
			}
		})
	}
}
