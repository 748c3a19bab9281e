package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

func errorAs[T error](err error, target *T) bool { return errors.As(err, target) }

type repos struct{ Repos []repoInfo }

func TestRepos(t *testing.T) {
	w := newWorld(t)
	app, lib := filepath.Join(w.dir, "app"), filepath.Join(w.dir, "lib.git")
	w.fails(workspace.NotExist, "there is no data directory at "+filepath.Join(w.dir, "data"), "repo", "list")
	if _, err := os.Lstat("data"); err == nil {
		t.Error("a command that registers nothing made a data directory")
	}

	w.has(w.carrel("repo", "add", "app"), "added /repos/app (branch on main, from "+app+") in the project default")
	w.carrel("repo", "add", "lib.git#main", "library")
	w.carrel("repo", "create", "notes")
	want := repos{[]repoInfo{
		{"/repos/app", app, false, "main", "branch"},
		{"/repos/library", lib, false, "main", "commit-to-main"},
		{"/repos/notes", "notes", true, "main", "commit-to-main"},
	}}
	if d := cmp.Diff(want, decode[repos](w, "repo", "list")); d != "" {
		t.Errorf("repos (-want +got):\n%s", d)
	}
	w.has(w.carrel("repo", "list"), "/repos/notes    main    commit-to-main  notes (managed)\n")

	before := w.carrel("events")
	w.carrel("repo", "add", "app") // repeating it is harmless
	if got := w.carrel("events"); got != before {
		t.Errorf("repeating appended:\n%s", got)
	}

	w.git("lib.git", "branch", "next")
	w.carrel("repo", "configure", "library", "--branch", "next", "--policy", "read-only")
	got := decode[repoInfo](w, "repo", "configure", "library", "--policy", "branch")
	if want := (repoInfo{"/repos/library", lib, false, "next", "branch"}); got != want {
		t.Errorf("configured: got %+v, want %+v", got, want)
	}
	w.carrel("repo", "add", "library=lib.git#main")
	if got := decode[repos](w, "repo", "list").Repos[1]; got.Branch != "main" || got.Policy != "branch" {
		t.Errorf("added with a branch: got %+v, want main with the policy as it was", got)
	}
	w.fails(workspace.NotExist, "no such repo", "repo", "configure", "other", "--policy", "branch")
	w.fails(workspace.NotExist, "", "repo", "configure", "library", "--branch", "missing")
	w.fails(workspace.Invalid, "commit-to-main, branch or read-only", "repo", "configure", "library", "--policy", "all")
	w.misused("--branch or --policy", "repo", "configure", "library")

	w.carrel("repo", "remove", "library")
	w.fails(workspace.NotExist, "no such repo", "repo", "remove", "library")
	if got := len(decode[repos](w, "repo", "list").Repos); got != 2 {
		t.Errorf("after the removal: got %d repos, want 2", got)
	}
	w.fails(workspace.Exist, "taken by the repository at "+lib+", which was removed", "repo", "create", "library")
	w.carrel("repo", "add", "lib.git", "library")
	if got := len(decode[repos](w, "repo", "list").Repos); got != 3 {
		t.Errorf("revived: got %d repos, want 3", got)
	}
}

func TestRepoNames(t *testing.T) {
	w := newWorld(t)
	w.checkout("other/app", map[string]string{"a": "a"})
	w.checkout("third/app", map[string]string{"a": "a"})
	w.checkout("My Repo", map[string]string{"a": "a"})
	w.carrel("repo", "add", "app")
	r := w.try("", "repo", "add", "other/app")
	w.has(r.stdout, "added /repos/app-2 ")
	w.has(r.stderr, "other/app is served as /repos/app-2: another repository has the name app.")
	w.has(w.carrel("repo", "add", "third/app"), "/repos/app-3 ")
	w.has(w.carrel("repo", "add", "other/app"), "/repos/app-2 ")
	w.has(w.carrel("repo", "add", "My Repo"), "/repos/My-Repo ")
	w.fails(workspace.Exist, "taken by the repository at "+filepath.Join(w.dir, "app"), "repo", "add", "lib.git", "app")
	w.fails(workspace.Exist, "taken by the repository at "+filepath.Join(w.dir, "other/app"), "repo", "add", "app-2=app")
	w.fails(workspace.Invalid, ".git", "repo", "add", "lib.git", ".git")

	r = w.try("", "repo", "add", "app", "again")
	w.has(r.stdout, "added /repos/app ")
	w.has(r.stderr, "is served as /repos/app already; the name /repos/again is not used")
}

func TestRepoAddRefuses(t *testing.T) {
	w := newWorld(t)
	w.fails(workspace.NotExist, "app2: there is no such file", "repo", "add", "app2")
	w.fails(workspace.Invalid, "not a git repository", "repo", "add", "app/pkg")
	w.fails(workspace.NotExist, "no branch next", "repo", "add", "app#next")
	w.fails(workspace.Invalid, "git clone --bare https://example.com/app app.git", "repo", "add", "https://example.com/app")
	w.git("app", "checkout", "-q", "--detach")
	w.fails(workspace.Invalid, "PATH#BRANCH", "repo", "add", "app")
	w.carrel("repo", "add", "app#main")
	w.carrel("repo", "add", "app") // its branch is known
	w.misused("repo add takes", "repo", "add")
	w.misused("repo add takes", "repo", "add", "a", "b", "c")
}

func TestManagedRepos(t *testing.T) {
	w := newWorld(t)
	w.carrel("repo", "create", "notes")
	w.fails(workspace.Exist, "the project default has the repo already", "repo", "create", "notes")
	w.carrel("repo", "create", "team/notes")
	w.carrel("repo", "create", "notes", "--project", "other")
	if got, want := decode[repos](w, "repo", "list", "--project", "other").Repos[0].Source, "other/notes"; got != want {
		t.Errorf("got the source %q, want %q", got, want)
	}
	w.fails(workspace.Invalid, "", "repo", "create", "../notes")

	// Of a process that died in between, a repository is left that nobody has registered.
	w.git(".", "-c", "init.defaultBranch=main", "init", "-q", "--bare", "data/repos/left.git")
	w.carrel("repo", "create", "left")
	w.git("data/repos", "clone", "-q", "--bare", filepath.Join(w.dir, "lib.git"), "full.git")
	w.fails(workspace.Exist, "has commits", "repo", "create", "full")

	w.carrel("workspace", "create", "/agents/a")
	w.Setenv("CARREL_WORKSPACE", "/agents/a")
	w.carrel("call", "writeFile", "path=/repos/notes/a.txt", "content=hello\n")
	w.carrel("commit", "-m", "first")
	if got, want := w.git("data/repos/notes.git", "show", "main:a.txt"), "hello"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	w.carrel("repo", "remove", "notes")
	r := w.try("", "repo", "create", "notes")
	w.has(r.stderr, "/repos/notes was removed before: it is back as it was")
	w.has(w.carrel("call", "readFile", "path=/repos/notes/a.txt"), "hello")
}
