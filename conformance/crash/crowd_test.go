package crash

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/conformance"
)

// crowd are processes that stay alive and commit to the shared repositories, each
// from a workspace of its own.
type crowd struct {
	place *place
	pipes []*conformance.Pipe
	names []string // the workspace of each process

	stop  context.CancelFunc
	group sync.WaitGroup
	pause sync.RWMutex // held by whoever wants quiet

	mu      sync.Mutex        // guards what follows
	commits map[string]string // ids by message
}

// newCrowd starts n processes. They do nothing before start.
func newCrowd(p *place, n int) *crowd {
	p.t.Helper()
	c := &crowd{place: p, stop: func() {}, commits: map[string]string{}}
	for i := range n {
		c.pipes = append(c.pipes, p.process())
		c.names = append(c.names, fmt.Sprintf("/agents/crowd%d", i))
		ask(p.t, c.pipes[i], create(c.names[i]), nil)
	}
	return c
}

// breath is how long a process of a crowd rests between two commits.
const breath = 40 * time.Millisecond

// start has every process write to and commit to each of the mounts until end.
func (c *crowd) start(t *testing.T, mounts ...string) {
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	for n := range c.pipes {
		c.group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				err := c.commit(t.Context(), n, mounts[i%len(mounts)], i)
				if err != nil && t.Context().Err() == nil {
					t.Error(err)
					return
				}
				time.Sleep(breath)
			}
		})
	}
}

func (c *crowd) commit(ctx context.Context, n int, mount string, i int) error {
	c.pause.RLock()
	defer c.pause.RUnlock()
	message := fmt.Sprintf("crowd%d %d", n, i)
	if err := try(ctx, c.pipes[n], write(c.names[n], fmt.Sprintf("%s/crowd%d/f%d", mount, n, i%5), message), nil); err != nil {
		return err
	}
	var facts struct{ Commit string }
	if err := press(ctx, c.pipes[n], commit(c.names[n], mount, message), &facts); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commits[message] = facts.Commit
	return nil
}

// end stops the work and closes the processes, which must have said nothing bad.
func (c *crowd) end(t *testing.T) {
	t.Helper()
	c.stop()
	c.group.Wait()
	for _, p := range c.pipes {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkCommits finds each of the commits on the branches of the repositories, by
// its id, and no message twice.
func checkCommits(p *place, repos []string, commits map[string]string) error {
	ids := map[string]string{}
	for _, repo := range repos {
		lines, err := p.lines(repo, "log", "--branches", "--format=%H %s")
		if err != nil {
			return err
		}
		for _, line := range lines {
			id, message, _ := strings.Cut(line, " ")
			if message == "first" {
				continue
			}
			if ids[message] != "" {
				return fmt.Errorf("%q was committed twice, as %s and as %s", message, ids[message], id)
			}
			ids[message] = id
		}
	}
	for message, id := range commits {
		if ids[message] != id {
			return fmt.Errorf("%q is %q on a branch and was acknowledged as %q", message, ids[message], id)
		}
	}
	return nil
}
