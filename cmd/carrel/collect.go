package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// heapBytes is how much memory a server of some size takes before it looks for
	// garbage. A collection takes as long as is live, and goes on beside what is
	// served: Go's default, to collect whenever the heap has doubled, has a server
	// with little memory and many requests collect every second.
	heapBytes = 384 << 20
	// idleBytes is what it is with nothing live, most of it stacks and the runtime's
	// own: the server of one person stays small.
	idleBytes = 32 << 20
)

// collectSeldom has garbage collected by those, unless whoever runs the program has
// said when.
func collectSeldom() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(1000) // the limit comes first, and an idle server is looked at too
		afterCollection(&collection{})
	}
}

// collection becomes garbage at once, so that its finalizer runs after the next one.
// It has a pointer, else it might share its place with what lives on.
type collection struct {
	limit int64
	_     *byte
}

func afterCollection(c *collection) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	// To change it stops the world for a moment.
	if limit := memoryLimit(int64(live[0].Value.Uint64())); limit > c.limit+c.limit/8 || limit < c.limit-c.limit/8 {
		c.limit = limit
		debug.SetMemoryLimit(limit)
	}
	runtime.SetFinalizer(&collection{limit: c.limit}, afterCollection)
}

// memoryLimit is the limit with so many live bytes: at least as much again, as by
// Go's default, and where that is little, up to five times as much.
func memoryLimit(live int64) int64 {
	return max(2*live, min(idleBytes+5*live, heapBytes))
}
