package mounts

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkZ(b *testing.B) {
	r, s, _ := bare(b, map[string]string{"a/b/c": "x"})
	rng := rand.New(rand.NewPCG(43, 43))
	for b.Loop() {
		land(b, r, change(b, r, s, "main", map[string]string{"a/b/c": fmt.Sprint(rng.Uint64())}))
	}
}
