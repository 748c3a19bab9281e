package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func readRows() []row {
	return []row{
		{"read-cached", "Read a file again", prepareReadCached},
		{"read-packed", "Read a file for the first time in the process", prepareReadPacked},
	}
}

// The names of those who read in this process.
const (
	bySnapshot = "Carrel: snapshot, lookup, content"
	byTool     = "Carrel: readFile"
	byHeld     = "Carrel: lookup and content, snapshot held"
	byOS       = "os.ReadFile of a checkout"
)

// reads are the reads of a row: which files, in which order, in which round.
type reads struct {
	*repo
	names []string
	of    func(round int) []int // indexes of names
	again bool                  // all have been read before
}

func prepareReadCached(s *stage) {
	r := usual().checkedOut(s)
	n := sized(100, 2_000)
	s.about = fmt.Sprintf("Files of 1–9 KB in random order, the same %d in every round, of a repository with %d. Each read looks "+
		"first whether another process wrote to the workspace and where the branch is, but where the snapshot is held.", n, r.spec.files)
	names := shuffled(r.paths(s), 1)[:n]
	s.read(&reads{repo: r, names: names, again: true, of: func(round int) []int { return permutation(n, round) }})
}

func prepareReadPacked(s *stage) {
	r := usual().checkedOut(s)
	n := sized(100, 2_000)
	s.about = "Files of 1–9 KB in random order, none of which the process has read before: Carrel inflates each from the pack. " +
		"The page cache is warm, for the checkout as for the pack."
	names := shuffled(r.paths(s), 2)
	if most := len(names) / n; *rounds > most && *full {
		s.Fatalf("-rounds is %d: there are files for %d", *rounds, most)
	}
	s.read(&reads{repo: r, names: names, of: func(round int) []int {
		all := make([]int, n)
		for i := range all {
			all[i] = round*n + i
		}
		return all
	}})
}

// read has everyone read, each with a process's worth of caches of its own.
func (s *stage) read(r *reads) {
	s.readBy(r, bySnapshot, func(w *workspace.Workspace) reader {
		return func(ctx context.Context, p workspace.Path) ([]byte, error) {
			snap, err := w.Snapshot(ctx)
			if err != nil {
				return nil, err
			}
			return contentOf(ctx, snap, p)
		}
	})
	s.readBy(r, byTool, func(w *workspace.Workspace) reader {
		return func(ctx context.Context, p workspace.Path) ([]byte, error) {
			out, err := tools.ReadFile(ctx, w, tools.ReadFileIn{Path: string(p)})
			return []byte(out.Render().Text), err
		}
	})
	s.readBy(r, byHeld, func(w *workspace.Workspace) reader {
		snap, err := w.Snapshot(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		return func(ctx context.Context, p workspace.Path) ([]byte, error) { return contentOf(ctx, snap, p) }
	})
	s.readFiles(r)
	s.hold(bySnapshot, byOS, atMost(1.5))
	s.hold(byTool, byOS, atMost(1.5))
	s.hold(byHeld, byOS, atMost(1))
}

// reader reads a file of a workspace.
type reader func(context.Context, workspace.Path) ([]byte, error)

func contentOf(ctx context.Context, snap *workspace.Snapshot, p workspace.Path) ([]byte, error) {
	f, err := snap.Lookup(ctx, p)
	if err != nil {
		return nil, err
	}
	return snap.Content(ctx, f)
}

// readBy has Carrel read in a way.
func (s *stage) readBy(r *reads, name string, way func(*workspace.Workspace) reader) {
	read := way(newCarrel(s, r.dir).workspace(s, "reader"))
	paths := make([]workspace.Path, len(r.names))
	for i, name := range r.names {
		paths[i] = workspace.Path(top + "/" + name)
	}
	c := s.add(name, func(t *turn) error {
		return r.each(t, func(i int) ([]byte, error) { return read(t, paths[i]) })
	})
	c.warm = func(ctx context.Context) error {
		if !r.again { // the pack is in the page cache, and Carrel has not seen it
			_, err := os.ReadFile(packOf(s, r.dir))
			return err
		}
		return twice(paths, func(p workspace.Path) error {
			_, err := read(ctx, p)
			return err
		})
	}
}

// readFiles has the system read.
func (s *stage) readFiles(r *reads) {
	paths := make([]string, len(r.names))
	for i, name := range r.names {
		paths[i] = filepath.Join(r.files, name)
	}
	c := s.add(byOS, func(t *turn) error {
		return r.each(t, func(i int) ([]byte, error) { return os.ReadFile(paths[i]) })
	})
	c.warm = func(context.Context) error {
		return twice(paths, func(p string) error {
			_, err := os.ReadFile(p)
			return err
		})
	}
}

// twice does something with every element, and once more.
func twice[T any](all []T, f func(T) error) error {
	for range 2 {
		for _, x := range all {
			if err := f(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// each reads the files of a round, one after the other.
func (r *reads) each(t *turn, read func(i int) ([]byte, error)) error {
	for _, i := range r.of(t.round) {
		var content []byte
		err := t.time("", func() (err error) {
			content, err = read(i)
			return err
		})
		if err != nil {
			return err
		}
		t.saw(r.names[i], content)
	}
	return nil
}

// packOf is the one pack of a repository.
func packOf(s *stage, dir string) string {
	s.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		s.Fatalf("%s has the packs %v: %v", dir, packs, err)
	}
	return packs[0]
}

// permutation is the numbers below n in an order that follows from a seed.
func permutation(n, seed int) []int {
	all := make([]int, n)
	d := roll(1<<20, uint64(seed))
	for i := range all {
		j := d.n(i + 1)
		all[i], all[j] = all[j], i
	}
	return all
}

// shuffled is a list in an order that follows from a seed.
func shuffled(list []string, seed int) []string {
	mixed := slices.Clone(list)
	for i, j := range permutation(len(list), seed) {
		mixed[i] = list[j]
	}
	return mixed
}
