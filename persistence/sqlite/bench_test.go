package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"carrel.dev/workspace"
)

// benchBatch is one event of 1 KiB that names one body of 1 KiB, both new.
func benchBatch(b *testing.B, stream string, last workspace.Seq) workspace.Batch {
	content := fmt.Appendf(nil, "%s %d %d\n%s", stream, last, rand.Uint64(), strings.Repeat("x", 1000))
	id, err := workspace.BlobID(content)
	if err != nil {
		b.Fatal(err)
	}
	return workspace.Batch{
		Stream: workspace.StreamID{Project: "bench", Name: stream}, Last: last,
		Events: []workspace.Event{{
			ID: fmt.Sprintf("%016x", rand.Uint64()), Type: "workspace/changed", Version: 1, At: time.Now(),
			Actor: "bench", Payload: bytes.Repeat([]byte("p"), 1000), Bodies: []workspace.OID{id},
		}},
		Bodies: []workspace.Body{{ID: id, Content: content}},
	}
}

// BenchmarkFloor is what the disk takes for 4 KiB at the end of a file and one
// fdatasync, to hold the others against.
func BenchmarkFloor(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "floor"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "carrel.db"), nil)
	last := workspace.Seq(0)
	for b.Loop() {
		if _, err := s.Append(b.Context(), benchBatch(b, "/agents/a", last)); err != nil {
			b.Fatal(err)
		}
		last++
	}
}

// BenchmarkAppend64 has 64 appenders, each on a stream of its own.
func BenchmarkAppend64(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "carrel.db"), nil)
	var appenders atomic.Int64
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		stream := fmt.Sprint("/agents/", appenders.Add(1))
		for last := workspace.Seq(0); pb.Next(); last++ {
			if _, err := s.Append(b.Context(), benchBatch(b, stream, last)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkSinceNothing asks a feed in which nothing is new.
func BenchmarkSinceNothing(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "carrel.db"), nil)
	if _, err := s.Append(b.Context(), benchBatch(b, "/agents/a", 0)); err != nil {
		b.Fatal(err)
	}
	end, err := s.End(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if recs, _, err := s.Since(b.Context(), end); err != nil || len(recs) != 0 {
			b.Fatal(recs, err)
		}
	}
}

// BenchmarkRecords reads a stream of 1,000 events.
func BenchmarkRecords(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "carrel.db"), nil)
	batch := benchBatch(b, "/agents/a", 0)
	for range 999 {
		next := benchBatch(b, "/agents/a", 0)
		batch.Events, batch.Bodies = append(batch.Events, next.Events...), append(batch.Bodies, next.Bodies...)
	}
	if _, err := s.Append(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, err := range s.Records(b.Context(), batch.Stream, 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
