package mounts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// TestHostConfigurationDoesNotMatter surrounds a repository with everything that
// changes what git does, and compares with what it should be.
func TestHostConfigurationDoesNotMatter(t *testing.T) {
	git := gittest.Init(t)
	git.Write("f", "f")
	git.Commit("f")
	home := t.TempDir()
	marker := filepath.Join(home, "ran")
	script := "#!/bin/sh\necho $0 >> " + marker + "\nexit 1\n"
	host := git.At(home)
	for _, hook := range []string{"pre-commit", "commit-msg", "post-commit", "update", "pre-receive", "post-update", "reference-transaction", "post-index-change"} {
		host.Write("hooks/"+hook, script)
		git.Write(".git/hooks/"+hook, script)
		os.Chmod(filepath.Join(home, "hooks", hook), 0o755)
		os.Chmod(filepath.Join(git.Dir, ".git/hooks", hook), 0o755)
	}
	host.Write("template/hooks/update", script)
	host.Write("ignore", "*\n")
	host.Write("attributes", "* text=auto eol=crlf filter=evil ident\n")
	config := "[core]\n\tautocrlf = true\n\thooksPath = " + home + "/hooks\n\texcludesFile = " + home + "/ignore\n\tattributesFile = " + home + "/attributes\n\tbare = true\n\tfsmonitor = " + home + "/hooks/update\n" +
		"[filter \"evil\"]\n\tclean = touch " + marker + "\n\tsmudge = touch " + marker + "\n\trequired\n[init]\n\ttemplateDir = " + home + "/template\n\tdefaultBranch = evil\n" +
		"[user]\n\tname = Host\n\temail = host@example.com\n[commit]\n\tgpgSign = true\n[extensions]\n\tpartialClone = x\n"
	host.Write(".gitconfig", config)
	host.Write(".config/git/ignore", "*\n")
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GIT_CONFIG_SYSTEM": filepath.Join(home, ".gitconfig"),
		"GIT_DIR": filepath.Join(home, "nowhere"), "GIT_WORK_TREE": home, "GIT_OBJECT_DIRECTORY": home, "GIT_INDEX_FILE": filepath.Join(home, "index"), "GIT_NAMESPACE": "evil",
		"GIT_AUTHOR_NAME": "Host", "GIT_AUTHOR_DATE": "1", "GIT_COMMITTER_NAME": "Host", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true",
	} {
		t.Setenv(name, value)
	}
	// The repository's own configuration names a program of the host, too.
	own, err := os.OpenFile(filepath.Join(git.Dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	own.WriteString("[filter \"evil\"]\n\tclean = touch " + marker + "\n[include]\n\tpath = " + home + "/.gitconfig\n")
	own.Close()

	root := t.TempDir()
	r := New(&Config{ManagedRoot: root})
	managed, err := r.Create(ctx, "new")
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{"a.txt": "a\r\nb\n$Id$\n", ".gitattributes": "* text=auto filter=evil\n"}
	for _, s := range []workspace.Source{inPlace(git.Dir), managed} {
		f := "main"
		if !s.Managed {
			f = "topic"
		}
		land(t, r, change(t, r, s, f, contents))
	}
	quiet := git.At(filepath.Join(root, "new.git"))
	if _, err := os.Stat(filepath.Join(quiet.Dir, "hooks")); !os.IsNotExist(err) {
		t.Errorf("a template was used: %v", err)
	}
	for _, at := range []struct {
		git    *gittest.Repo
		branch string
	}{{quiet, "main"}, {git, "topic"}} {
		out, err := at.git.TryEnv([]string{"GIT_DIR="}, "", "--git-dir="+gitDir(at.git.Dir), "cat-file", "blob", at.branch+":a.txt")
		if err != nil || out != contents["a.txt"] {
			t.Errorf("%s: content %q, %v", at.branch, out, err)
		}
		out, err = at.git.Try("", "--git-dir="+gitDir(at.git.Dir), "log", "-1", "--format=%an %cn", at.branch)
		if err != nil || strings.TrimSpace(out) != "Ann Carrel" {
			t.Errorf("%s: by %q, %v", at.branch, out, err)
		}
	}
	git.Write("untracked", "x")
	if n, err := r.Uncommitted(ctx, inPlace(git.Dir)); err != nil || n != 1 {
		t.Errorf("Uncommitted: got %d, %v, want 1", n, err)
	}
	ignored, err := r.Ignored("untracked", func(string) ([]byte, error) { return nil, nil })
	if err != nil || ignored {
		t.Errorf("Ignored: got %v, %v", ignored, err)
	}
	if text, err := os.ReadFile(marker); err == nil {
		t.Errorf("programs of the host ran: %s", text)
	}
}

// gitDir is where the git directory of a repository is.
func gitDir(dir string) string {
	if dot := filepath.Join(dir, ".git"); dot != "" {
		if _, err := os.Stat(dot); err == nil {
			return dot
		}
	}
	return dir
}
