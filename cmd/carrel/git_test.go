package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

func TestStatusDiffCommitLog(t *testing.T) {
	w := newWorld(t)
	w.demo()
	checkedOut := w.git("app", "status", "--porcelain=v2", "--branch")
	w.carrel("call", "writeFile", "path=/repos/app/main.go", "content=package main\n\nconst greeting = \"two\"\n")
	w.carrel("call", "writeFile", "path=/repos/lib/new.go", "content=package lib\n")
	w.carrel("call", "writeFile", "path=notes.md", "content=private\n")

	status := w.carrel("status")
	w.has(status, "  M /repos/app/main.go\n")
	w.has(status, "  A /repos/lib/new.go\n")
	w.has(status, "  A /workspace/notes.md\n")
	type statusInfo struct{ Mounts []struct{ Path string } }
	if got := decode[statusInfo](w, "status", "--scope", "/repos/app").Mounts; len(got) != 1 || got[0].Path != "/repos/app" {
		t.Errorf("status of a scope: got %v", got)
	}

	w.has(w.carrel("diff", "/repos/app"), "-const greeting = \"one\"\n+const greeting = \"two\"\n")
	if got := w.carrel("diff", "/repos/app", "--context", "0"); strings.Contains(got, "\n package main") {
		t.Errorf("diff without context: got\n%s", got)
	}
	diff := decode[struct {
		Text  string
		Files []struct{ Path string }
	}](w, "diff", "--scope", "/repos/lib")
	if len(diff.Files) != 1 || !strings.Contains(diff.Text, "+package lib") {
		t.Errorf("diff --json: got %+v", diff)
	}

	w.fails("", "carrel: git.commit: the changes span 2 mounts", "commit", "-m", "both")
	w.misused("message", "commit")
	w.misused("NAME <EMAIL>", "commit", "-m", "x", "--author", "Ann")
	commit := decode[struct{ Branch, Commit string }](w, "commit", "-m", "greet twice", "--scope", "/repos/app",
		"--author", "Ann <ann@example.com>", "--key", "k1", "/repos/app/main.go")
	again := decode[struct{ Branch, Commit string }](w, "commit", "-m", "greet twice", "--scope", "/repos/app",
		"--author", "Ann <ann@example.com>", "--key", "k1", "/repos/app/main.go")
	if commit != again {
		t.Errorf("with the same key: got %v, then %v", commit, again)
	}
	if got, want := w.git("app", "log", "-1", "--format=%H %an %ae %s", commit.Branch), commit.Commit+" Ann ann@example.com greet twice"; got != want {
		t.Errorf("commit: got %q, want %q", got, want)
	}
	if got := w.git("app", "status", "--porcelain=v2", "--branch"); got != checkedOut {
		t.Errorf("the checkout changed: got %s, want %s", got, checkedOut)
	}

	w.has(w.carrel("log", "--scope", "/repos/app", "-n", "1"), "    greet twice\n")
	log := decode[struct{ Commits []struct{ OID string } }](w, "log", "/repos/app/main.go")
	if got := len(log.Commits); got != 2 || log.Commits[0].OID != commit.Commit {
		t.Errorf("log: got %+v", log)
	}
	w.has(w.carrel("log"), "    first\n") // of lib, the only one with changes
	w.carrel("revert", "/repos/lib")
	w.fails("", "needs scope", "log")
}

func TestRevert(t *testing.T) {
	w := newWorld(t)
	w.demo()
	for _, p := range []string{"/repos/app/main.go", "/repos/app/README.md", "/repos/lib/lib.go"} {
		w.carrel("call", "writeFile", "path="+p, "content=changed\n")
	}
	want := "reverted /repos/app: dropped 2 private changes\nreverted /repos/lib/lib.go: dropped 1 private change\n"
	if d := cmp.Diff(want, w.carrel("revert", "/repos/app", "/repos/lib/lib.go")); d != "" {
		t.Errorf("revert (-want +got):\n%s", d)
	}
	w.has(w.carrel("status"), "2 mounts clean")
	w.misused("single PATH", "revert", "--key", "k", "a", "b")
	w.misused("name a PATH", "revert")
}

// TestHints checks that what to do is said in commands, not in tools.
func TestHints(t *testing.T) {
	w := newWorld(t)
	w.fails(workspace.Unbound, "`carrel workspace list` shows which there are", "status")
	w.carrel("repo", "add", "app")
	w.fails("", "Create it with `carrel workspace create`", "status", "--workspace", "/agents/none")
	w.fails(workspace.Invalid, "/agents/", "status", "--workspace", "none")
	w.demo()
	w.carrel("call", "writeFile", "path=/repos/app/new", "content=x")
	w.fails("", "Commit with `carrel commit` what belongs to a repository; pass --discard to lose what is left.", "workspace", "delete", "/agents/demo")
	w.has(w.carrel("workspace", "delete", "/agents/demo", "--discard"), "deleted workspace /agents/demo")
	w.fails("", "was deleted", "status")
	w.misused("unknown command \"stauts\"", "stauts")
	w.misused("Did you mean `carrel status`?", "stauts")
	w.misused("unknown command \"lst\" for \"carrel repo\"", "repo", "lst")
	w.misused("unknown flag: --wrkspace", "status", "--wrkspace", "x")
	w.misused("--log-level", "status", "--log-level", "loud")
	w.misused("--log-format", "status", "--log-format", "xml")
}

func TestInCommands(t *testing.T) {
	tests := []struct{ in, want string }{
		{"Look with `git.diff`, or `revert` it.", "Look with `carrel diff`, or `carrel revert` it."},
		{"Use `readFile`.", "Use `carrel call readFile`."},
		{"argument `path` is missing", "argument `path` is missing"},
		{"Run `carrel repo add`.", "Run `carrel repo add`."},
	}
	for _, tt := range tests {
		if got := inCommands(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestColours(t *testing.T) {
	tests := []struct {
		pick func(string) colour
		line string
		want colour
	}{
		{statusColour, "/repos/app (branch on main at 0123456789)", bold},
		{statusColour, "  A /repos/app/new", green},
		{statusColour, "  M /repos/app/old", yellow},
		{statusColour, "  D /repos/app/gone", red},
		{statusColour, "  M /repos/app/old [conflict: changed on the branch since]", red},
		{statusColour, "2 mounts clean", ""},
		{diffColour, "diff --git a/x b/x", bold},
		{diffColour, "+++ b/x", bold},
		{diffColour, "@@ -1 +1 @@", cyan},
		{diffColour, "+new", green},
		{diffColour, "-old", red},
		{diffColour, " same", ""},
		{logColour, "0123 2026-01-02T15:04:05Z Ann <ann@example.com>", yellow},
		{logColour, "    message", ""},
		{logColour, "", ""},
	}
	for _, tt := range tests {
		if got := tt.pick(tt.line); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.line, got, tt.want)
		}
	}
}
