package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// crowd is all sessions of a test.
type crowd struct {
	*world
	sessions []*session
}

func newCrowd(w *world, n int) *crowd {
	c := &crowd{world: w}
	for i := range n {
		c.sessions = append(c.sessions, &session{
			w: w, n: i, repo: i % repos, files: map[string]string{}, pending: map[string]string{}, calls: map[string]int{},
		})
	}
	return c
}

// each does something on all sessions, some at a time.
func (c *crowd) each(atOnce int, do func(s *session) error) {
	c.Helper()
	var all sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, s := range c.sessions {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if err := do(s); err != nil {
				c.Errorf("session %d: %v", s.n, err)
			}
		})
	}
	all.Wait()
}

// work has all sessions make calls until ctx ends, or the server does.
func (c *crowd) work(ctx context.Context, think time.Duration) {
	var all sync.WaitGroup
	for _, s := range c.sessions {
		all.Go(func() {
			for sleep(ctx, rand.N(2*think)) {
				err := s.step(context.WithoutCancel(ctx))
				if errors.Is(err, errDown) && ctx.Err() != nil {
					return // killed
				}
				if err != nil && !errors.Is(err, errLimited) {
					c.Errorf("session %d: %v", s.n, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// sleep waits, and reports whether ctx lives on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// total adds up what the sessions did.
func (c *crowd) total() (calls map[string]int, made, limited int, took []time.Duration) {
	calls = map[string]int{}
	for _, s := range c.sessions {
		for tool, n := range s.calls {
			calls[tool] += n
		}
		made, limited, took = made+s.made, limited+s.limited, append(took, s.took...)
	}
	slices.Sort(took)
	return calls, made, limited, took
}

// whole checks the repositories, which have all commits, and the data directory.
func (c *crowd) whole(atLeast int) {
	c.Helper()
	commits := 0
	for i := range repos {
		dir := filepath.Join(c.dir, fmt.Sprintf("r%d.git", i))
		if out := c.git(dir, "fsck", "--strict", "--no-dangling", "--no-progress"); out != "" {
			c.Errorf("git fsck of r%d: %s", i, out)
		}
		commits += strings.Count(c.git(dir, "log", "--format=%s", "main"), "commits\n")
	}
	if commits < atLeast {
		c.Errorf("%d commits are in the repositories, %d were acknowledged", commits, atLeast)
	}
	c.carrel("fsck")
}

// TestLoad keeps thousands of sessions at work.
func TestLoad(t *testing.T) {
	size := sized()
	c := newCrowd(newWorld(t, size.sessions), size.sessions)
	c.start()
	c.each(32, func(s *session) error { return s.begin(t.Context()) })
	if t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), size.lasts)
	defer cancel()
	var early, late int64
	var watching sync.WaitGroup
	watching.Go(func() {
		if sleep(ctx, size.lasts*2/5) {
			early = c.resident()
		}
		if sleep(ctx, size.lasts*11/20) {
			late = c.resident()
		}
	})
	began := time.Now()
	c.work(ctx, size.think)
	worked := time.Since(began)
	watching.Wait()
	calls, made, limited, took := c.total()
	if len(took) == 0 {
		t.Fatal("nothing was done")
	}
	c.each(32, func(s *session) error {
		for path := range s.files {
			if err := s.check(t.Context(), path); err != nil {
				return err
			}
		}
		return nil
	})
	c.kill(syscall.SIGTERM)
	c.whole(made)
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond) }
	t.Logf("%d sessions, %d calls in %v: %.0f a second, p50 %v, p95 %v, p99 %v, slowest %v; %d commits, %d limited",
		size.sessions, len(took), worked.Round(time.Second), float64(len(took))/worked.Seconds(), at(.5), at(.95), at(.99), at(1), made, limited)
	t.Logf("calls: %v", calls)
	t.Logf("resident memory: %d MiB early, %d MiB late", early>>20, late>>20)
	if limited > 0 {
		t.Errorf("%d calls were refused by a limit, though none was near", limited)
	}
	// In a minute memory is still filling.
	if late > 2<<30 || *full && float64(late) > 1.1*float64(early) {
		t.Errorf("resident memory grew from %d to %d MiB", early>>20, late>>20)
	}
}

// TestKilledUnderLoad kills the server while all sessions are at work. Whoever comes
// back finds everything that was acknowledged, and of what was not, all or nothing.
func TestKilledUnderLoad(t *testing.T) {
	size := sized()
	size.sessions, size.lasts = min(size.sessions, 500), min(size.lasts, 20*time.Second)
	c := newCrowd(newWorld(t, size.sessions), size.sessions)
	c.start()
	c.each(32, func(s *session) error { return s.begin(t.Context()) })
	for range 3 {
		if t.Failed() {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		server := c.serve.Process
		killed := time.AfterFunc(size.lasts/3+rand.N(time.Second), func() {
			cancel()
			server.Kill()
		})
		c.work(ctx, size.think/10)
		killed.Stop()
		c.kill(syscall.SIGKILL)
		c.http.CloseIdleConnections()
		c.start()
		c.each(32, c.survived)
	}
	_, made, _, took := c.total()
	c.kill(syscall.SIGTERM)
	c.whole(made)
	t.Logf("%d sessions, 3 kills, %d calls, %d commits", size.sessions, len(took), made)
}

// survived comes back to a workspace.
func (c *crowd) survived(s *session) error {
	ctx := c.Context()
	if err := s.begin(ctx); err != nil {
		return err
	}
	for path, want := range s.pending {
		r, err := s.call(ctx, "readFile", map[string]any{"path": path})
		switch old, had := s.files[path]; {
		case err == nil && r.text() == want:
			s.files[path] = want
		case err == nil && had && r.text() == old, err != nil && !had && strings.Contains(err.Error(), "not_exist"):
		default:
			return fmt.Errorf("%s has neither what it had nor what was written: %v", path, err)
		}
	}
	clear(s.pending)
	for path := range s.files {
		if err := s.check(ctx, path); err != nil {
			return err
		}
	}
	return nil
}
