package workspace

import (
	"context"
	"encoding/json"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"
)

// Project is one path namespace with its repos and workspaces. All methods are
// safe for concurrent use.
type Project struct {
	host *Host
	name string

	mu      sync.Mutex // guards what follows; taken before a workspace's lock
	loaded  bool
	catalog *Catalog
	saved   Seq // of the catalog's newest checkpoint
	live    map[ID]*live
	// idle are the workspaces that nothing but a handle keeps in memory: whoever
	// asks for one that a handle has must get the same, for its chain.
	idle map[ID]weak.Pointer[live]

	published atomic.Pointer[Catalog]

	quota quota
}

// Name is the project's name.
func (p *Project) Name() string { return p.name }

// Host returns the host that serves the project.
func (p *Project) Host() *Host { return p.host }

func (p *Project) stream(name string) StreamID { return StreamID{p.name, name} }

// load reads the project's stream when it is first asked for.
func (p *Project) load(ctx context.Context) error {
	read, err := p.loadOnce(ctx)
	if read {
		p.saveCatalog(ctx)
	}
	return err
}

// loadOnce reports whether the project's stream had to be read, and was.
func (p *Project) loadOnce(ctx context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded {
		return false, nil
	}
	if err := p.advance(ctx); err != nil {
		return false, err
	}
	p.loaded = true
	return true, nil
}

// advance takes in what the project's stream holds after the catalog, or after
// its newest checkpoint if nothing was read yet. The caller holds mu.
func (p *Project) advance(ctx context.Context) error {
	next := p.catalog.clone()
	if next.Seq == 0 {
		if saved := p.savedCatalog(ctx); saved != nil {
			next, p.saved = saved, saved.Seq
		}
	}
	for r, err := range p.host.cfg.Store.Records(ctx, p.stream(ProjectStream), next.Seq) {
		if err != nil {
			return err
		}
		if r, err = p.host.resolve(ctx, r); err != nil {
			return err
		}
		next.reduce(r)
	}
	p.catalog = next
	p.published.Store(next)
	return nil
}

// handOn takes in a record that some process appended.
func (p *Project) handOn(ctx context.Context, r Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loaded {
		return nil
	}
	if r.Stream.Name == ProjectStream {
		return p.takeCatalog(ctx, r)
	}
	l := p.live[ID(r.Stream.Name)]
	if l == nil {
		l = p.idle[ID(r.Stream.Name)].Value()
	}
	if l != nil {
		// A failure is the workspace's own: whoever uses it next is told.
		if err := l.take(ctx, r); err != nil {
			p.host.cfg.Log.WarnContext(ctx, "stream not followed", "workspace", l.id, "err", err)
		}
	}
	return nil
}

// evict lets go of the states of workspaces that nobody asked for since a time,
// and of all of a workspace that no session has been served anything of, or
// that nobody asked for since long.
func (p *Project) evict(since, long time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, l := range p.live {
		if l.evict(since, long) {
			delete(p.live, id)
			p.idle[id] = weak.Make(l)
			l.idle.Store(true)
			l.cleanup.Do(func() { runtime.AddCleanup(l, p.forgetIdle, id) })
		}
	}
}

// forgetIdle runs when no handle has an idle workspace any more.
func (p *Project) forgetIdle(id ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.idle[id]; ok && at.Value() == nil {
		delete(p.idle, id)
	}
}

// known returns a workspace that is in memory, nil if it is not. The caller
// holds mu.
func (p *Project) known(id ID) *live {
	if l := p.live[id]; l != nil {
		return l
	}
	l := p.idle[id].Value()
	if l != nil {
		p.wake(l)
	}
	return l
}

// all yields the workspaces that are in memory. The caller holds mu.
func (p *Project) all() iter.Seq[*live] {
	return func(yield func(*live) bool) {
		for _, l := range p.live {
			if !yield(l) {
				return
			}
		}
		for _, at := range p.idle {
			if l := at.Value(); l != nil && !yield(l) {
				return
			}
		}
	}
}

// wake keeps an idle workspace in memory again. The caller holds mu.
func (p *Project) wake(l *live) {
	delete(p.idle, l.id)
	p.live[l.id] = l
	l.idle.Store(false)
}

// reread takes in what the project's stream holds now, and has the workspaces
// read theirs when they are asked for.
func (p *Project) reread(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loaded {
		return
	}
	for l := range p.all() {
		l.reread()
	}
	if err := p.advance(ctx); err != nil {
		p.loaded = false // whoever uses the project next is told
	}
}

// takeCatalog reduces one record of the project's stream. The caller holds mu.
func (p *Project) takeCatalog(ctx context.Context, r Record) error {
	switch {
	case r.Seq <= p.catalog.Seq:
		return nil
	case r.Seq != p.catalog.Seq+1:
		return p.advance(ctx)
	}
	r, err := p.host.resolve(ctx, r)
	if err != nil {
		return err
	}
	next := p.catalog.clone()
	next.reduce(r)
	p.catalog = next
	p.published.Store(next)
	return nil
}

// takeOwn takes in records that this process has just appended. Those of a
// workspace are taken by whoever holds its chain.
func (p *Project) takeOwn(ctx context.Context, records []Record) error {
	for _, r := range records {
		if r.Stream.Name != ProjectStream {
			continue
		}
		p.mu.Lock()
		err := p.takeCatalog(ctx, r)
		p.mu.Unlock()
		if err != nil {
			return err
		}
		p.saveCatalog(ctx)
	}
	return nil
}

// Catalog returns the project's repos and workspaces as they are now.
func (p *Project) Catalog(ctx context.Context) (*Catalog, error) {
	if err := p.host.catchUp(ctx); err != nil {
		return nil, err
	}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	return p.published.Load(), nil
}

// Exists reports whether anything was ever registered in the project.
func (p *Project) Exists(ctx context.Context) (bool, error) {
	c, err := p.Catalog(ctx)
	return err == nil && c.Born, err
}

// SetRepo registers a repo, or changes the branch or policy of one that is
// there. A path that belongs to another source is Exist, also after the repo
// was removed. Registering what is there appends nothing.
func (p *Project) SetRepo(ctx context.Context, caller Caller, r Repo) error {
	if _, err := ParseRepoPath(string(r.Path)); err != nil {
		return err
	}
	if _, err := ParsePolicy(string(r.Policy)); err != nil {
		return err
	}
	if r.Branch == "" {
		return Errorf(Invalid, "a repo needs a branch").At(string(r.Path))
	}
	return p.changeRepo(ctx, caller, r.Path, func(old Repo, known bool) (string, any, error) {
		settings := RepoSettings{r.Source.Location, r.Source.Managed, r.Branch, r.Policy}
		switch {
		case known && old.Source != r.Source:
			return "", nil, Errorf(Exist, "the name is taken by another repository").At(string(r.Path)).
				Hinted("Choose another name, as NAME=PATH.")
		case known && old == r:
			return "", nil, nil
		case known && !old.Removed:
			return RepoConfigured, settings, nil
		}
		return RepoCreated, settings, nil
	})
}

// RemoveRepo takes a repo out of the project. Its repository is not touched, and
// workspaces that have uncommitted content of it keep showing it.
func (p *Project) RemoveRepo(ctx context.Context, caller Caller, path RepoPath) error {
	return p.changeRepo(ctx, caller, path, func(old Repo, known bool) (string, any, error) {
		if !known || old.Removed {
			return "", nil, Errorf(NotExist, "the project has no such repo").At(string(path))
		}
		return RepoRemoved, struct{}{}, nil
	})
}

// changeRepo appends the event that decide names to the repo's stream and its
// copy to the project's; "" appends nothing.
func (p *Project) changeRepo(ctx context.Context, caller Caller, path RepoPath, decide func(old Repo, known bool) (string, any, error)) error {
	for {
		c, err := p.Catalog(ctx)
		if err != nil {
			return err
		}
		if c.Unread != 0 {
			return unread(ProjectStream, c.Unread)
		}
		old, known := c.Repos[path]
		typ, payload, err := decide(old, known)
		if typ == "" || err != nil {
			return err
		}
		last, err := p.host.cfg.Store.Last(ctx, p.stream(string(path)))
		if err != nil {
			return err
		}
		if now, err := p.Catalog(ctx); err != nil || now != c {
			if err != nil {
				return err
			}
			continue // decided on what is no longer so
		}
		event := p.stamp(caller, encode(typ, payload))
		home := []Event{p.copied(event, string(path), last+1)}
		if !c.Born {
			home = append([]Event{p.stamp(caller, encode(ProjectCreated, struct{}{}))}, home...)
		}
		records, err := p.host.appendDurably(ctx, []Batch{
			{Stream: p.stream(string(path)), Last: last, Events: []Event{event}},
			{Stream: p.stream(ProjectStream), Last: Any, Events: home},
		}, nil)
		if isAppendConflict(err) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return err
		}
		return p.takeOwn(ctx, records)
	}
}

// stamp completes an event with who, when and a new id, unless it has them.
func (p *Project) stamp(c Caller, e Event) Event {
	if e.ID != "" {
		return e
	}
	e.ID, e.At = p.host.cfg.NewID(), p.host.cfg.Now().UTC()
	e.Actor, e.Session, e.Client = c.Actor.Name, c.Session, c.Client
	if c.Principal != "" { // names are chosen, and several may have one
		e.Actor += " [" + c.Principal + "]"
	}
	return e
}

// copied returns the copy of an event for the project's stream.
func (p *Project) copied(e Event, stream string, seq Seq) Event {
	c := Copied{Stream: stream, Seq: seq}
	if e.PayloadBody.IsZero() {
		c.Payload = json.RawMessage(slices.Clone(e.Payload))
	}
	home := encode(e.Type, c)
	home.ID, home.At, home.Actor, home.Session, home.Client = e.ID+"/copy", e.At, e.Actor, e.Session, e.Client
	return home
}

// Records yields a stream's records after a seq, with their payloads.
func (p *Project) Records(ctx context.Context, stream string, after Seq) func(yield func(Record, error) bool) {
	return func(yield func(Record, error) bool) {
		for r, err := range p.host.cfg.Store.Records(ctx, p.stream(stream), after) {
			if err == nil {
				r, err = p.host.resolve(ctx, r)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// unread is why a stream that a newer Carrel wrote is not written to.
func unread(stream string, at Seq) error {
	return Errorf(Unavailable, "stream %s holds a record, at seq %d, that only a newer version of Carrel understands", stream, at).
		Hinted("Update carrel: until then this can be read and not written.")
}
