package tools_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// panicky has trees whose files cannot be read without a fault of ours.
type (
	panicky     struct{ *mounts.Repos }
	panickyTree struct{ workspace.Tree }
)

func (p panicky) Tree(ctx context.Context, s workspace.Source, c workspace.OID) (workspace.Tree, error) {
	t, err := p.Repos.Tree(ctx, s, c)
	return panickyTree{t}, err
}

func (p panickyTree) Read(context.Context, workspace.OID) ([]byte, error) { panic("a fault of ours") }

// over is a workspace of a project of its own, that reads the repository app through
// trees, mounted under each of the names.
func (b *bench) over(trees func(*mounts.Repos) workspace.Trees, names ...string) *workspace.Workspace {
	b.t.Helper()
	repos := mounts.New(&mounts.Config{ManagedRoot: b.root})
	store := memory.New(nil)
	ctx := context.Background()
	host, err := workspace.NewHost(ctx, &workspace.Config{Store: store, Blobs: store, Trees: trees(repos), Committer: repos, Ignorer: repos, DataID: "t"})
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := host.Project(ctx, "p")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, name := range names {
		if err := p.SetRepo(ctx, workspace.Caller{}, workspace.Repo{Path: workspace.RepoPath("/repos/" + name), Source: workspace.Source{Location: b.repo("app")}, Branch: "main", Policy: workspace.CommitToMain}); err != nil {
			b.t.Fatal(err)
		}
	}
	if _, err := p.Create(ctx, workspace.Caller{}, workspace.CreateRequest{ID: id}); err != nil {
		b.t.Fatal(err)
	}
	w, err := p.Workspace(ctx, id, workspace.Caller{Session: "s"})
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// TestPanicInASearch: a fault while several files are looked at is met where the
// search was asked for, and there alone can be recovered from.
func TestPanicInASearch(t *testing.T) {
	b := newBench(t, "app")
	w := b.over(func(r *mounts.Repos) workspace.Trees { return panicky{r} }, "app", "app2")
	defer func() {
		if p := recover(); !strings.Contains(fmt.Sprint(p), "a fault of ours") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, err := tools.Grep(t.Context(), w, tools.GrepIn{Pattern: "x"})
	t.Errorf("the search returned %v", err)
}

// counted has trees that count how many files are read, and how many at a time from
// one on.
type (
	counted struct {
		*mounts.Repos
		from                int64
		began, now, atATime atomic.Int64
	}
	countedTree struct {
		workspace.Tree
		*counted
	}
)

func (c *counted) Tree(ctx context.Context, s workspace.Source, id workspace.OID) (workspace.Tree, error) {
	t, err := c.Repos.Tree(ctx, s, id)
	return countedTree{t, c}, err
}

func (c countedTree) Read(ctx context.Context, id workspace.OID) ([]byte, error) {
	now := c.now.Add(1)
	defer c.now.Add(-1)
	if c.began.Add(1) > c.from {
		for most := c.atATime.Load(); now > most && !c.atATime.CompareAndSwap(most, now); most = c.atATime.Load() {
		}
	}
	time.Sleep(time.Millisecond) // so that another one would be met
	return c.Tree.Read(ctx, id)
}

// TestSearchMakesWay: a search beside which somebody begins to wait reads one file at a
// time from its next batch on.
func TestSearchMakesWay(t *testing.T) {
	b := newBench(t, "app")
	const files, soon, firstBatch = 80, 5, 16
	for i := range files {
		b.call("writeFile", "", args{"path": fmt.Sprintf("/repos/app/f%02d", i), "content": fmt.Sprintf("%d\n", i)})
	}
	b.call("git.commit", "", args{"message": "files"})
	c := &counted{from: firstBatch}
	w := b.over(func(r *mounts.Repos) workspace.Trees {
		c.Repos = r
		return c
	}, "app")
	ctx := tools.Crowded(t.Context(), func() bool { return c.began.Load() >= soon })
	if _, err := tools.Grep(ctx, w, tools.GrepIn{Pattern: "no such thing"}); err != nil {
		t.Fatal(err)
	}
	if c.began.Load() <= files || c.atATime.Load() != 1 {
		t.Errorf("%d files were read, %d at a time", c.began.Load(), c.atATime.Load())
	}
}

// TestCursorOfALineOfNothing: a cursor that nobody was given is refused, also one
// that stands in a line of no file.
func TestCursorOfALineOfNothing(t *testing.T) {
	b := newBench(t, "app")
	b.files(20)
	cursor := fieldsOf(t, b.call("grep", "", args{"pattern": "x", "limit": 3}))["nextCursor"].(string)
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	c["a"], c["l"] = "", 5
	if raw, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if _, err := b.try("grep", "", args{"pattern": "x", "cursor": base64.RawURLEncoding.EncodeToString(raw)}); !errors.Is(err, workspace.Invalid) {
		t.Errorf("got %v, want invalid", err)
	}
}
