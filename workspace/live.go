package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// checkpointEvery is how many records a state moves on before it is saved again.
const checkpointEvery = 500

// live is a workspace in memory, one for all sessions of this process.
type live struct {
	host    *Host
	project *Project
	id      ID
	served  served
	held    held
	// idle says that it is among the project's idle ones, which the project's lock
	// guards; a call that finds it set after it has used the state keeps it.
	idle    atomic.Bool
	cleanup sync.Once // of the entry among the idle ones

	// chain is held by whoever mutates: one at a time, first in, first out. It is
	// taken before every other lock. inflight, the commits that this process is
	// landing, by key, belongs to its holder.
	chain    chan struct{}
	inflight map[string]bool

	mu    sync.Mutex // guards what follows; taken last
	state *State
	table *Table
	drawn Seq // of the repos that table was derived from
	// granted is what callers of the newest grants that limit repos were shown.
	granted *granted
	saved   Seq   // of the newest checkpoint
	told    Seq   // up to which sessions forgot what records took away
	fails   error // why the stream could not be read to its end
	used    time.Time
}

func newLive(p *Project, id ID) *live {
	return &live{
		host: p.host, project: p, id: id, state: NewState(),
		chain: make(chan struct{}, 1), inflight: map[string]bool{},
	}
}

// workspace returns the live workspace of an identity, reading its stream if it
// is not in memory. One that was never born is not kept: it serves whoever makes
// it, and keep settles which of several stays.
func (p *Project) workspace(ctx context.Context, id ID) (*live, error) {
	if err := p.host.catchUp(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l := p.known(id)
	if l == nil {
		l = newLive(p, id)
		p.live[id] = l
		l.fails = errUnloaded
	}
	p.mu.Unlock()
	if _, err := l.current(ctx); err != nil {
		return nil, err // it stays, and is read again by whoever asks next
	}
	p.forgetUnborn(l)
	return l, nil
}

// atHand returns the live workspace of an identity that is in memory and known to
// be there, else nil: whoever uses it catches up first.
func (p *Project) atHand(id ID) *live {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.live[id]
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails != nil || l.open(l.state) != nil {
		return nil
	}
	return l
}

// forgetUnborn lets go of a workspace that was never born, so that asking for
// names costs no memory. It is put back by its birth.
func (p *Project) forgetUnborn(l *live) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.live[l.id] == l && l.fails == nil && !l.state.Born {
		delete(p.live, l.id)
	}
}

// errUnloaded marks a live workspace whose stream is still to be read.
var errUnloaded = errors.New("not read yet")

func (l *live) stream() StreamID { return l.project.stream(string(l.id)) }

// current returns the newest state, reading the stream if that has to be done.
func (l *live) current(ctx context.Context) (*State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	return l.state, nil
}

// ready reads the stream if that has to be done. The caller holds mu.
func (l *live) ready(ctx context.Context) error {
	l.used = l.host.cfg.Now()
	if l.fails != nil {
		l.fails = l.read(ctx)
	}
	return l.fails
}

// open refuses a state of a workspace that is not there, or not any more.
func (l *live) open(s *State) error {
	switch {
	case !s.Born:
		return Unborn(l.id)
	case s.Deleted:
		return Errorf(Closed, "the workspace was deleted").At(string(l.id)).
			Hinted("Create another one, under a new path, with `workspace.create`.")
	}
	return nil
}

// evict lets go of the state of a workspace that nobody asked for since a time:
// whoever asks next reads it again. What its sessions were served stays, which
// no record has. It reports whether nothing is left that has to stay in memory.
func (l *live) evict(since, long time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.used.Before(since) {
		return false
	}
	if l.fails == nil {
		l.state, l.table, l.granted, l.saved = NewState(), nil, nil, 0
		l.fails = errUnloaded
		l.held.drop()
	}
	anybody, sessions := l.served.has()
	return !anybody || !sessions && l.used.Before(long)
}

// read takes in the stream from the newest checkpoint, or from where the state
// is. The caller holds mu.
func (l *live) read(ctx context.Context) error {
	if c, ok := l.host.cfg.Store.(Checkpointer); ok && l.state.Seq == 0 {
		at, b, err := c.LoadCheckpoint(ctx, l.stream(), reducerVersion)
		var s State
		if err == nil && json.Unmarshal(b, &s) == nil && s.Seq == at {
			l.state, l.saved = &s, at
		}
	}
	after := l.state.Seq
	if l.told > 0 {
		after = min(after, l.told) // a checkpoint does not say what to forget
	}
	for r, err := range l.project.Records(ctx, string(l.id), after) {
		if err != nil {
			return err
		}
		p := payloadOf(r)
		l.forget(r, p)
		if r.Seq > l.state.Seq {
			l.state = l.state.reduce(r, p)
		}
	}
	l.told = max(l.told, l.state.Seq)
	l.table = nil
	l.save(ctx)
	return nil
}

// take reduces a record, unless it is known, and reads the stream on if one
// between is missing.
func (l *live) take(ctx context.Context, r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.fails != nil || r.Seq <= l.state.Seq:
		return nil // read in full by whoever asks, or known
	case r.Seq != l.state.Seq+1:
		l.fails = l.read(ctx)
		return l.fails
	}
	r, err := l.host.resolve(ctx, r)
	if err != nil {
		l.fails = err
		return err
	}
	p := payloadOf(r)
	l.forget(r, p)
	l.state = l.state.reduce(r, p)
	if l.table != nil && redraws(l.table, r) {
		l.table = nil
	}
	l.save(ctx)
	return nil
}

// forget drops what sessions were served and a record, of whatever process, has
// taken away: versions that were never committed are no base for a write. A
// record that is read again takes nothing away from what was served since.
func (l *live) forget(r Record, p payload) {
	if r.Seq <= l.told {
		return
	}
	l.told = r.Seq
	if p.err != nil {
		return
	}
	switch p := p.value.(type) {
	case Changed:
		for _, d := range p.Drop {
			l.served.forget(d)
		}
		for _, c := range p.Changes {
			if c.After == nil {
				l.served.forget(c.Path)
			}
		}
	case Configured:
		for key := range p.Mounts {
			l.served.forgetAll(Path(key)) // it may be another repo from now on
		}
	case Committed:
		for _, c := range p.Changes {
			switch {
			case c.After != nil: // rewritten since, on what was committed
				l.served.committed(placeOf(c.Path, c.After.Owner), c.After.Base.Node)
			case c.Before != nil:
				l.served.committed(placeOf(c.Path, c.Before.Owner), c.Before.Node())
			}
		}
	}
}

// reread has the stream read on by whoever asks next.
func (l *live) reread() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails = errUnloaded
}

// redraws reports whether a record may change the mount table. A write routes to
// the mount that its owner names, so it matters only to mounts that wait for
// content to go away.
func redraws(t *Table, r Record) bool {
	if r.Type != WorkspaceChanged && r.Type != WorkspaceCommitting && r.Type != WorkspaceCommitDrop {
		return true
	}
	if len(t.Withheld) > 0 {
		return true
	}
	for _, m := range t.Mounts {
		if m.Removed {
			return true
		}
	}
	return false
}

// save keeps a checkpoint once enough records were taken in. It is a droppable
// copy: a failure costs time at the next start and nothing else. The caller
// holds mu.
func (l *live) save(ctx context.Context) {
	c, ok := l.host.cfg.Store.(Checkpointer)
	if !ok || l.state.Unread != 0 || l.state.Seq < l.saved+checkpointEvery {
		return
	}
	b, err := json.Marshal(l.state)
	if err == nil {
		err = c.SaveCheckpoint(ctx, l.stream(), l.state.Seq, reducerVersion, b)
	}
	if err != nil {
		l.host.cfg.Log.WarnContext(ctx, "checkpoint not saved", "workspace", l.id, "err", err)
	}
	l.saved = l.state.Seq
}

// snapshot returns a snapshot of the newest state that is known here.
func (l *live) snapshot(ctx context.Context) (*Snapshot, error) {
	c := l.project.published.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	if l.table == nil || l.drawn != c.reposAt {
		l.table, l.drawn = derive(c.Repos, l.state, nil), c.reposAt
	}
	return newSnapshot(l, l.state, l.table), nil
}

// lock takes the chain, or gives up when ctx ends.
func (l *live) lock(ctx context.Context) error {
	select {
	case l.chain <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *live) unlock() { <-l.chain }
