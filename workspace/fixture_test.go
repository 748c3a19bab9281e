package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	. "carrel.dev/workspace"
)

// bench is a project over real repositories and the reference store.
type bench struct {
	t       *testing.T
	root    string
	cfg     *Config
	host    *Host
	project *Project
}

// newBench makes a project with one bare repo for each name, whose files come
// from trees: name → path → content.
func newBench(t *testing.T, trees map[string]map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, root: t.TempDir()}
	repos := mounts.New(&mounts.Config{ManagedRoot: b.root, LockWait: 100 * time.Millisecond})
	store := memory.New(nil)
	b.cfg = &Config{Store: store, Blobs: store, Trees: repos, Committer: repos, Ignorer: repos, DataID: "test"}
	b.reopen()
	for name, files := range trees {
		b.repo(name, files)
	}
	return b
}

// reopen starts again on the same stores, as a new process would.
func (b *bench) reopen() {
	b.t.Helper()
	ctx := context.Background()
	var err error
	if b.host, err = NewHost(ctx, b.cfg); err != nil {
		b.t.Fatal(err)
	}
	if b.project, err = b.host.Project(ctx, "p"); err != nil {
		b.t.Fatal(err)
	}
}

// process returns the project as another process on the same stores has it.
func (b *bench) process() *Project {
	b.t.Helper()
	host, err := NewHost(context.Background(), b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	project, err := host.Project(context.Background(), "p")
	if err != nil {
		b.t.Fatal(err)
	}
	return project
}

// during starts again with a step that runs the next time the point is reached.
func (b *bench) during(point string, step func() error) {
	b.t.Helper()
	var once atomic.Bool
	b.cfg.Fault = func(at string) error {
		if at == point && once.CompareAndSwap(false, true) {
			return step()
		}
		return nil
	}
	b.reopen()
}

// errCrash is how a process ends at a point.
var errCrash = errors.New("crash")

// crashAt starts again so that the next one who reaches the point gets no further.
func (b *bench) crashAt(point string) {
	b.t.Helper()
	b.during(point, func() error { return errCrash })
}

// repo makes a bare repository and registers it.
func (b *bench) repo(name string, files map[string]string) {
	b.t.Helper()
	dir := filepath.Join(b.root, name+".git")
	b.run("", "init", "-q", "--bare", "-b", "main", dir)
	if files != nil {
		b.populate(dir, files)
	}
	err := b.project.SetRepo(context.Background(), Caller{}, Repo{
		Path: RepoPath("/repos/" + name), Source: Source{Location: dir}, Branch: "main", Policy: CommitToMain,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// populate makes the first commit of a repository, with one call of git.
func (b *bench) populate(dir string, files map[string]string) {
	b.t.Helper()
	var in strings.Builder
	in.WriteString("commit refs/heads/main\ncommitter Ann <ann@example.org> 1700000000 +0000\ndata 5\nfirst\n")
	for p, content := range files {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", p, len(content), content)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(in.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
}

// outside commits to a repository the way a person does: in a clone of it. A
// file with the content "-" is removed.
func (b *bench) outside(name string, files map[string]string) {
	b.t.Helper()
	dir := filepath.Join(b.root, name+".git")
	clone := filepath.Join(b.t.TempDir(), "clone")
	b.run("", "clone", "-q", dir, clone)
	for p, content := range files {
		full := filepath.Join(clone, p)
		if content == "-" {
			b.run(clone, "rm", "-rq", p)
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644)); err != nil {
			b.t.Fatal(err)
		}
	}
	b.run(clone, "add", "-A")
	b.run(clone, "commit", "-qm", "outside")
	b.run(clone, "push", "-q", "origin", "HEAD:main")
}

// run runs git with no configuration but its own.
func (b *bench) run(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// git runs git in a repo's repository.
func (b *bench) git(name string, args ...string) string {
	b.t.Helper()
	return b.run(filepath.Join(b.root, name+".git"), args...)
}

// fsck holds a repository against git's own judgement.
func (b *bench) fsck(name string) {
	b.t.Helper()
	if out := b.git(name, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
		b.t.Errorf("git fsck:\n%s", out)
	}
}

// create makes a workspace with deviations.
func (b *bench) create(id string, devs map[string]MountPatch) *space {
	b.t.Helper()
	if _, err := b.project.Create(context.Background(), Caller{Session: "s"}, CreateRequest{ID: ID(id), Mounts: devs}); err != nil {
		b.t.Fatal(err)
	}
	return b.open(id, "s")
}

// open returns a session's handle on a workspace.
func (b *bench) open(id, session string) *space {
	b.t.Helper()
	w, err := b.project.Workspace(context.Background(), ID(id), Caller{Session: session})
	if err != nil {
		b.t.Fatal(err)
	}
	return &space{b.t, w}
}

// keyed returns a handle on a workspace whose calls are one request under a key.
func (b *bench) keyed(id, key, request string) *space {
	b.t.Helper()
	w, err := b.project.Workspace(context.Background(), ID(id), Caller{Session: "s", Key: key, Request: request})
	if err != nil {
		b.t.Fatal(err)
	}
	return &space{b.t, w}
}

// mount is a complete deviation.
func mount(repo string, policy Policy) MountPatch {
	p := string(policy)
	return MountPatch{FieldRepo: &repo, FieldPolicy: &p}
}

// space is a workspace with shorthands that fail the test.
type space struct {
	t *testing.T
	*Workspace
}

func (s *space) snap() *Snapshot {
	s.t.Helper()
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	return snap
}

// read returns a file's text and serves it, "<absent>" if nothing is there, or
// the kind of what is no file.
func (s *space) read(p string) string {
	s.t.Helper()
	ctx, snap := context.Background(), s.snap()
	f, err := snap.Lookup(ctx, Path(p))
	if errors.Is(err, NotExist) {
		return "<absent>"
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if f.Kind == Dir {
		return "<dir>"
	}
	content, err := snap.Content(ctx, f)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Serve(snap, f.Path, f)
	return string(content)
}

func (s *space) write(p, content string) Written {
	s.t.Helper()
	r, err := s.Write(context.Background(), Path(p), []byte(content), WriteOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *space) del(p string) Deleted {
	s.t.Helper()
	r, err := s.Delete(context.Background(), Path(p), true)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *space) commit(mount string, paths ...Path) Commit {
	s.t.Helper()
	c, err := s.tryCommit(mount, paths...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *space) tryCommit(mount string, paths ...Path) (Commit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return s.Commit(ctx, CommitRequest{Mount: Path(mount), Message: "change", Paths: paths})
}

// status lists a mount's changes: "A path", with "!" for a conflict and "i" for
// an ignored file.
func (s *space) status(mount string) []string {
	s.t.Helper()
	snap := s.snap()
	m := snap.Table.At(Path(mount))
	if m == nil {
		s.t.Fatalf("no mount at %s", mount)
	}
	changes, err := snap.Changes(context.Background(), m)
	if err != nil {
		s.t.Fatal(err)
	}
	list := []string{}
	for _, c := range changes {
		line := strings.ToUpper(c.Change[:1]) + " " + c.Path.Rel(m.Point)
		if c.Conflict != "" {
			line += " !"
		}
		if c.Ignored {
			line += " i"
		}
		list = append(list, line)
	}
	return list
}

// walk lists all files and symlinks below a directory.
func (s *space) walk(dir string) []string {
	s.t.Helper()
	list := []string{}
	for f, err := range s.snap().Walk(context.Background(), Path(dir), nil) {
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, string(f.Path))
	}
	return list
}
