package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// world is a workspace over the usual repository, for the benchmarks of what is
// called most.
type world struct {
	*carrel
	ws    *workspace.Workspace
	git   string
	files string
	names []string // of files, in random order
	paths []workspace.Path
}

// newWorld has read the files that are to be read.
func newWorld(b *testing.B) *world {
	b.Helper()
	r := usual().checkedOut(b)
	w := &world{git: copyOf(b, r), files: r.files, names: shuffled(r.paths(b), 8)[:500]}
	w.carrel = newCarrel(b, w.git)
	w.ws = w.workspace(b, "bench")
	for _, name := range w.names {
		w.paths = append(w.paths, workspace.Path(top+"/"+name))
	}
	for _, p := range w.paths {
		if _, err := tools.ReadFile(b.Context(), w.ws, tools.ReadFileIn{Path: string(p)}); err != nil {
			b.Fatal(err)
		}
	}
	return w
}

// run has a benchmark do something again and again; i counts.
func run(b *testing.B, name string, f func(ctx context.Context, i int) error) {
	b.Run(name, func(b *testing.B) {
		ctx := b.Context()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := f(ctx, i); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	w := newWorld(b)
	held, err := w.ws.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	path := func(i int) workspace.Path { return w.paths[i%len(w.paths)] }
	run(b, "os.ReadFile", func(_ context.Context, i int) error {
		_, err := os.ReadFile(filepath.Join(w.files, w.names[i%len(w.names)]))
		return err
	})
	run(b, "held", func(ctx context.Context, i int) error {
		_, err := contentOf(ctx, held, path(i))
		return err
	})
	run(b, "snapshot", func(ctx context.Context, i int) error {
		snap, err := w.ws.Snapshot(ctx)
		if err == nil {
			_, err = contentOf(ctx, snap, path(i))
		}
		return err
	})
	run(b, "readFile", func(ctx context.Context, i int) error {
		_, err := tools.ReadFile(ctx, w.ws, tools.ReadFileIn{Path: string(path(i))})
		return err
	})
	run(b, "stat", func(ctx context.Context, i int) error {
		_, err := tools.Stat(ctx, w.ws, tools.StatIn{Path: string(path(i))})
		return err
	})
}

func BenchmarkGlob(b *testing.B) {
	w := newWorld(b)
	for _, pattern := range []string{"**/*.js", "**/index.js", "test/language/*/index.js", w.names[0]} {
		run(b, pattern, func(ctx context.Context, _ int) error {
			_, err := tools.Glob(ctx, w.ws, tools.GlobIn{Pattern: pattern, Path: top})
			return err
		})
	}
}

func BenchmarkStatus(b *testing.B) {
	for _, n := range []int{0, 350} {
		w := newWorld(b)
		if err := someEdits(w.names, n).inWorkspace(b.Context(), w.ws); err != nil {
			b.Fatal(err)
		}
		run(b, fmt.Sprintf("changes=%d", n), func(ctx context.Context, _ int) error {
			_, err := tools.GitStatus(ctx, w.ws, tools.GitStatusIn{})
			return err
		})
	}
}

func BenchmarkEdit(b *testing.B) {
	w := newWorld(b)
	const path = "/workspace/text"
	if _, err := tools.WriteFile(b.Context(), w.ws, tools.WriteFileIn{Path: path, Content: counter(0)}); err != nil {
		b.Fatal(err)
	}
	n := 0
	run(b, "edit", func(ctx context.Context, _ int) error {
		in := tools.EditIn{Path: path, OldString: counter(n), NewString: counter(n + 1)}
		n++
		_, err := tools.Edit(ctx, w.ws, in)
		return err
	})
}

// BenchmarkCommit does not count the writes of what is committed.
func BenchmarkCommit(b *testing.B) {
	for _, files := range []int{1, 100} {
		w := newWorld(b)
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				changes := edits{}
				for _, name := range w.names[:files] {
					changes[name] = counter(n)
				}
				if err := changes.inWorkspace(b.Context(), w.ws); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := tools.GitCommit(b.Context(), w.ws, tools.GitCommitIn{Message: "bench"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNewWorkspace(b *testing.B) {
	w := newWorld(b)
	n := 0
	run(b, "create", func(ctx context.Context, _ int) error {
		n++
		return create(ctx, w.carrel, fmt.Sprintf("/agents/new-%d", n))
	})
}
