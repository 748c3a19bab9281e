package mounts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"carrel.dev/mounts/internal/gittest"
)

// large is a checkout of generated files, packed, with the paths.
func large(b *testing.B, files int) (*gittest.Repo, []string) {
	b.Helper()
	git := gittest.Init(b)
	rng := rand.New(rand.NewPCG(41, 41))
	paths := make([]string, files)
	for i := range paths {
		paths[i] = fmt.Sprintf("dir%d/sub%d/file%d.txt", i%40, i/40%25, i)
		git.Write(paths[i], text(rng, 1500+rng.IntN(6000)))
	}
	git.Commit("all")
	git.Git("repack", "-adq")
	return git, paths
}

func text(rng *rand.Rand, size int) string {
	words := make([]byte, 0, size)
	for len(words) < size {
		words = fmt.Appendf(words, "word%d ", rng.IntN(5000))
		if rng.IntN(10) == 0 {
			words = append(words, '\n')
		}
	}
	return string(words)
}

func BenchmarkRead(b *testing.B) {
	git, paths := large(b, 10_000)
	head := oid(b, git.Git("rev-parse", "HEAD"))
	rng := rand.New(rand.NewPCG(42, 42))
	b.Run("os.ReadFile", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(filepath.Join(git.Dir, paths[rng.IntN(len(paths))])); err != nil {
				b.Fatal(err)
			}
		}
	})
	read := func(b *testing.B, r *Repos, n int) {
		tree, err := r.Tree(ctx, inPlace(git.Dir), head)
		if err != nil {
			b.Fatal(err)
		}
		one := func() {
			node, err := tree.Lookup(ctx, paths[rng.IntN(n)])
			if err == nil {
				_, err = tree.Read(ctx, node.OID)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		for range 2 * n {
			one()
		}
		for b.Loop() {
			one()
		}
	}
	// The trees take about 1 MiB, the blobs 40.
	b.Run("trees from memory, blobs from the pack", func(b *testing.B) { read(b, New(&Config{CacheBytes: 6 << 20}), len(paths)) })
	b.Run("all from memory", func(b *testing.B) { read(b, New(nil), len(paths)) })
	b.Run("Head", func(b *testing.B) {
		r := New(nil)
		for b.Loop() {
			if _, err := r.Head(ctx, inPlace(git.Dir), "main"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 100} {
		git, paths := large(b, 10_000)
		rng := rand.New(rand.NewPCG(43, 43))
		pick := func() map[string]string {
			files := map[string]string{}
			for len(files) < n {
				files[paths[rng.IntN(len(paths))]] = text(rng, 3000)
			}
			return files
		}
		b.Run(fmt.Sprintf("git add and commit, %d files", n), func(b *testing.B) {
			for b.Loop() {
				args := []string{"add"}
				for path, content := range pick() {
					git.Write(path, content)
					args = append(args, path)
				}
				for _, args := range [][]string{args, {"commit", "-qm", "x"}} {
					// With the syncs that git makes by default.
					if out, err := git.TryEnv([]string{"GIT_CONFIG_COUNT=0"}, "", args...); err != nil {
						b.Fatal(out)
					}
				}
			}
		})
		git.Git("branch", "topic")
		r, s := New(nil), inPlace(git.Dir)
		b.Run(fmt.Sprintf("Propose and Land, %d files", n), func(b *testing.B) {
			for b.Loop() {
				land(b, r, change(b, r, s, "topic", pick()))
			}
		})
	}
}

func BenchmarkUncommitted(b *testing.B) {
	git, _ := large(b, 10_000)
	r, s := New(nil), inPlace(git.Dir)
	b.Run("git status", func(b *testing.B) {
		for b.Loop() {
			git.Git("status", "--porcelain", "-uall")
		}
	})
	b.Run("Uncommitted", func(b *testing.B) {
		for b.Loop() {
			if n, err := r.Uncommitted(ctx, s); n != 0 || err != nil {
				b.Fatal(n, err)
			}
		}
	})
}
