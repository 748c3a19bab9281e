package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitEnv is the environment of git: none of the host's configuration, fixed times
// and people. What git syncs, and everything else, is as git has it by default.
func gitEnv() []string {
	return append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.org", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.org", "GIT_COMMITTER_DATE=1700000000 +0000")
}

// gitCommand is git with arguments, in a directory. No repacking starts behind
// its back.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, gitEnv()
	return cmd
}

// output runs a command and returns what it prints.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, &stderr)
	}
	return stdout.Bytes(), nil
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return output(gitCommand(ctx, dir, args...))
}

// feed runs a command whose standard input write writes.
func feed(cmd *exec.Cmd, write func(io.Writer) error) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		err := write(in)
		in.Close()
		written <- err
	}()
	if _, err := output(cmd); err != nil {
		return err
	}
	return <-written
}

// mustGit is git for the preparation of a row.
func mustGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := git(t.Context(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// copyOf is a bare repository that a row may write to. Packs are linked, not
// copied.
func copyOf(t testing.TB, r *repo) string {
	t.Helper()
	dir := filepath.Join(dirOf(t), "copy.git")
	mustGit(t, "", "clone", "-q", "--bare", "--local", r.dir, dir)
	return dir
}

// worktreeOf is a checkout with a copy of the repository of its own, and an index
// that knows every file.
func worktreeOf(t testing.TB, r *repo) string {
	t.Helper()
	dir := filepath.Join(dirOf(t), "tree")
	mustGit(t, copyOf(t, r), "worktree", "add", "-q", dir)
	settle()
	mustGit(t, dir, "update-index", "-q", "--refresh")
	return dir
}

// dirOf is a fresh directory on the file system of the cache. It goes with the
// test.
func dirOf(t testing.TB) string {
	t.Helper()
	if err := shared.open(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(shared.work, "row-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
