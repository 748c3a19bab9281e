// Package gittest runs the real git in tests, which is the oracle for all that
// package mounts does, without any configuration of the host.
package gittest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Env is the environment in which git runs: no configuration but the
// repository's own, fixed identities and times.
func Env() []string {
	env := []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=committer@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "TZ=UTC", "HOME=/nonexistent", "GIT_ALLOW_PROTOCOL=file",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none", // speed: only this program's syncs are tested
	}
	return append(env, "PATH="+os.Getenv("PATH"), "TMPDIR="+os.TempDir())
}

// Repo is a repository, or a checkout of one, in a directory of the test.
type Repo struct {
	T   testing.TB
	Dir string
}

// Init makes a repository whose HEAD is main; args are those of git init, such
// as --bare.
func Init(t testing.TB, args ...string) *Repo {
	t.Helper()
	r := &Repo{T: t, Dir: filepath.Join(t.TempDir(), "repo")}
	if err := os.Mkdir(r.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r.Git(append([]string{"-c", "init.defaultBranch=main", "init", "-q"}, args...)...)
	return r
}

// At is the same test's view of another directory.
func (r *Repo) At(dir string) *Repo { return &Repo{T: r.T, Dir: dir} }

// Try runs git and returns what it printed, standard error included if it fails.
func (r *Repo) Try(stdin string, args ...string) (string, error) {
	return r.TryEnv(nil, stdin, args...)
}

// TryEnv is Try with additions to the environment.
func (r *Repo) TryEnv(env []string, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, append(Env(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), err
	}
	return stdout.String(), nil
}

// Git runs git, which must succeed, and returns what it printed without the last
// newline.
func (r *Repo) Git(args ...string) string {
	r.T.Helper()
	return r.In("", args...)
}

// In is Git with a standard input.
func (r *Repo) In(stdin string, args ...string) string {
	r.T.Helper()
	out, err := r.Try(stdin, args...)
	if err != nil {
		r.T.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// Write writes a file of the checkout, with its directories.
func (r *Repo) Write(path, content string) {
	r.T.Helper()
	name := filepath.Join(r.Dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		r.T.Fatal(err)
	}
}

// Commit commits everything in the checkout and returns the commit's id.
func (r *Repo) Commit(message string) string {
	r.T.Helper()
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r.Git("rev-parse", "HEAD")
}

// Fsck fails the test if git fsck has anything to say.
func (r *Repo) Fsck() {
	r.T.Helper()
	if out := r.FsckOutput(); out != "" {
		r.T.Errorf("git fsck:\n%s", out)
	}
}

// FsckOutput is all that git fsck says, errors and warnings.
func (r *Repo) FsckOutput() string {
	cmd := exec.Command("git", "fsck", "--strict", "--no-dangling", "--full", "--no-progress")
	cmd.Dir, cmd.Env = r.Dir, Env()
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil && text == "" {
		text = err.Error()
	}
	// An unborn branch and an empty repository are no defect.
	var said []string
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && !strings.HasPrefix(line, "notice: ") {
			said = append(said, line)
		}
	}
	return strings.Join(said, "\n")
}
