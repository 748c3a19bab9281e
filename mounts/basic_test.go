package mounts

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// change is a commit of one file's content on top of a branch's head.
func change(t testing.TB, r *Repos, s workspace.Source, branch string, files map[string]string) workspace.Change {
	t.Helper()
	head, err := r.Head(context.Background(), s, branch)
	if err != nil && !errors.Is(err, workspace.NotExist) {
		t.Fatal(err)
	}
	c := workspace.Change{
		Source: s, Branch: branch, Expect: head, Parent: head,
		Author:    workspace.Signature{Name: "Ann", Email: "ann@example.com"},
		Committer: workspace.Signature{Name: "Carrel", Email: "carrel@example.com"},
		Message:   "a change\n", When: time.Unix(1_700_000_000, 0),
	}
	setFiles(t, &c, files)
	return c
}

// setFiles adds edits; a content of "-" removes the path.
func setFiles(t testing.TB, c *workspace.Change, files map[string]string) {
	t.Helper()
	contents := map[workspace.OID][]byte{}
	for path, text := range files {
		e := workspace.TreeEdit{Path: path}
		if text != "-" {
			id, err := workspace.BlobID([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			contents[id] = []byte(text)
			e.Node = workspace.Node{Mode: workspace.ModeFile, OID: id}
		}
		c.Edits = append(c.Edits, e)
	}
	c.Open = func(_ context.Context, id workspace.OID) ([]byte, error) {
		b, ok := contents[id]
		if !ok {
			return nil, workspace.NotExist
		}
		return b, nil
	}
}

func land(t testing.TB, r *Repos, c workspace.Change) workspace.OID {
	t.Helper()
	p, err := r.Propose(context.Background(), c)
	if err != nil {
		t.Fatalf("Propose: %v", err)
	}
	if err := p.Land(context.Background()); err != nil {
		t.Fatalf("Land: %v", err)
	}
	return p.Commit()
}

func TestCommitToCreated(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	r := New(&Config{ManagedRoot: root})
	s, err := r.Create(ctx, "app")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Create(ctx, "app"); !errors.Is(err, workspace.Exist) {
		t.Errorf("second Create: got %v, want exist", err)
	}
	if head, err := r.Head(ctx, s, "main"); err != nil || !head.IsZero() {
		t.Fatalf("Head of the unborn branch: got %v, %v", head, err)
	}
	first := land(t, r, change(t, r, s, "main", map[string]string{"a/b/c.txt": "one\n", "top": "x"}))
	second := land(t, r, change(t, r, s, "main", map[string]string{"a/b/c.txt": "-", "a/d": "two\n"}))

	git := (&gittest.Repo{T: t}).At(filepath.Join(root, "app.git"))
	git.Fsck()
	if got, want := git.Git("rev-parse", "main", "main^"), second.String()+"\n"+first.String(); got != want {
		t.Errorf("commits: got %s, want %s", got, want)
	}
	if got, want := git.Git("ls-tree", "-r", "--name-only", "main"), "a/d\ntop"; got != want {
		t.Errorf("files: got %s, want %s", got, want)
	}
	tree, err := r.Tree(ctx, s, second)
	if err != nil {
		t.Fatal(err)
	}
	node, err := tree.Lookup(ctx, "a/d")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := tree.Read(ctx, node.OID); err != nil || string(b) != "two\n" {
		t.Errorf("Read: got %q, %v", b, err)
	}
	log, err := r.Log(ctx, s, second, "a/d", 10)
	if err != nil || len(log) != 1 || log[0].Commit != second {
		t.Errorf("Log: got %v, %v", log, err)
	}
}

type ctxType = context.Context
