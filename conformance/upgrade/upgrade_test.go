package upgrade

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel.dev/conformance"
)

// TestUpgrade opens what earlier versions left. It replays equal, with the
// checkpoints that are there and without them, and works.
func TestUpgrade(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join("testdata", "*.tar.gz"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	today, err := conformance.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range samples {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			if err := unpack(archive, data); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(strings.TrimSuffix(archive, ".tar.gz") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var was map[string]any
			if err := json.Unmarshal(b, &was); err != nil {
				t.Fatal(err)
			}
			p := newProgram(t, today, data)
			p.agrees("as it was left", was)
			p.run("fsck", "--rebuild")
			p.agrees("without checkpoints", was)
			p.settles()
			p.goesOn()
			p.run("fsck")
		})
	}
}

// agrees holds what is said now against what was said then.
func (p *program) agrees(when string, was map[string]any) {
	p.t.Helper()
	is := p.answers()
	for _, question := range slices.Sorted(maps.Keys(was)) {
		if found := contradictions(question, was[question], is[question]); len(found) > 0 {
			p.t.Errorf("%s: %s", when, strings.Join(found[:min(10, len(found))], "\n"))
		}
	}
}

// settles decides the commits of the processes that died: one was not on its branch,
// one was.
func (p *program) settles() {
	p.t.Helper()
	c := client{p.t, p.session()}
	for ws, changes := range map[string]int{"/agents/dropped": 1, "/agents/landed": 0} {
		c.call("writeFile", "workspace", ws, "path", "notes", "content", "x")
		mounts := c.call("git.status", "workspace", ws)["mounts"].([]any)
		if len(mounts) != changes {
			p.t.Errorf("%s: %d mounts have changes, want %d: %v", ws, len(mounts), changes, mounts)
		}
	}
	c.call("git.commit", "workspace", "/agents/dropped", "message", "of a process that died")
	if err := c.Close(); err != nil {
		p.t.Fatal(err)
	}
	for _, repo := range []string{"app", "lib"} {
		if n := p.git(repo, "rev-list", "--count", "--grep", "of a process that died", "main"); n != "1" {
			p.t.Errorf("%s has the commit %s times", repo, n)
		}
	}
}

// goesOn works in every workspace.
func (p *program) goesOn() {
	p.t.Helper()
	c := client{p.t, p.session()}
	for _, ws := range workspaces {
		c.call("writeFile", "workspace", ws, "path", "/repos/app/new"+ws, "content", ws)
		c.call("git.commit", "workspace", ws, "message", "after the upgrade", "scope", "/repos/app", "paths", []string{"/repos/app/new" + ws})
	}
	if r := c.try("git.commit", "", "workspace", "/agents/conflict", "message", "m"); r.Code() != "conflict" {
		p.t.Errorf("the conflict is %q: %s", r.Code(), r.Text(0))
	}
	c.call("git.commit", "workspace", "/agents/dirty", "message", "what was dirty", "scope", "/repos/app")
	c.call("reset", "workspace", "/agents/conflict", "confirm", true)
	c.call("workspace.delete", "path", "/agents/conflict")
	c.call("workspace.create", "path", "/agents/new")
	if err := c.Close(); err != nil {
		p.t.Fatal(err)
	}
	for _, repo := range []string{"app", "lib", "old"} {
		if out := p.git(repo, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
			p.t.Errorf("git fsck of %s: %s", repo, out)
		}
	}
	if n := p.git("app", "ls-tree", "--name-only", "-r", "main", "many"); strings.Count(n, "\n") != 398 {
		p.t.Errorf("%d files of the large batch are committed, want 399", strings.Count(n, "\n")+1)
	}
}
