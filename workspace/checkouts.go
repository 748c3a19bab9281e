package workspace

import (
	"context"
	"sync"
	"time"
)

// A count of a checkout's uncommitted files reads the whole checkout, which takes
// a second where there are many files. It is a remark beside an answer and must
// not delay it: an answer waits for checkoutWait at most and then has the count
// before. A checkout that takes longer is counted again after checkoutRest times
// as long.
const (
	checkoutWait = 25 * time.Millisecond
	checkoutRest = 20
	checkoutTime = time.Minute // a count that takes longer is given up
)

// checkouts remembers how many uncommitted files the checkouts have.
type checkouts struct {
	mu    sync.Mutex // guards the map and what it holds
	known map[Source]*checkout
}

type checkout struct {
	files   int
	counted bool          // files was counted once
	slow    bool          // and that took longer than an answer waits
	next    time.Time     // not counted again before
	running chan struct{} // closed when the count under way ends; nil if none is
}

// Uncommitted returns how many files of the checkout around a mount's repository
// differ from what is committed: they are not visible in any workspace. It does
// not wait for a large checkout: known tells whether there is a number, which
// then may be some seconds old.
func (s *Snapshot) Uncommitted(ctx context.Context, m *Mount) (files int, known bool) {
	c, ok := s.live.host.cfg.Trees.(Checkouts)
	if !ok || m.Source.Managed {
		return 0, false
	}
	return s.live.host.checkouts.files(ctx, c, m.Source)
}

func (k *checkouts) files(ctx context.Context, c Checkouts, s Source) (files int, known bool) {
	k.mu.Lock()
	if k.known == nil {
		k.known = map[Source]*checkout{}
	}
	one := k.known[s]
	if one == nil {
		one = &checkout{}
		k.known[s] = one
	}
	if one.running == nil && time.Now().After(one.next) {
		one.running = make(chan struct{})
		go k.count(one, c, s)
	}
	running, slow := one.running, one.slow
	k.mu.Unlock()
	if running != nil && !slow {
		wait := time.NewTimer(checkoutWait)
		defer wait.Stop()
		select {
		case <-running:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return one.files, one.counted
}

// count counts a checkout's files. A count that fails leaves the one before.
func (k *checkouts) count(one *checkout, c Checkouts, s Source) {
	ctx, cancel := context.WithTimeout(context.Background(), checkoutTime)
	defer cancel()
	start := time.Now()
	n, err := c.Uncommitted(ctx, s)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		one.files, one.counted = n, true
	}
	took := time.Since(start)
	if one.slow = took > checkoutWait; one.slow {
		one.next = time.Now().Add(checkoutRest * took)
	}
	close(one.running)
	one.running = nil
}
