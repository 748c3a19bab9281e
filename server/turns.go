package server

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Turns lets few of the calls run at a time that search or list much, so that they
// leave processors to the others, and lets those who wait for one take turns:
// somebody with many of them waits for the others' as long as they for his.
type Turns struct {
	mu      sync.Mutex // guards what follows
	free    int
	waiting map[string][]chan struct{} // by who waits, the first first
	order   []string                   // who waits, whose turn is next first
	waits   atomic.Int64               // how many calls wait
}

// NewTurns returns turns of which n run at a time; default: one for two processors.
func NewTurns(n int) *Turns {
	if n == 0 {
		n = max(runtime.GOMAXPROCS(0)/2, 1)
	}
	return &Turns{free: n, waiting: map[string][]chan struct{}{}}
}

// Runner has the long calls of another one wait for their turns. Who waits is the
// principal, else the session.
func (t *Turns) Runner(run Runner) Runner {
	return func(ctx context.Context, tool *tools.Tool, c tools.Call, raw json.RawMessage) (tools.Output, error) {
		if !tool.Long {
			return run(ctx, tool, c, raw)
		}
		who := c.Caller.Principal
		if who == "" {
			who = c.Caller.Session
		}
		if err := t.enter(ctx, who); err != nil {
			return nil, workspace.InOp(tool.Name, err)
		}
		defer t.leave()
		return run(tools.Crowded(ctx, func() bool { return t.waits.Load() > 0 }), tool, c, raw)
	}
}

// enter waits for a turn; leave ends it.
func (t *Turns) enter(ctx context.Context, who string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	t.waits.Add(1)
	defer t.waits.Add(-1)
	if len(t.waiting[who]) == 0 {
		t.order = append(t.order, who)
	}
	t.waiting[who] = append(t.waiting[who], turn)
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	if !t.giveUp(who, turn) {
		t.leave() // it came just now
	}
	return workspace.Errorf(workspace.Canceled, "%w", context.Cause(ctx))
}

// giveUp takes a turn out of the line, unless it has come.
func (t *Turns) giveUp(who string, turn chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting[who], turn)
	if i < 0 {
		return false
	}
	t.waiting[who] = slices.Delete(t.waiting[who], i, i+1)
	if len(t.waiting[who]) == 0 {
		delete(t.waiting, who)
		t.order = slices.DeleteFunc(t.order, func(w string) bool { return w == who })
	}
	return true
}

// leave gives the turn to whoever waits for the longest of those who were not
// served since.
func (t *Turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	who := t.order[0]
	t.order = t.order[1:]
	line := t.waiting[who]
	close(line[0])
	if len(line) == 1 {
		delete(t.waiting, who)
		return
	}
	t.waiting[who] = line[1:]
	t.order = append(t.order, who)
}
