package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"time"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func memoryRows() []row {
	return []row{
		{"memory", "Everything of twenty large repositories", prepareMemory},
		{"workspaces", "A project with 10,000 workspaces", prepareCrowd},
	}
}

const (
	byContents = "Carrel: every file of every repository"
	byBatch    = "git cat-file --batch, a process a repository"
)

// digest sums contents up.
type digest struct {
	Files, Bytes int64
	Sum          uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (d *digest) add(content []byte) {
	d.Files++
	d.Bytes += int64(len(content))
	d.Sum = crc32.Update(d.Sum, castagnoli, content)
}

// measured is what a child process says at its end.
type measured struct {
	digest
	Took map[string]time.Duration
	Most int64 // of anonymous memory, in bytes
}

// look takes the process's memory down.
func (m *measured) look() error {
	now, err := anonymous()
	m.Most = max(m.Most, now)
	return err
}

func (m *measured) time(question string, f func() error) error {
	began := time.Now()
	err := f()
	m.Took[question] = time.Since(began)
	return err
}

// inChild has a child measure something on a data directory.
func (t *turn) inChild(name, data string) (measured, error) {
	var m measured
	cmd, err := child(t, name, data)
	if err != nil {
		return m, err
	}
	out, err := output(cmd)
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	for q, d := range m.Took {
		t.sample(q, d)
	}
	return m, err
}

func prepareMemory(s *stage) {
	repos := makeAll(s, heavies())
	s.about = fmt.Sprintf("%d repositories with packs of %d MB each, of files from 3 KB to 2 MB that hardly compress: a process reads them all. "+
		"Its memory is RssAnon: what is resident without the pages of mapped files.", len(repos), repos[0].noise>>20)
	data := dataWith(s, func(c *carrel) {
		for i, r := range repos {
			c.register(s, fmt.Sprintf("r%02d", i), r.dir) // listed in this order
		}
	})
	most := 0.0
	s.add(byContents, func(t *turn) error {
		m, err := t.inChild("contents", data)
		most = max(most, float64(m.Most)/(1<<20))
		t.saw(fmt.Sprintf("%+v", m.digest), nil)
		return err
	})
	s.add(byBatch, func(t *turn) error {
		var d digest
		err := t.time("", func() error {
			for _, r := range repos {
				if err := d.catFiles(t, r); err != nil {
					return err
				}
			}
			return nil
		})
		t.saw(fmt.Sprintf("%+v", d), nil)
		return err
	})
	s.hold(byContents, byBatch, target{})
	s.finish = func() { s.fact("anonymous memory, at most", most, "MiB", 300) }
}

// readContents is the child that reads every file of a data directory's
// repositories.
func readContents(ctx context.Context) error {
	m := measured{Took: map[string]time.Duration{}}
	err := m.time("", func() error {
		c, w, err := reopened(ctx, os.Args[1])
		if err != nil {
			return err
		}
		defer c.close()
		snap, err := w.Snapshot(ctx)
		if err != nil {
			return err
		}
		return listAll(ctx, w, func(path string) error {
			content, err := contentOf(ctx, snap, workspace.Path(path))
			if err != nil {
				return err
			}
			m.add(content)
			return m.look()
		})
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// listAll gives every file of a workspace to f, in order.
func listAll(ctx context.Context, w *workspace.Workspace, f func(path string) error) error {
	for in := (tools.ListAllFilesIn{}); ; {
		out, err := tools.ListAllFiles(ctx, w, in)
		if err != nil {
			return err
		}
		for _, p := range out.Paths {
			if err := f(p); err != nil {
				return err
			}
		}
		if in.Cursor = out.NextCursor; in.Cursor == "" {
			return nil
		}
	}
}

// catFiles has git give all files of a repository, in the order of their paths.
func (d *digest) catFiles(ctx context.Context, r *repo) error {
	list, err := git(ctx, r.dir, "ls-tree", "-r", "--format=%(objectname)", "HEAD")
	if err != nil {
		return err
	}
	cmd := gitCommand(ctx, r.dir, "cat-file", "--batch")
	cmd.Stdin = bytes.NewReader(list)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	in := bufio.NewReaderSize(out, 1<<20)
	var content []byte
	for range strings.Count(string(list), "\n") {
		var id, kind string
		var size int
		if _, err := fmt.Fscanf(in, "%s %s %d\n", &id, &kind, &size); err != nil {
			return err
		}
		content = append(content[:0], make([]byte, size+1)...) // with the line feed after it
		if _, err := io.ReadFull(in, content); err != nil {
			return err
		}
		d.add(content[:size])
	}
	return cmd.Wait()
}

const byCrowd = "Carrel"

func prepareCrowd(s *stage) {
	n := sized(200, 10_000)
	s.about = fmt.Sprintf("A process opens a data directory with %d workspaces, lists them all, page by page, and looks at the repository from one.", n)
	c := newCarrel(s, usual().make(s).dir)
	made := newTurn(s.Context(), 0, 0)
	err := made.crowd(clients, (n+clients-1)/clients, func(client, i int) error {
		return create(made, c, fmt.Sprintf("/agents/w%d-%d", client, i))
	})
	if err != nil {
		s.Fatal(err)
	}
	most := 0.0
	s.add(byCrowd, func(t *turn) error {
		m, err := t.inChild("crowd", c.data)
		most = max(most, float64(m.Most)/(1<<20))
		if err == nil && m.Files < int64(n) {
			err = fmt.Errorf("only %d workspaces are listed", m.Files)
		}
		return err
	})
	s.finish = func() { s.fact("anonymous memory, at most", most, "MiB", 0) }
}

// openCrowd is the child that lists the workspaces of a data directory.
func openCrowd(ctx context.Context) error {
	m := measured{Took: map[string]time.Duration{}}
	var c *carrel
	err := m.time("open", func() (err error) {
		c, err = openCarrel(ctx, os.Args[1])
		return err
	})
	if err != nil {
		return err
	}
	defer c.close()
	err = m.time("list all", func() error { return c.listWorkspaces(ctx, &m) })
	if err != nil {
		return err
	}
	err = m.time("open one and look at the repository", func() error {
		w, err := c.project.Workspace(ctx, "/agents/w0-0", workspace.Caller{})
		if err != nil {
			return err
		}
		_, err = tools.ReadDir(ctx, w, tools.ReadDirIn{Path: top})
		return err
	})
	if err != nil {
		return err
	}
	if err := m.look(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// listWorkspaces counts the workspaces of the project.
func (c *carrel) listWorkspaces(ctx context.Context, m *measured) error {
	for in := (tools.WorkspaceListIn{}); ; {
		out, err := tools.WorkspaceList(ctx, tools.Call{Project: c.project}, in)
		if err != nil {
			return err
		}
		m.Files += int64(len(out.Workspaces))
		if in.Cursor = out.NextCursor; in.Cursor == "" {
			return nil
		}
	}
}
