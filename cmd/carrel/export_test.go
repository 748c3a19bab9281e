package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/cmd/carrel/export"
	"carrel.dev/workspace"
)

func TestExport(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("main.go", "app/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", "app/out"); err != nil {
		t.Fatal(err)
	}
	w.git("app", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(w.dir, "lib.git"), "vendor/lib")
	w.write("app/run.sh", "#!/bin/sh\n")
	if err := os.Chmod("app/run.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	w.git("app", "add", "-A")
	w.git("app", "commit", "-q", "-m", "links")
	w.demo()
	w.carrel("call", "writeFile", "path=/repos/app/main.go", "content=changed\n")
	w.carrel("call", "deleteFile", "path=/repos/app/README.md")
	w.carrel("call", "writeFile", "path=notes.md", "content=private\n")

	// The oracle is a checkout by git of what the workspace shows.
	if got, want := w.carrel("export", "--mount", "/repos/app", "out/app"), "6 written, 0 removed, 0 unchanged\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.carrel("commit", "-m", "changed", "--scope", "/repos/app")
	branch := w.git("app", "for-each-ref", "--format=%(refname:short)", "refs/heads/carrel/")
	w.git(".", "clone", "-q", "-b", branch, "app", "oracle")
	if d := cmp.Diff(w.tree("oracle"), w.tree("out/app")); d != "" {
		t.Errorf("export (-git +carrel):\n%s", d)
	}

	report := decode[export.Report](w, "export", "out/all")
	if want := (export.Report{Written: 8}); report != want {
		t.Errorf("all: got %+v, want %+v", report, want)
	}
	if got, want := w.read("out/all/workspace/notes.md"), "private\n"; got != want {
		t.Errorf("scratch: got %q, want %q", got, want)
	}
	if d := cmp.Diff(w.tree("oracle"), w.tree("out/all/repos/app")); d != "" {
		t.Errorf("export of all (-git +carrel):\n%s", d)
	}
	w.carrel("call", "writeFile", "path=notes.md", "content=more\n")
	if report := decode[export.Report](w, "export", "out/all"); report != (export.Report{Written: 1, Unchanged: 7}) {
		t.Errorf("again: got %+v", report)
	}

	w.write("out/all/workspace/notes.md", "mine\n")
	w.fails(workspace.Conflict, "\n  workspace/notes.md\nNothing was written.", "export", "out/all")
	w.carrel("export", "out/all", "--force")
	if got, want := w.read("out/all/workspace/notes.md"), "more\n"; got != want {
		t.Errorf("forced: got %q, want %q", got, want)
	}
	w.fails(workspace.Exist, "was not made by an export", "export", "app")
	w.fails(workspace.Conflict, "holds an export of /repos/app of /agents/demo", "export", "out/app")
	w.fails(workspace.Invalid, "The mounts are: /repos/app, /repos/lib.", "export", "--mount", "/repos/none", "out/none")
	if _, err := os.Lstat("out/none"); err == nil {
		t.Error("a refused export made its directory")
	}
	w.misused("one DIR", "export")
}

// tree lists what a directory holds without git's and the export's own files:
// contents, targets and modes.
func (w *world) tree(dir string) map[string]string {
	w.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, dir)
		if err != nil || d.Name() == ".git" && d.IsDir() {
			return filepath.SkipDir
		}
		if d.Name() == export.Manifest {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[rel] = info.Mode().String()
		switch d.Type() {
		case os.ModeSymlink:
			target, err := os.Readlink(name)
			files[rel] += " " + target
			return err
		case 0:
			files[rel] += " " + w.read(name)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return files
}
