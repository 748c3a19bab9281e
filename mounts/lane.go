package mounts

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// lanes let the commits of this process to one branch pass one after the other,
// in the order in which they came, so that they do not fight for its lock.
type lanes struct {
	mu   sync.Mutex // guards open
	open map[string]*lane
}

type lane struct {
	turn  *semaphore.Weighted // first in, first out
	users int                 // guarded by lanes.mu
}

// enter waits for the turn of a branch and returns what ends it.
func (l *lanes) enter(ctx context.Context, ref string) (leave func(), err error) {
	l.mu.Lock()
	at := l.open[ref]
	if at == nil {
		if l.open == nil {
			l.open = map[string]*lane{}
		}
		at = &lane{turn: semaphore.NewWeighted(1)}
		l.open[ref] = at
	}
	at.users++
	l.mu.Unlock()

	done := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if at.users--; at.users == 0 {
			delete(l.open, ref)
		}
	}
	if at.turn.Acquire(ctx, 1) != nil {
		done()
		return nil, alive(ctx)
	}
	return func() { at.turn.Release(1); done() }, nil
}
