package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestGitBesideCarrel lets a person work in the checkout with git while Carrel
// commits in the same repository: neither is ever blocked.
func TestGitBesideCarrel(t *testing.T) {
	t.Parallel()
	rounds := 25
	if *full {
		rounds = 200
	}
	b := newBench(t, true)
	p := b.connect("/agents/a")
	git := func(args ...string) {
		if _, err := b.git.Git(t.Context(), "app", args...); err != nil {
			t.Error(err)
		}
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range rounds {
			if err := os.WriteFile(filepath.Join(b.git.Path("app"), "person"), []byte(strconv.Itoa(i)), 0o644); err != nil {
				t.Error(err)
			}
			git("add", "person")
			git("commit", "--quiet", "-m", "person")
			switch i % 5 {
			case 0:
				git("pack-refs", "--all", "--prune")
			case 1:
				git("checkout", "--quiet", "-b", "topic"+strconv.Itoa(i))
				git("checkout", "--quiet", "main")
			case 2:
				git("gc", "--quiet")
			case 3:
				git("repack", "-a", "-d", "--quiet")
			}
		}
	})
	branch := ""
	wait.Go(func() {
		for i := range rounds {
			if r, err := p.Call(t.Context(), Call{Tool: "writeFile", Args: json.RawMessage(fmt.Sprintf(`{"path":"/repos/app/agent","content":"%d"}`, i))}); err != nil || r.IsError {
				t.Errorf("writeFile: %v %s", err, r.Text(0))
				return
			}
			r, err := p.Call(t.Context(), Call{Tool: "git.commit", Args: json.RawMessage(`{"message":"agent"}`)})
			if err != nil || r.IsError {
				t.Errorf("git.commit: %v %s", err, r.Text(0))
				return
			}
			var facts struct{ Branch string }
			if err := json.Unmarshal(r.Facts(), &facts); err != nil {
				t.Error(err)
			}
			branch = facts.Branch
		}
	})
	wait.Wait()
	if t.Failed() {
		return
	}
	if got, want := b.commits("main"), rounds+1; got != want {
		t.Errorf("main has %d commits, want %d", got, want)
	}
	if got := b.commits(branch); got < rounds+1 {
		t.Errorf("%s has %d commits, want at least %d", branch, got, rounds+1)
	}
	git("diff", "--quiet", "HEAD")
	must(t, p.Close())
}

// TestPushesBesideCarrel lets a person push to the branch that Carrel commits to:
// each gets through, on top of the other.
func TestPushesBesideCarrel(t *testing.T) {
	t.Parallel()
	const rounds = 12
	b := newBench(t, false)
	p := b.connect("/agents/a")
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range rounds {
			edit := Edit{Path: "person", Mode: "100644", Content: []byte(strconv.Itoa(i))}
			for try := 0; ; try++ {
				err := b.git.Commit(t.Context(), "app", "main", "person", []Edit{edit})
				if err == nil {
					break
				}
				// Somebody else's commit came between: what a person then does is to
				// pull and push again. Anything else is in their way.
				moved := strings.Contains(err.Error(), "but expected") || strings.Contains(err.Error(), "Not updating")
				if !moved || try == 100 {
					t.Error(err)
					return
				}
			}
		}
	})
	wait.Go(func() {
		for i := range rounds {
			for _, c := range []Call{
				{Tool: "writeFile", Args: json.RawMessage(fmt.Sprintf(`{"path":"/repos/app/agent","content":"%d"}`, i))},
				{Tool: "git.commit", Args: json.RawMessage(`{"message":"agent"}`)},
			} {
				if r, err := p.Call(t.Context(), c); err != nil || r.IsError {
					t.Errorf("%s: %v %s", c.Tool, err, r.Text(0))
				}
			}
		}
	})
	wait.Wait()
	if got, want := b.commits("main"), 2*rounds+1; got != want {
		t.Errorf("main has %d commits, want %d", got, want)
	}
	must(t, p.Close())
}
