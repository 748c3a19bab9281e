package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"carrel.dev/mounts"
	"carrel.dev/workspace"
)

// rig is a host over the real parts, each of which a test may decorate.
type rig struct {
	t       *testing.T
	dir     string
	git     *Repos
	mounts  *mounts.Repos
	config  workspace.Config
	host    *workspace.Host
	project *workspace.Project
}

// newRig opens a host on a directory of its own. decorate, if not nil, changes
// what the host stands on.
func newRig(t *testing.T, decorate func(*workspace.Config)) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, dir: dir, git: &Repos{Dir: filepath.Join(dir, "repos")}}
	t.Cleanup(func() {
		if err := r.git.Check(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.open(decorate)
	return r
}

// open opens the host, also once more, as another process would. The store stays
// open to the end of the test.
func (r *rig) open(decorate func(*workspace.Config)) {
	r.t.Helper()
	r.mounts = mounts.New(&mounts.Config{ManagedRoot: filepath.Join(r.dir, "managed")})
	p, err := onDisk(r.t.Context(), filepath.Join(r.dir, "data"))
	if err != nil {
		r.t.Fatal(err)
	}
	repos := r.mounts
	r.t.Cleanup(func() {
		if err := errors.Join(repos.Close(), p.close()); err != nil {
			r.t.Error(err)
		}
	})
	r.config = workspace.Config{
		Store: p.store, Blobs: p.blobs, Trees: r.mounts, Committer: r.mounts, Ignorer: r.mounts, Processes: p.procs, DataID: p.id,
	}
	if decorate != nil {
		decorate(&r.config)
	}
	if r.host, err = workspace.NewHost(r.t.Context(), &r.config); err != nil {
		r.t.Fatal(err)
	}
	if r.project, err = r.host.Project(r.t.Context(), "default"); err != nil {
		r.t.Fatal(err)
	}
}

// repo makes a bare repository with a commit of files and registers it.
func (r *rig) repo(name string, files map[string]string) {
	r.t.Helper()
	var edits []Edit
	for path, content := range files {
		edits = append(edits, Edit{Path: path, Mode: "100644", Content: []byte(content)})
	}
	if err := os.MkdirAll(r.git.Dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := r.git.Create(r.t.Context(), name, false, edits); err != nil {
		r.t.Fatal(err)
	}
	if err := register(r.t.Context(), r.project, name, r.git.Path(name)); err != nil {
		r.t.Fatal(err)
	}
}

// register adds a repository in place to a project, as the command line does.
func register(ctx context.Context, p *workspace.Project, name, path string) error {
	found, err := mounts.Inspect(path, "")
	if err != nil {
		return err
	}
	repo, err := workspace.ParseRepoPath("/repos/" + name)
	if err != nil {
		return err
	}
	return p.SetRepo(ctx, workspace.Caller{}, workspace.Repo{
		Path: repo, Source: found.Source, Branch: found.Branch, Policy: workspace.Policy(found.Policy),
	})
}

// source is where a repository of the rig is.
func (r *rig) source(name string) workspace.Source {
	r.t.Helper()
	found, err := mounts.Inspect(r.git.Path(name), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return found.Source
}

// create makes a workspace and returns a handle on it.
func (r *rig) create(id workspace.ID, mounts map[string]workspace.MountPatch) *workspace.Workspace {
	r.t.Helper()
	if _, err := r.project.Create(r.t.Context(), workspace.Caller{}, workspace.CreateRequest{ID: id, Mounts: mounts}); err != nil {
		r.t.Fatal(err)
	}
	return r.workspace(id)
}

// workspace returns a handle on a workspace.
func (r *rig) workspace(id workspace.ID) *workspace.Workspace {
	r.t.Helper()
	w, err := r.project.Workspace(r.t.Context(), id, workspace.Caller{Session: "s"})
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// append puts a record on a stream as some other writer would.
func (r *rig) append(stream, typ, payload string) {
	r.t.Helper()
	_, err := r.config.Store.Append(r.t.Context(), workspace.Batch{
		Stream: workspace.StreamID{Project: "default", Name: stream}, Last: workspace.Any,
		Events: []workspace.Event{{ID: rawID(), Type: typ, Version: 1, At: testTime, Payload: json.RawMessage(payload)}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// records counts the records of a stream.
func (r *rig) records(stream string) int {
	r.t.Helper()
	n := 0
	for _, err := range r.project.Records(r.t.Context(), stream, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		n++
	}
	return n
}

// snapshot is the workspace now.
func snapshot(t *testing.T, w *workspace.Workspace) *workspace.Snapshot {
	t.Helper()
	s, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read returns a file's content, or the kind of the error.
func read(t *testing.T, w *workspace.Workspace, path workspace.Path) string {
	t.Helper()
	s := snapshot(t, w)
	f, err := s.Lookup(t.Context(), path)
	if err != nil {
		return string(workspace.KindOf(err))
	}
	b, err := s.Content(t.Context(), f)
	if err != nil {
		return string(workspace.KindOf(err))
	}
	return string(b)
}

// write writes a file.
func write(t *testing.T, w *workspace.Workspace, path workspace.Path, content string) {
	t.Helper()
	if _, err := w.Write(t.Context(), path, []byte(content), workspace.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// str is a field of a MountPatch.
func str(s string) *string { return &s }
