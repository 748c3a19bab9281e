package mounts

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
)

func BenchmarkZ(b *testing.B) {
	git := &gittest.Repo{T: b, Dir: "/tmp/gosrc"}
	head := oid(b, git.Git("rev-parse", "HEAD"))
	paths := strings.Split(git.Git("ls-files"), "\n")
	rng := rand.New(rand.NewPCG(42, 42))
	b.Logf("%d files", len(paths))
	b.Run("os.ReadFile", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(filepath.Join(git.Dir, paths[rng.IntN(len(paths))])); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, cache := range map[string]int64{"mem": 512 << 20, "default": 0, "20MB": 20 << 20} {
		b.Run(name, func(b *testing.B) {
			tree, err := New(&Config{CacheBytes: cache}).Tree(ctx, inPlace(git.Dir), head)
			if err != nil {
				b.Fatal(err)
			}
			one := func() {
				node, err := tree.Lookup(ctx, paths[rng.IntN(len(paths))])
				if err == nil {
					_, err = tree.Read(ctx, node.OID)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for range 2 * len(paths) {
				one()
			}
			for b.Loop() {
				one()
			}
		})
	}
}
