package upgrade

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel.dev/conformance"
)

var (
	write  = flag.String("write", "", "the name of a new sample")
	binary = flag.String("binary", "", "the program that writes it")
)

// TestWriteSample writes a sample, if that is asked for.
func TestWriteSample(t *testing.T) {
	if *write == "" {
		return
	}
	archive := filepath.Join("testdata", *write+".tar.gz")
	if _, err := os.Stat(archive); err == nil {
		t.Fatalf("%s is there, and a sample is never written again", archive)
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		t.Fatal(err)
	}
	p := newProgram(t, path, t.TempDir())
	p.history()
	b, err := json.MarshalIndent(p.answers(), "", "\t")
	if err == nil {
		err = os.WriteFile(filepath.Join("testdata", *write+".json"), append(b, '\n'), 0o644)
	}
	if err == nil {
		err = pack(archive, p.data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// history does a bit of everything that leaves something durable.
func (p *program) history() {
	for _, name := range []string{"app", "lib", "old"} {
		p.run("repo", "create", name)
	}
	c := client{p.t, p.session()}
	p.seed(c)
	p.work(c)
	p.dirty(c)
	p.conflicting(c)
	p.ended(c)
	if err := c.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.dying("/agents/dropped", "app")
	commit := p.dying("/agents/landed", "lib")
	p.git("lib", "update-ref", "refs/heads/main", commit)
}

// seed makes the first commits.
func (p *program) seed(c client) {
	const ws = "/agents/seed"
	c.call("workspace.create", "path", ws)
	for path, content := range map[string]string{
		"README.md": "# app\n", "src/main.go": "package main\r\n\r\nfunc main() {}\r\n", "src/util/x.txt": "x\n", "src/util/y.txt": "y\n",
		"tasks/one.md": "one\n",
	} {
		c.call("writeFile", "workspace", ws, "path", "/repos/app/"+path, "content", content)
	}
	c.call("writeFile", "workspace", ws, "path", "/repos/app/bin/tool", "content", "#!/bin/sh\n", "executable", true)
	c.call("writeFileBytes", "workspace", ws, "path", "/repos/app/data.bin", "base64", base64.StdEncoding.EncodeToString([]byte{0, 255, 1, 254}))
	c.call("symlink", "workspace", ws, "path", "/repos/app/link", "target", "src/main.go")
	c.call("git.commit", "workspace", ws, "message", "first of app", "scope", "/repos/app")
	for _, repo := range []string{"lib", "old"} {
		c.call("writeFile", "workspace", ws, "path", "/repos/"+repo+"/a", "content", "a\n")
		c.call("git.commit", "workspace", ws, "message", "first of "+repo)
	}
}

// work commits to a work branch and has more on top of it.
func (p *program) work(c client) {
	const ws = "/agents/work"
	c.call("workspace.create", "path", ws, "mounts", map[string]any{
		"/repos/app": map[string]any{"policy": "branch"}, "/vendor/lib": map[string]any{"repoPath": "/repos/lib", "policy": "read-only"},
	})
	c.call("edit", "workspace", ws, "path", "/repos/app/src/main.go", "oldString", "func main() {}", "newString", "func main() {\n}")
	c.call("git.commit", "workspace", ws, "message", "on a branch")
	c.call("deleteFile", "workspace", ws, "path", "/repos/app/src/util", "recursive", true)
	c.call("writeFile", "workspace", ws, "path", "/repos/app/src/util/new.txt", "content", "new\n")
	c.call("mv", "workspace", ws, "from", "/repos/app/tasks", "to", "/repos/app/done")
	c.call("writeFile", "workspace", ws, "path", "/vendor/lib/a", "content", "mine\n")
	c.call("mkdir", "workspace", ws, "path", "/repos/app/empty")
	c.call("workspace.configure", "workspace", ws, "mounts", map[string]any{"/repos/old": map[string]any{"policy": "read-only"}})
}

// dirty has a large body, a large payload, a checkpoint and an answered key.
func (p *program) dirty(c client) {
	const ws = "/agents/dirty"
	c.call("workspace.create", "path", ws)
	c.call("writeFile", "workspace", ws, "path", "large.txt", "content", strings.Repeat("a line of a large file\n", 20_000))
	var changes []any
	for i := range 400 {
		changes = append(changes, map[string]any{"op": "writeFile", "path": fmt.Sprintf("/repos/app/many/%04d", i), "content": fmt.Sprint(i)})
	}
	c.call("batch", "workspace", ws, "changes", changes)
	for i := range 600 {
		c.call("writeFile", "workspace", ws, "path", "counter", "content", fmt.Sprint(i))
	}
	if r := c.try("writeFile", "key-1", p.keyed()...); r.IsError {
		p.t.Fatal(r.Text(0))
	}
	c.call("deleteFile", "workspace", ws, "path", "/repos/app/README.md")
	c.call("writeFile", "workspace", ws, "path", "/repos/app/bin/tool", "content", "#!/bin/bash\n")
	c.call("revert", "workspace", ws, "path", "/repos/app/many/0007")
}

// keyed are the arguments of the call that has a key.
func (p *program) keyed() []any {
	return []any{"workspace", "/agents/dirty", "path", "keyed", "content", "under a key\n"}
}

// conflicting has changed what somebody else has too.
func (p *program) conflicting(c client) {
	for _, ws := range []string{"/agents/conflict", "/agents/removed"} {
		c.call("workspace.create", "path", ws)
	}
	c.call("edit", "workspace", "/agents/conflict", "path", "/repos/app/src/util/x.txt", "oldString", "x", "newString", "ours")
	c.call("deleteFile", "workspace", "/agents/conflict", "path", "/repos/app/tasks", "recursive", true)
	c.call("edit", "workspace", "/agents/seed", "path", "/repos/app/src/util/x.txt", "oldString", "x", "newString", "theirs")
	c.call("writeFile", "workspace", "/agents/seed", "path", "/repos/app/tasks/two.md", "content", "unseen\n")
	c.call("git.commit", "workspace", "/agents/seed", "message", "second of app")
	c.call("writeFile", "workspace", "/agents/removed", "path", "/repos/old/mine", "content", "kept\n")
	p.run("repo", "remove", "old")
}

// ended has a workspace that was never used and one that is gone.
func (p *program) ended(c client) {
	c.call("workspace.create", "path", "/workspaces/empty")
	c.call("workspace.create", "path", "/agents/gone")
	c.call("writeFile", "workspace", "/agents/gone", "path", "x", "content", "x")
	c.call("workspace.delete", "path", "/agents/gone", "discard", true)
}

// dying kills a process between the intent of a commit and its end, and returns the
// commit.
func (p *program) dying(ws, repo string) (commit string) {
	p.t.Helper()
	lock := filepath.Join(p.repo(repo), "refs", "heads", "main.lock")
	c := client{p.t, p.session()}
	c.call("workspace.create", "path", ws)
	c.call("writeFile", "workspace", ws, "path", "/repos/"+repo+"/mine", "content", "of a process that died\n")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		p.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		// It waits for the lock until it is killed.
		_, _ = c.Call(p.t.Context(), conformance.Call{Tool: "git.commit", Args: object(p.t, "workspace", ws, "message", "of a process that died")})
	}()
	for !slices.ContainsFunc(p.records(ws), func(r string) bool { return strings.HasSuffix(r, "workspace/committing") }) {
		time.Sleep(10 * time.Millisecond)
	}
	commit = p.intent(ws)
	for !p.has(repo, commit) { // it is durable before the branch is asked for
		time.Sleep(10 * time.Millisecond)
	}
	if err := c.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-over
	if err := os.Remove(lock); err != nil {
		p.t.Fatal(err)
	}
	return commit
}

// intent is the commit of a workspace's newest intent.
func (p *program) intent(ws string) (commit string) {
	p.t.Helper()
	for dec := json.NewDecoder(bytes.NewReader(p.run("events", "--json", "--workspace", ws))); dec.More(); {
		var r struct{ Payload struct{ Commit string } }
		if err := dec.Decode(&r); err != nil {
			p.t.Fatal(err)
		}
		if r.Payload.Commit != "" {
			commit = r.Payload.Commit
		}
	}
	return commit
}

// has reports whether a repository has a commit.
func (p *program) has(repo, commit string) bool {
	cmd := exec.Command("git", "cat-file", "-e", commit)
	cmd.Dir = p.repo(repo)
	return cmd.Run() == nil
}
