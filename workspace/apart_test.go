package workspace_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"carrel.dev/persistence/memory"
	. "carrel.dev/workspace"
)

// Workspaces that only share their last name have work branches of their own in
// one repository, as have those of another project and another data directory.
func TestWorkBranchesAreApart(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}})
	source := Source{Location: filepath.Join(b.root, "app.git")}
	branches := map[string]string{}
	for _, tt := range []struct{ data, project, id string }{
		{"test", "p", "/agents/a"}, {"test", "p", "/agents/team/a"}, {"test", "q", "/agents/a"}, {"other", "p", "/agents/a"},
	} {
		b.cfg.DataID = tt.data
		if tt.data == "other" {
			store := memory.New(nil)
			b.cfg.Store, b.cfg.Blobs = store, store
		}
		b.reopen()
		var err error
		if b.project, err = b.host.Project(ctx, tt.project); err != nil {
			t.Fatal(err)
		}
		err = b.project.SetRepo(ctx, Caller{}, Repo{Path: "/repos/app", Source: source, Branch: "main", Policy: WorkBranch})
		if err != nil {
			t.Fatal(err)
		}
		w := b.create(tt.id, nil)
		w.write("/repos/app/a", "2\n")
		c := w.commit("/repos/app")
		if other, taken := branches[c.Branch]; taken {
			t.Errorf("%v commits to %s, as does %s", tt, c.Branch, other)
		}
		branches[c.Branch] = tt.project + tt.id
	}
}

// A repo's path stays that of its repository, also when the repo is removed.
func TestRepoPathIsNotTakenOver(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, map[string]map[string]string{"app": {"a": "1\n"}, "other": {"a": "other\n"}})
	set := func(name string) error {
		return b.project.SetRepo(ctx, Caller{}, Repo{
			Path: "/repos/app", Source: Source{Location: filepath.Join(b.root, name+".git")}, Branch: "main", Policy: CommitToMain,
		})
	}
	if err := set("other"); !errors.Is(err, Exist) {
		t.Errorf("another repository: got %v, want exist", err)
	}
	if err := b.project.RemoveRepo(ctx, Caller{}, "/repos/app"); err != nil {
		t.Fatal(err)
	}
	if err := set("other"); !errors.Is(err, Exist) {
		t.Errorf("another repository after the removal: got %v, want exist", err)
	}
	if err := set("app"); err != nil {
		t.Errorf("the same repository again: %v", err)
	}
	if got := b.create("/agents/a", nil).read("/repos/app/a"); got != "1\n" {
		t.Errorf("got %q", got)
	}
}
