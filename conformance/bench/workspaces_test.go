package bench

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	_ "github.com/mattn/go-sqlite3" // to have the database's file tell its size

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func workspaceRows() []row {
	return []row{
		{"new-workspace", "A new working copy", prepareNewWorkspace},
		{"new-workspace-64", "New working copies for 64 clients at once", prepareNewWorkspaces},
	}
}

const (
	byCreate   = "Carrel: workspace.create"
	byWorktree = "git worktree add"
)

func prepareNewWorkspace(s *stage) {
	r := usual().make(s)
	name := r.paths(s)[0]
	s.about = fmt.Sprintf("Of a project with a repository of %d files. Carrel's is durable when the call returns.", r.spec.files)
	c := newCarrel(s, r.dir)
	s.add(byCreate, func(t *turn) error {
		var last string
		for i := range sized(2, 50) {
			last = fmt.Sprintf("/agents/r%d-%d", t.round, i)
			if err := t.time("", func() error { return create(t, c, last) }); err != nil {
				return err
			}
		}
		w, err := c.project.Workspace(t, workspace.ID(last), workspace.Caller{})
		if err != nil {
			return err
		}
		out, err := tools.ReadFile(t, w, tools.ReadFileIn{Path: top + "/" + name})
		t.saw(name, []byte(out.Render().Text))
		return err
	})
	dir, worktree := copyOf(s, r), int64(0)
	s.add(byWorktree, func(t *turn) error {
		settle()
		tree := filepath.Join(filepath.Dir(dir), fmt.Sprintf("tree-%d", t.round))
		err := t.time("", func() error {
			_, err := git(t, dir, "worktree", "add", "-q", tree)
			return err
		})
		if err != nil {
			return err
		}
		content, err := os.ReadFile(filepath.Join(tree, name))
		t.saw(name, content)
		if err == nil && worktree == 0 {
			worktree, err = sizeOf(tree)
		}
		if err == nil {
			_, err = git(t, dir, "worktree", "remove", "--force", tree)
		}
		settle()
		return err
	})
	s.hold(byCreate, byWorktree, faster(5_000))
	s.finish = func() {
		s.fact("bytes on disk for one of 1,000 workspaces, after a checkpoint", s.bytesEach(r, sized(100, 1_000)), "B", 2<<10)
		s.fact("the files of one git worktree", float64(worktree)/(1<<20), "MiB", 0)
	}
}

// create makes a workspace as a client does.
func create(ctx context.Context, c *carrel, path string) error {
	out, err := tools.WorkspaceCreate(ctx, tools.Call{Project: c.project}, tools.WorkspaceCreateIn{Path: path})
	if err == nil && !out.Created {
		err = fmt.Errorf("%s was there already", path)
	}
	return err
}

// bytesEach is what a workspace takes of the data directory.
func (s *stage) bytesEach(r *repo, n int) float64 {
	s.Helper()
	c := newCarrel(s, r.dir)
	c.workspace(s, "first") // with whatever the first one brings
	before := s.checkpointed(c)
	for i := range n {
		if err := create(s.Context(), c, fmt.Sprintf("/agents/n%d", i)); err != nil {
			s.Fatal(err)
		}
	}
	return float64(s.checkpointed(c)-before) / float64(n)
}

// checkpointed is the size of a data directory whose database has taken its log
// in.
func (s *stage) checkpointed(c *carrel) int64 {
	s.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(c.data, "carrel.db"))
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	var busy, pages, moved int
	if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil || busy != 0 {
		s.Fatalf("checkpoint: busy %d, %v", busy, err)
	}
	size, err := sizeOf(c.data)
	if err != nil {
		s.Fatal(err)
	}
	return size
}

// sizeOf is what the files of a directory have, in bytes.
func sizeOf(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

func prepareNewWorkspaces(s *stage) {
	r := usual().make(s)
	s.about = "Each client makes one after the other; all of them together. There is no peer: git makes one worktree at a time."
	s.throughput = true
	c := newCarrel(s, r.dir)
	var made atomic.Int64
	s.add(byCreate, func(t *turn) error {
		return t.crowd(64, sized(1, 100), func(int, int) error {
			return create(t, c, fmt.Sprintf("/agents/c%d", made.Add(1)))
		})
	})
}
