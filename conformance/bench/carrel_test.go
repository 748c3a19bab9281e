package bench

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"carrel.dev/mounts"
	"carrel.dev/persistence/datadir"
	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/spill"
	"carrel.dev/persistence/sqlite"
	"carrel.dev/workspace"
)

// carrel is Carrel on a data directory, put together as the program does it.
type carrel struct {
	data    string
	host    *workspace.Host
	project *workspace.Project
	close   func() error
}

// openCarrel opens a data directory, and makes it if need be.
func openCarrel(ctx context.Context, data string) (*carrel, error) {
	d, err := datadir.Open(ctx, data)
	if err != nil {
		return nil, err
	}
	large, err := dir.Open(d.Blobs())
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	store, err := sqlite.Open(ctx, d.Database(), &sqlite.Config{Large: large.Has, Discard: large.Discard})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	c := &carrel{data: data, close: func() error { return errors.Join(store.Close(), d.Close()) }}
	repos := mounts.New(&mounts.Config{ManagedRoot: d.Repos()})
	c.host, err = workspace.NewHost(ctx, &workspace.Config{
		Store: store, Blobs: spill.New(store, large, nil), Trees: repos, Committer: repos, Ignorer: repos,
		Processes: d, DataID: d.ID(),
	})
	if err == nil {
		c.project, err = c.host.Project(ctx, "default")
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// newCarrel is Carrel on a data directory of its own, until the test ends, with
// the repository at dir as /repos/r.
func newCarrel(t testing.TB, dir string) *carrel {
	t.Helper()
	c, err := openCarrel(t.Context(), filepath.Join(dirOf(t), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	c.register(t, "r", dir)
	return c
}

// top is where the repository of a row is in a workspace.
const top = "/repos/r"

// register adds the repository at a directory.
func (c *carrel) register(t testing.TB, name, dir string) {
	t.Helper()
	found, err := mounts.Inspect(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	err = c.project.SetRepo(t.Context(), workspace.Caller{}, workspace.Repo{
		Path: workspace.RepoPath("/repos/" + name), Source: found.Source, Branch: found.Branch, Policy: workspace.Policy(found.Policy),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// create makes a workspace.
func (c *carrel) create(ctx context.Context, name string) (*workspace.Workspace, error) {
	id, err := workspace.ParseID("/agents/" + name)
	if err != nil {
		return nil, err
	}
	if _, err := c.project.Create(ctx, workspace.Caller{}, workspace.CreateRequest{ID: id}); err != nil {
		return nil, err
	}
	return c.project.Workspace(ctx, id, workspace.Caller{Session: "bench"})
}

// workspace is create for the preparation of a row.
func (c *carrel) workspace(t testing.TB, name string) *workspace.Workspace {
	t.Helper()
	w, err := c.create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// dataWith is a data directory on which nobody works: with what fill registers,
// and the workspace that reopened opens.
func dataWith(t testing.TB, fill func(*carrel)) string {
	t.Helper()
	c, err := openCarrel(t.Context(), filepath.Join(dirOf(t), "data"))
	if err != nil {
		t.Fatal(err)
	}
	fill(c)
	c.workspace(t, "reader")
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	return c.data
}

// reopened is Carrel as a process has it that begins: all it knows is the data
// directory.
func reopened(ctx context.Context, data string) (*carrel, *workspace.Workspace, error) {
	c, err := openCarrel(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	w, err := c.project.Workspace(ctx, "/agents/reader", workspace.Caller{})
	if err != nil {
		return nil, nil, errors.Join(err, c.close())
	}
	return c, w, nil
}
