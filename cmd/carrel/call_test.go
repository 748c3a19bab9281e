package main

import (
	"strings"
	"testing"

	"carrel.dev/workspace"
)

func TestCall(t *testing.T) {
	w := newWorld(t)
	w.demo()
	if got, want := w.carrel("call", "readFile", "path=/repos/app/main.go", "limit=1"), "package main\n"; got != want {
		t.Errorf("readFile: got %q, want %q", got, want)
	}
	w.has(w.carrel("call", "git_status"), "2 mounts clean")
	w.has(w.carrel("call", "git.status"), "2 mounts clean")
	w.carrel("call", "edit", `{"path": "/repos/app/main.go", "oldString": "one", "newString": "a=b"}`)
	w.carrel("call", "edit", "path=/repos/app/main.go", "oldString=a=b", "newString={two}", "dryRun=false")
	w.has(w.carrel("call", "readFile", "path=/repos/app/main.go"), `"{two}"`)

	// A text stays a text, whatever it looks like; anything else is JSON.
	w.carrel("call", "writeFile", "path=n", "content=123")
	w.carrel("call", "writeFile", "path=x", "content=true", "executable=true")
	w.has(w.carrel("call", "stat", "path=x"), "mode 100755")
	w.has(w.carrel("call", "readFiles", `paths=["n","x"]`), "123")

	// Bytes come out as they are.
	w.carrel("call", "writeFileBytes", "path=b", "base64=AP8K")
	if got, want := w.carrel("call", "readFileBytes", "path=b"), "\x00\xff\n"; got != want {
		t.Errorf("readFileBytes: got %q, want %q", got, want)
	}
	w.fails("", "must be an array", "call", "readFiles", "paths=n")

	// Every command is a process of its own, and names its workspace.
	w.has(w.carrel("call", "workspace.open", "path=/agents/demo"), "opened workspace /agents/demo")
	w.carrel("call", "workspace.create", "path=/agents/other")
	w.fails("", "there is no such file", "call", "--workspace", "/agents/other", "readFile", "path=n")
	w.fails("", "there is no such file", "call", "readFile", "path=n", "workspace=/agents/other")
	w.fails("", "does not exist", "call", "--workspace", "/agents/none", "readFile", "path=n")
	w.Setenv("CARREL_WORKSPACE", "")
	w.fails("", "no workspace is bound", "call", "readFile", "path=n")
}

func TestCallJSON(t *testing.T) {
	w := newWorld(t)
	w.demo()
	file := decode[struct {
		Text, Path, Workspace string
		TotalLines            int
	}](w, "call", "readFile", "path=/repos/lib/lib.go")
	if file.Text != "package lib\n" || file.Path != "/repos/lib/lib.go" || file.Workspace != "/agents/demo" || file.TotalLines != 1 {
		t.Errorf("readFile: got %+v", file)
	}
	stat := decode[struct{ Kind, Layer string }](w, "call", "stat", "path=/repos/lib/lib.go")
	if stat.Kind != "file" || stat.Layer != "lower" {
		t.Errorf("stat: got %+v", stat)
	}
	first := decode[struct{ Version string }](w, "call", "writeFile", "path=a", "content=<&>", "--key", "k")
	again := decode[struct{ Version string }](w, "call", "--key", "k", "writeFile", "path=a", "content=<&>")
	if first != again {
		t.Errorf("with the same key: got %v, then %v", first, again)
	}
	w.has(w.carrel("call", "readFile", "path=a", "--json"), `"text": "<&>"`)
	w.fails("", "was used for another request", "call", "--key", "k", "writeFile", "path=a", "content=other")
}

func TestCallFiles(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("call", "writeFile", "path=a", "content=@app/README.md")
	if got, want := w.carrel("call", "readFile", "path=a"), "# app\n"; got != want {
		t.Errorf("from a file: got %q, want %q", got, want)
	}
	if r := w.try("from stdin", "call", "writeFile", "path=a", "content=@-"); r.status != 0 {
		t.Fatal(r.stderr)
	}
	if got, want := w.carrel("call", "readFile", "path=a"), "from stdin"; got != want {
		t.Errorf("from stdin: got %q, want %q", got, want)
	}
	w.carrel("call", "writeFile", "path=a", "content=@@b")
	if got, want := w.carrel("call", "readFile", "path=a"), "@b"; got != want {
		t.Errorf("with two @: got %q, want %q", got, want)
	}
	w.write("binary", "\xff\x00")
	w.fails(workspace.Invalid, "not UTF-8", "call", "writeFile", "path=a", "content=@binary")
	w.fails(workspace.Invalid, "not UTF-8", "call", "writeFile", "path=a", "content=\xff")
	w.fails(workspace.Invalid, "no such file", "call", "writeFile", "path=a", "content=@missing")
}

func TestCallMisused(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.misused("name a tool", "call")
	w.misused("unknown tool", "call", "git.stauts")
	w.misused("git.status", "call", "git.stauts")
	w.misused("not JSON", "call", "stat", "{path}")
	w.misused("not key=value", "call", "stat", "path")
	w.misused("given twice", "call", "stat", "path=a", "path=b")
	w.fails("", "replaceAll", "call", "edit", "path=a", "oldString=a", "newString=b", "replace_all=true")
	help := w.carrel("call", "--help")
	for _, want := range []string{"git.commit", "workspace.configure", "key=@-"} {
		if !strings.Contains(help, want) {
			t.Errorf("help does not name %s", want)
		}
	}
}
