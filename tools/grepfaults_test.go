package tools_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

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

// TestPanicInASearch: a fault while several files are looked at is met where the
// search was asked for, and there alone can be recovered from.
func TestPanicInASearch(t *testing.T) {
	b := newBench(t, "app")
	repos := mounts.New(&mounts.Config{ManagedRoot: b.root})
	store := memory.New(nil)
	ctx := context.Background()
	host, err := workspace.NewHost(ctx, &workspace.Config{Store: store, Blobs: store, Trees: panicky{repos}, Committer: repos, Ignorer: repos, DataID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Project(ctx, "p")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app", "app2"} {
		if err := p.SetRepo(ctx, workspace.Caller{}, workspace.Repo{Path: workspace.RepoPath("/repos/" + name), Source: workspace.Source{Location: b.repo("app")}, Branch: "main", Policy: workspace.CommitToMain}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Create(ctx, workspace.Caller{}, workspace.CreateRequest{ID: id}); err != nil {
		t.Fatal(err)
	}
	w, err := p.Workspace(ctx, id, workspace.Caller{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); !strings.Contains(fmt.Sprint(p), "a fault of ours") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, err = tools.Grep(ctx, w, tools.GrepIn{Pattern: "x"})
	t.Errorf("the search returned %v", err)
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
