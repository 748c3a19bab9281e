package mounts

import (
	"context"
	"sync"
	"time"

	"carrel.dev/mounts/object"
)

// background is what a process does beside the calls that it answers.
type background struct {
	mu      sync.Mutex // guards closed, and adding to running
	closed  bool
	end     chan struct{} // closed by Close
	running sync.WaitGroup
}

// start calls f in a goroutine, and reports whether it does: not after Close.
func (b *background) start(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.running.Go(f)
	}
	return !b.closed
}

// Close ends what goes on in the background, and waits for it: for packs that are
// being folded, which takes milliseconds, and not until folded ones are old enough
// to go. Calls may still be made afterwards. It always returns nil.
func (r *Repos) Close() error {
	b := &r.background
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.end)
	}
	b.mu.Unlock()
	b.running.Wait()
	return nil
}

// upkeep decides when the small packs of a repository are consolidated.
type upkeep struct {
	mu      sync.Mutex // guards the others
	running bool
	looked  bool          // it has run once
	commits int           // since it began to run
	more    chan struct{} // tells a running one that there are many
}

// committed counts a commit, and reports whether it is time to begin. A running
// one is told that it is.
func (u *upkeep) committed(packs, from int) (begin bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.commits++
	if u.looked && u.commits < max(from/2, 1) {
		return false
	}
	if !u.running {
		u.running = packs >= from
		u.looked = u.looked || u.running
		if u.running {
			u.commits, u.more = 0, make(chan struct{}, 1)
		}
		return u.running
	}
	u.commits = 0
	select {
	case u.more <- struct{}{}:
	default:
	}
	return false
}

// ended notes that none is running.
func (u *upkeep) ended() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = false
}

// keepUp has the repository of a landed commit consolidated, if it is time.
func (r *Repos) keepUp(l *landing) {
	from := r.config.PacksFrom
	if from < 0 || !l.repo.upkeep.committed(l.repo.objects.Packs(), from) {
		return
	}
	c := &object.Consolidation{Writer: l.writer(nil), From: from, Grace: r.config.PacksGrace}
	c.Keep = ""
	c.Written = func() error { return r.fault(PackFolded) }
	c.Named = func() error { return r.fault(PackNamed) }
	c.Hidden = func() error { return r.fault(PacksHidden) }
	at := l.repo.shared
	if !r.background.start(func() { r.consolidate(at, c) }) {
		at.upkeep.ended()
	}
}

// mostRest is the longest time between two looks at packs that wait.
const mostRest = 5 * time.Minute

// consolidate folds packs until none waits for its removal. What fails is left for
// a later commit: the commits themselves are not concerned. While nothing can be
// done, for a git that walks the packs, it looks less and less often.
func (r *Repos) consolidate(at *shared, c *object.Consolidation) {
	defer at.upkeep.ended()
	rest := time.Duration(0)
	for {
		done, err := at.objects.Consolidate(context.Background(), c)
		if err != nil || done.Again == 0 {
			return
		}
		if done.Folded+done.Removed > 0 {
			rest = 0
		}
		rest = min(max(2*rest, done.Again), mostRest)
		again := time.NewTimer(rest)
		select {
		case <-again.C:
		case <-at.upkeep.more:
			again.Stop()
			rest = 0 // commits go on, and so may git have done
		case <-r.background.end:
			return
		}
	}
}
