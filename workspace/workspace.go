package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Caller says who asks, for the records and for what a session was served.
type Caller struct {
	Actor   Signature
	Session string
	Client  string
	// Principal names who was let in, in logs and records: the id of a token, for example. ""
	// is whoever has the data directory itself.
	Principal string
	// Key makes a mutation idempotent: a repeat with the same key and Request, a
	// digest of what was asked, is given the stored answer and does nothing.
	Key     string
	Request string
	// Grants are what the caller may do; nil: everything.
	Grants *Grants
}

// key is the caller's key as records have it: that of one principal is not another's,
// who could learn by it what was answered.
func (c Caller) key() string {
	if c.Key == "" || c.Principal == "" {
		return c.Key
	}
	return strconv.Quote(c.Principal) + " " + c.Key
}

// Workspace is one caller's handle on a workspace. It is cheap, and all methods
// are safe for concurrent use.
type Workspace struct {
	live   *live
	caller Caller
}

// Workspace returns a handle on a workspace: NotExist if it was never created,
// Closed if it was deleted. What another process has just deleted may be found to
// be so at the first use of the handle. One that the caller is not granted is as
// one that was never created.
func (p *Project) Workspace(ctx context.Context, id ID, c Caller) (*Workspace, error) {
	if !c.Grants.Workspace(id) {
		return nil, Unborn(id)
	}
	if err := c.may(VerbRead); err != nil {
		return nil, err
	}
	if l := p.atHand(id); l != nil {
		return &Workspace{l, c}, nil
	}
	l, err := p.workspace(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := l.current(ctx)
	if err == nil {
		err = l.open(s)
	}
	return &Workspace{l, c}, err
}

// EndSession forgets what a session was served.
func (p *Project) EndSession(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.all() {
		l.served.end(session)
	}
}

// ID is the workspace's identity.
func (w *Workspace) ID() ID { return w.live.id }

// Project is the project that the workspace belongs to.
func (w *Workspace) Project() *Project { return w.live.project }

// Caller is who holds the handle.
func (w *Workspace) Caller() Caller { return w.caller }

// Snapshot returns the workspace as it is now, with what any process did to it, as
// far as the caller may see it.
func (w *Workspace) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, err := w.whole(ctx)
	if err != nil {
		return nil, err
	}
	return s.granted(w.caller.Grants), nil
}

// whole is Snapshot for what looks after the workspace, whoever the caller is.
func (w *Workspace) whole(ctx context.Context) (*Snapshot, error) {
	l := w.live
	if err := l.host.catchUp(ctx); err != nil {
		return nil, err
	}
	s, err := l.snapshot(ctx)
	if l.idle.Load() {
		// It is in use again, whoever found it idle: perhaps this very call. There
		// is no other one to keep in its place while a handle has this one.
		l.project.keep(l)
	}
	if err == nil {
		err = l.open(s.State)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Serve notes that the caller was given a path's content in a snapshot, or, with
// a zero Found, that nothing is there.
func (w *Workspace) Serve(s *Snapshot, p Path, f Found) {
	m, draft := f.Mount, f.Layer == LayerUpper
	if f.Path == "" { // nothing, which is a draft where the workspace took away what was there
		m = s.Table.Route(p)
		draft = m != nil && s.hidden(p, m)
	}
	if m != nil || f.Path == "" {
		w.live.served.note(w.caller.Session, placeOf(p, m.Owner()), version{Node{f.Mode, f.OID}, draft})
	}
}

// decision is what a mutation came to on one snapshot.
type decision struct {
	events []Event // of the workspace; none: nothing is to be done
	also   []Batch // for other streams, in the same append
	bodies []Body
	done   func() // runs under the chain once the records are reduced
	// answered, if set, is whose idempotency key the result is kept under,
	// instead of the caller's.
	answered *Caller
}

// mutate runs one mutation in the workspace's chain, if the caller may: decide on a snapshot, make
// contents durable, append, reduce, publish. A conflicted append decides again
// until ctx ends. The result of an earlier call with the caller's key is
// returned as it was.
func mutate[R any](ctx context.Context, w *Workspace, v Verb, decide func(ctx context.Context, s *Snapshot) (decision, R, error)) (R, error) {
	if err := w.live.lock(ctx); err != nil {
		var none R
		return none, err
	}
	defer w.live.unlock()
	return mutateLocked(ctx, w, v, decide)
}

// mutateLocked is mutate for a holder of the chain.
func mutateLocked[R any](ctx context.Context, w *Workspace, v Verb, decide func(ctx context.Context, s *Snapshot) (decision, R, error)) (R, error) {
	var none R
	if err := w.caller.may(v); err != nil {
		return none, err
	}
	for {
		s, err := w.writable(ctx)
		if err != nil {
			return none, err
		}
		if r, known, err := repeated[R](w, s.State); known || err != nil {
			return r, err
		}
		d, r, err := decide(ctx, s)
		if err == nil && len(d.events) == 0 && d.done != nil {
			d.done()
		}
		if err != nil || len(d.events) == 0 {
			return r, err
		}
		if err := ctx.Err(); err != nil {
			return none, err
		}
		err = w.record(ctx, s, d, r)
		if isAppendConflict(err) && ctx.Err() == nil {
			w.live.reread() // whatever the feed says, the stream has moved on
			continue
		}
		if err != nil {
			return none, err
		}
		return r, nil
	}
}

func isAppendConflict(err error) bool {
	var c *ConflictError
	return errors.As(err, &c)
}

// writable returns a snapshot to decide on, once the commits of dead processes
// are decided.
func (w *Workspace) writable(ctx context.Context) (*Snapshot, error) {
	s, err := w.whole(ctx)
	if err != nil {
		return nil, err
	}
	if s.State.Unread != 0 {
		return nil, unread(string(w.live.id), s.State.Unread)
	}
	settled, err := w.settle(ctx, s)
	if settled && err == nil {
		s, err = w.whole(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.granted(w.caller.Grants), nil
}

// Bounds on the results that are kept for a repeat, in bytes: a commit's list of
// paths is cut to the first; the second is beyond what any other result has.
const (
	maxCommitAnswer = 4 << 10
	maxAnswer       = 64 << 10
)

// answer encodes a result for a repeat. One that is too large is cut if it can be.
func answer(result any) []byte {
	b, err := json.Marshal(result)
	if c, ok := result.(Commit); ok {
		for len(b) > maxCommitAnswer && err == nil && len(c.Paths) > 0 {
			c.Paths = c.Paths[:len(c.Paths)/2]
			b, err = json.Marshal(c)
		}
	}
	if err != nil || len(b) > maxAnswer {
		return nil
	}
	return b
}

// Answered reports whether the caller's key was used before, so that a call is
// given the stored answer.
func (w *Workspace) Answered(ctx context.Context) (bool, error) {
	s, err := w.Snapshot(ctx)
	if err != nil || w.caller.Key == "" {
		return false, err
	}
	_, known := s.State.Answer(w.caller.key())
	return known, nil
}

// repeated returns the stored result if the caller's key was used before.
func repeated[R any](w *Workspace, s *State) (r R, known bool, err error) {
	if w.caller.Key == "" {
		return r, false, nil
	}
	a, ok := s.Answer(w.caller.key())
	if !ok {
		return r, false, nil
	}
	if a.Request != w.caller.Request {
		return r, true, Errorf(Conflict, "the key %q was used for another request, at seq %d", clip(w.caller.Key), a.Seq).
			Hinted("Use a new key for a new request.")
	}
	if len(a.Result) > 0 {
		err = json.Unmarshal(a.Result, &r)
	}
	return r, true, err
}

// record makes a decision durable and visible, in that order.
func (w *Workspace) record(ctx context.Context, s *Snapshot, d decision, result any) error {
	l := w.live
	for i := range d.events {
		d.events[i] = l.project.stamp(w.caller, d.events[i])
	}
	asked := w.caller
	if d.answered != nil {
		asked = *d.answered
	}
	if asked.Key != "" {
		last := &d.events[len(d.events)-1]
		last.Key, last.Request = asked.key(), asked.Request
		last.Result = answer(result)
	}
	batches := append([]Batch{{Stream: l.stream(), Last: s.State.Seq, Events: d.events}}, d.also...)
	records, err := l.host.appendDurably(ctx, batches, d.bodies)
	if err != nil {
		return err
	}
	// From here on it has happened: what follows is not to be given up half-way.
	ctx = context.WithoutCancel(ctx)
	for _, r := range records {
		if r.Stream == l.stream() {
			err = errors.Join(err, l.take(ctx, r))
		}
	}
	if err := errors.Join(err, l.project.takeOwn(ctx, records)); err != nil {
		l.host.cfg.Log.ErrorContext(ctx, "appended and not reduced", "workspace", l.id, "err", err)
	}
	if d.done != nil {
		d.done()
	}
	l.noteUsage(ctx)
	return nil
}

// CreateRequest asks for a workspace.
type CreateRequest struct {
	ID     ID
	Mounts map[string]MountPatch // deviations that it is born with; nil for none
	Digest string                // of the request, to tell a repeat
}

// Create makes a workspace and reports whether it was made now. A repeat whose
// digest is that of the birth, or that names no mounts, changes nothing; one
// with other mounts, and any for a deleted workspace, is Exist.
func (p *Project) Create(ctx context.Context, c Caller, r CreateRequest) (created bool, err error) {
	if err := c.may(VerbCreate); err != nil {
		return false, err
	}
	if !c.Grants.Workspace(r.ID) {
		return false, Errorf(Permission, "this client may not have a workspace at that path").At(string(r.ID)).
			Hinted("It may have workspaces at %s.", strings.Join(c.Grants.Workspaces, ", "))
	}
	l, err := p.workspace(ctx, r.ID)
	if err != nil {
		return false, err
	}
	l = p.keep(l)
	defer p.forgetUnborn(l)
	if err := l.lock(ctx); err != nil {
		return false, err
	}
	defer l.unlock()
	w := &Workspace{l, c}
	for {
		s, err := l.current(ctx)
		if err != nil {
			return false, err
		}
		if answer, known, err := repeated[bool](w, s); known || err != nil {
			return answer, err
		}
		if s.Born {
			return false, p.again(s, r)
		}
		err = w.birth(ctx, s, r)
		if isAppendConflict(err) && ctx.Err() == nil {
			l.reread() // somebody else made it, or wrote to its stream
			continue
		}
		return err == nil, err
	}
}

// again judges the creation of a workspace that was born already.
func (p *Project) again(s *State, r CreateRequest) error {
	switch {
	case s.Deleted:
		return Errorf(Exist, "the workspace was deleted and cannot be created again").At(string(r.ID)).
			Hinted("Choose another path.")
	case len(r.Mounts) == 0 || r.Digest == s.Digest:
		return nil
	}
	return Errorf(Exist, "the workspace was created with other mounts").At(string(r.ID)).
		Hinted("Open it with `workspace.open`, or choose another path.")
}

// birth appends the first records of a workspace, after whatever its stream has
// of others, and their copy.
func (w *Workspace) birth(ctx context.Context, unborn *State, r CreateRequest) error {
	l, p := w.live, w.live.project
	catalog, err := p.Catalog(ctx)
	if err != nil {
		return err
	}
	if catalog.Unread != 0 {
		return unread(ProjectStream, catalog.Unread)
	}
	if most := l.host.cfg.Limits.ProjectWorkspaces; most > 0 && catalog.alive >= most {
		return Errorf(Limit, "the project has %d workspaces, as many as it may", catalog.alive).
			Hinted("Delete one that is not needed any more, or ask whoever runs this server for more.")
	}
	s := newSnapshot(l, unborn, derive(catalog.Repos, unborn, w.caller.Grants))
	s.grants = w.caller.Grants
	events := []Event{encode(WorkspaceCreated, Created{Digest: r.Digest})}
	if len(r.Mounts) > 0 {
		patches, err := plan(s, catalog, r.Mounts)
		if err == nil {
			err = s.checkBranches(ctx, patches)
		}
		if err != nil {
			return err
		}
		events = append(events, encode(WorkspaceConfigured, Configured{patches}))
	}
	events[0] = p.stamp(w.caller, events[0])
	home := Batch{Stream: p.stream(ProjectStream), Last: Any, Events: []Event{p.copied(events[0], string(l.id), unborn.Seq+1)}}
	if !catalog.Born {
		home.Events = slices.Insert(home.Events, 0, p.stamp(w.caller, encode(ProjectCreated, struct{}{})))
	}
	return w.record(ctx, s, decision{events: events, also: []Batch{home}}, true)
}

// keep puts a workspace among the live ones, and returns the one that is there.
func (p *Project) keep(l *live) *live {
	p.mu.Lock()
	defer p.mu.Unlock()
	if there := p.known(l.id); there != nil {
		return there
	}
	p.wake(l)
	return l
}

// Delete ends a workspace for good and reports whether it was ended now. One
// with uncommitted work is Conflict unless discard is set; a second time changes
// nothing; one that was never created is NotExist.
func (p *Project) Delete(ctx context.Context, c Caller, id ID, discard bool) (deleted bool, err error) {
	return p.deleteAt(ctx, c, id, discard, Any)
}

// deleteAt is Delete of a workspace whose stream ends at a seq: Conflict if it
// does not.
func (p *Project) deleteAt(ctx context.Context, c Caller, id ID, discard bool, at Seq) (deleted bool, err error) {
	if !c.Grants.Workspace(id) {
		return false, Unborn(id)
	}
	if err := c.may(VerbCreate); err != nil {
		return false, err
	}
	l, err := p.workspace(ctx, id)
	if err != nil {
		return false, err
	}
	// What the caller does not see would be lost as well: it is counted.
	grants := c.Grants
	c.Grants = nil
	w := &Workspace{l, c}
	if s, err := l.current(ctx); err == nil {
		if answer, known, err := repeated[bool](w, s); known || err != nil {
			return answer, err
		}
	}
	deleted, err = mutate(ctx, w, VerbCreate, func(ctx context.Context, s *Snapshot) (decision, bool, error) {
		if at != Any && s.State.Seq != at {
			return decision{}, false, Errorf(Conflict, "the workspace was used meanwhile").At(string(id))
		}
		if err := s.mayDiscard(ctx, discard); err != nil {
			return decision{}, false, err
		}
		for _, in := range s.State.Intents {
			if tended, err := w.tended(in); tended || err != nil || !discard {
				return decision{}, false, errors.Join(err, inFlight(in, grants))
			}
		}
		e := p.stamp(c, encode(WorkspaceDeleted, struct{}{}))
		home := Batch{Stream: p.stream(ProjectStream), Last: Any, Events: []Event{p.copied(e, string(id), s.State.Seq+1)}}
		return decision{events: []Event{e}, also: []Batch{home}}, true, nil
	})
	if errors.Is(err, Closed) {
		return false, nil
	}
	return deleted, err
}

// mayDiscard refuses to lose uncommitted work unless that is wanted.
func (s *Snapshot) mayDiscard(ctx context.Context, discard bool) error {
	if discard {
		return nil
	}
	n, err := s.Unsaved(ctx)
	if err == nil && n > 0 {
		err = Errorf(Conflict, "%d uncommitted files would be lost, %d of them private", n, len(s.Unmounted())).At(string(s.live.id)).
			Hinted("Commit with `git.commit` what belongs to a repository; pass discard: true to lose what is left.")
	}
	return err
}

// inFlight is why something has to wait for a commit to land, for a caller who may
// not know of what.
func inFlight(in Committing, g *Grants) error {
	if _, ok := g.Repo(in.Repo); !ok {
		return Errorf(Conflict, "a commit is under way").Hinted("Try again when it has landed.")
	}
	return Errorf(Conflict, "a commit of %s is under way", in.Mount).Hinted("Try again when it has landed.")
}
