package workspace

import (
	"context"
	"errors"
	"time"
)

// Prune says which workspaces Project.Prune ends.
type Prune struct {
	// Idle is for how long nothing must have been recorded of a workspace.
	Idle time.Duration
	// Discard ends also workspaces with uncommitted work.
	Discard bool
	// DryRun only tells what would be done.
	DryRun   bool
	Progress Progress
}

// Pruned is a workspace that has been idle, and what came of it.
type Pruned struct {
	ID        ID
	ChangedAt time.Time // when its last record was made
	Client    string    // the program that made it
	Unsaved   int       // paths with uncommitted work, as far as that is known
	// Deleted says that it was ended, or in a dry run that it would be.
	Deleted bool
	Why     string // why not; empty if it was
}

// Prune ends the workspaces of the project that have been idle, and returns
// them, those that are kept among them, sorted by identity. One is kept if it
// has uncommitted work that is not to be discarded, if it cannot be read, or if
// anybody used it before it was ended: what was recorded of it after it was
// found idle is never lost. An error ends it half-way, with what was done so
// far.
func (p *Project) Prune(ctx context.Context, c Caller, o Prune) ([]Pruned, error) {
	if o.Idle <= 0 {
		return nil, Errorf(Invalid, "prune needs the time for which a workspace must have been idle")
	}
	catalog, err := p.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	var all []Pruned
	since := p.host.cfg.Now().Add(-o.Idle)
	done, total := int64(0), int64(0)
	for range catalog.List("", "") {
		total++
	}
	for w := range catalog.List("", "") {
		o.Progress.tell("looking at workspaces", done, total)
		done++
		r, idle := p.prune(ctx, c, w.ID, o, since)
		if err := ctx.Err(); err != nil {
			return all, err
		}
		if idle {
			all = append(all, r)
		}
	}
	return all, nil
}

// prune ends one workspace if it has been idle since a time.
func (p *Project) prune(ctx context.Context, c Caller, id ID, o Prune, since time.Time) (r Pruned, idle bool) {
	r.ID = id
	at, err := p.lastUse(ctx, &r)
	if errors.Is(err, Closed) || err == nil && r.ChangedAt.After(since) {
		return r, false
	}
	if err == nil {
		err = p.mayPrune(ctx, c, &r, o.Discard)
	}
	if err == nil && !o.DryRun {
		_, err = p.deleteAt(ctx, c, id, o.Discard, at)
	}
	r.Deleted = err == nil
	if err != nil {
		r.Why = err.Error()
	}
	return r, true
}

// lastUse fills in when and by what a workspace was used last, and returns the
// end of its stream.
func (p *Project) lastUse(ctx context.Context, r *Pruned) (at Seq, err error) {
	w, err := p.Workspace(ctx, r.ID, Caller{})
	if err != nil {
		return 0, err
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	for rec, err := range p.Records(ctx, string(r.ID), s.State.Seq-1) {
		if err != nil {
			return 0, err
		}
		at, r.ChangedAt, r.Client = rec.Seq, rec.At.UTC(), rec.Client
	}
	return at, nil
}

// mayPrune counts a workspace's uncommitted work and refuses to lose it unless
// that is wanted.
func (p *Project) mayPrune(ctx context.Context, c Caller, r *Pruned, discard bool) error {
	w, err := p.Workspace(ctx, r.ID, c)
	if err != nil {
		return err
	}
	s, err := w.Snapshot(ctx)
	if err != nil {
		return err
	}
	r.Unsaved, err = s.Unsaved(ctx)
	if discard {
		return nil // also what cannot be counted
	}
	if err == nil {
		err = s.mayDiscard(ctx, discard)
	}
	return err
}
