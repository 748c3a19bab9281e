package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	for _, test := range []struct{ live, want int64 }{ // in MiB
		{0, 32},
		{10, 82},
		{70, 382},
		{100, 384},
		{192, 384},
		{500, 1000},
	} {
		if got := memoryLimit(test.live<<20) >> 20; got != test.want {
			t.Errorf("with %d MiB live: got %d MiB, want %d", test.live, got, test.want)
		}
	}
}

// TestCollectSeldom lets memory become live, and has the limit follow.
func TestCollectSeldom(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	runtime.GC()
	collectSeldom()
	defer debug.SetGCPercent(percent)
	defer debug.SetMemoryLimit(limit)
	low := debug.SetMemoryLimit(-1)
	live := make([]byte, 100<<20)
	for debug.SetMemoryLimit(-1) != heapBytes { // else this never ends
		runtime.GC()
	}
	runtime.KeepAlive(live)
	if low >= heapBytes {
		t.Errorf("with little live the limit was %d already", low)
	}
}
