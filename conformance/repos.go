package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Repos makes git repositories below a directory and changes them with the git
// binary, as a person beside Carrel would. Nothing of the host's configuration
// applies, and ids are the same in every run. All methods are safe for
// concurrent use.
type Repos struct {
	Dir string

	mu      sync.Mutex // guards what follows
	clock   int64      // seconds that commits have come after the first one
	made    []string
	planted map[string]bool
}

// Edit is one path of a commit. A nil Content removes it.
type Edit struct {
	Path    string
	Mode    string // "100644", "100755" or "120000"
	Content []byte
}

// firstCommit is when the first commit of a run is made, in Unix seconds.
const firstCommit = 1_700_000_000

// Path is where a repository lies: with its files beside it if it is a checkout.
func (r *Repos) Path(name string) string {
	checkout := filepath.Join(r.Dir, name)
	if _, err := os.Stat(checkout); err == nil {
		return checkout
	}
	return checkout + ".git"
}

// gitDir is where a repository keeps its objects and refs.
func (r *Repos) gitDir(name string) string {
	p := r.Path(name)
	if strings.HasSuffix(p, ".git") {
		return p
	}
	return filepath.Join(p, ".git")
}

// Create makes a repository with one commit of the edits on main, or with none.
func (r *Repos) Create(ctx context.Context, name string, checkout bool, edits []Edit) error {
	path, flag := filepath.Join(r.Dir, name+".git"), "--bare"
	if checkout {
		path, flag = filepath.Join(r.Dir, name), "--quiet"
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	_, err := run(ctx, path, nil, "git", "init", "--quiet", flag, "--template=", "--initial-branch=main")
	r.mu.Lock()
	r.made = append(r.made, name)
	r.mu.Unlock()
	if err != nil || len(edits) == 0 {
		return err
	}
	return r.commit(ctx, name, "refs/heads/main", "first", "", edits)
}

// Commit adds a commit to a branch, which it makes if it is not there. The files
// of a checkout follow.
func (r *Repos) Commit(ctx context.Context, name, branch, message string, edits []Edit) error {
	ref := "refs/heads/" + branch
	parent := ref + "^0"
	if _, err := r.Git(ctx, name, "rev-parse", "--verify", "--quiet", ref); err != nil {
		parent = ""
	}
	return r.commit(ctx, name, ref, message, parent, edits)
}

func (r *Repos) commit(ctx context.Context, name, ref, message, parent string, edits []Edit) error {
	r.mu.Lock()
	r.clock++
	at := firstCommit + r.clock
	r.mu.Unlock()
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit %s\ncommitter Ann Other <ann@example.com> %d +0000\n", ref, at)
	fmt.Fprintf(&b, "data %d\n%s\n", len(message), message)
	if parent != "" {
		fmt.Fprintf(&b, "from %s\n", parent)
	}
	for _, e := range edits {
		if e.Content == nil {
			fmt.Fprintf(&b, "D %s\n", cQuote(e.Path))
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", e.Mode, cQuote(e.Path), len(e.Content), e.Content)
	}
	if _, err := run(ctx, r.Path(name), &b, "git", "fast-import", "--quiet"); err != nil {
		return err
	}
	if r.gitDir(name) == r.Path(name) {
		return nil
	}
	_, err := r.Git(ctx, name, "reset", "--quiet", "--hard")
	return err
}

// cQuote writes a path as git's streams take any.
func cQuote(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Git runs git in a repository and returns what it printed. If git fails, that
// is what it printed on standard error.
func (r *Repos) Git(ctx context.Context, name string, args ...string) ([]byte, error) {
	return run(ctx, r.Path(name), nil, "git", args...)
}

// Plant puts a file into the directory of a repository, as a hook or somebody's
// lock.
func (r *Repos) Plant(name, file string, content []byte, mode fs.FileMode) error {
	path := filepath.Join(r.gitDir(name), file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.planted == nil {
		r.planted = map[string]bool{}
	}
	r.planted[path] = true
	return os.WriteFile(path, content, mode)
}

// Unplant removes a planted file, which must still be there.
func (r *Repos) Unplant(name, file string) error {
	return os.Remove(filepath.Join(r.gitDir(name), file))
}

// Check reports what git fsck finds wrong in the repositories, which were made
// without a fault, and locks that nobody here planted.
func (r *Repos) Check(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []error
	for _, name := range r.made {
		out, err := r.Git(ctx, name, "fsck", "--strict", "--no-dangling", "--no-progress")
		if err == nil && len(out) > 0 {
			err = fmt.Errorf("git fsck of %s says %q", name, out)
		}
		found = append(found, err, r.strayLocks(name))
	}
	return errors.Join(found...)
}

func (r *Repos) strayLocks(name string) error {
	return filepath.WalkDir(r.gitDir(name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") && !r.planted[path] {
			err = fmt.Errorf("%s has a stray lock %s", name, filepath.Base(path))
		}
		return err
	})
}

// Hermetic is an environment for git in which nothing of the host's applies.
func Hermetic() []string {
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann Other", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=1700100000 +0000",
		"GIT_COMMITTER_NAME=Ann Other", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_COMMITTER_DATE=1700100000 +0000")
}

// run runs a program hermetically. Its error is what it said.
func run(ctx context.Context, dir string, stdin *bytes.Buffer, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, Hermetic()
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, out.String(), said.String())
	}
	return out.Bytes(), nil
}
