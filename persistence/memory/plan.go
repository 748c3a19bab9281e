package memory

import (
	"bytes"
	"context"
	"slices"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// plan is what one append will add to a store whose lock the caller holds.
type plan struct {
	store   *Store
	added   map[workspace.StreamID][]workspace.Record
	order   []workspace.Record
	carried map[workspace.OID][]byte
}

// add plans one batch and returns its events' records, those stored before
// among them.
func (p *plan) add(b workspace.Batch) ([]workspace.Record, error) {
	for _, body := range b.Bodies {
		p.carried[body.ID] = bytes.Clone(body.Content)
	}
	var recs []workspace.Record
	expect := b.Last
	for _, e := range b.Events {
		rec, seen := p.find(b.Stream, e.ID)
		end := p.end(b.Stream)
		switch {
		case seen && !events.Same(rec.Event, e):
			return nil, &workspace.ConflictError{Stream: b.Stream, Want: b.Last, Got: end, Event: e.ID}
		case !seen && expect != workspace.Any && expect != end:
			return nil, &workspace.ConflictError{Stream: b.Stream, Want: expect, Got: end}
		case !seen:
			expect = workspace.Any // the batch's own events follow each other
			rec = workspace.Record{Stream: b.Stream, Seq: end + 1, Event: events.Normal(e)}
			p.added[b.Stream] = append(p.added[b.Stream], rec)
			p.order = append(p.order, rec)
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// find looks for an event in what is stored and what is planned.
func (p *plan) find(id workspace.StreamID, event string) (workspace.Record, bool) {
	if st := p.store.streams[id]; st != nil {
		if rec, ok := st.byID[event]; ok {
			return rec, true
		}
	}
	for _, rec := range p.added[id] {
		if rec.ID == event {
			return rec, true
		}
	}
	return workspace.Record{}, false
}

// end is where a stream will end.
func (p *plan) end(id workspace.StreamID) workspace.Seq {
	end := workspace.Seq(len(p.added[id]))
	if st := p.store.streams[id]; st != nil {
		end += workspace.Seq(len(st.records))
	}
	return end
}

// missing reports the bodies that the planned records name and nobody has.
func (p *plan) missing(ctx context.Context) error {
	var lost []workspace.OID
	for _, rec := range p.order {
		for _, id := range rec.Bodies {
			found, err := p.has(ctx, id)
			if err != nil {
				return err
			}
			if !found && !slices.Contains(lost, id) {
				lost = append(lost, id)
			}
		}
	}
	if lost != nil {
		return &workspace.MissingBodiesError{IDs: lost}
	}
	return nil
}

func (p *plan) has(ctx context.Context, id workspace.OID) (bool, error) {
	if _, ok := p.carried[id]; ok {
		return true, nil
	}
	if _, ok := p.store.bodies[id]; ok || p.store.large == nil {
		return ok, nil
	}
	return p.store.large(ctx, id)
}

// apply makes the plan the state of the store.
func (p *plan) apply() {
	s := p.store
	for _, rec := range p.order {
		st := s.streams[rec.Stream]
		if st == nil {
			st = &stream{byID: map[string]workspace.Record{}}
			s.streams[rec.Stream] = st
		}
		st.records = append(st.records, rec)
		st.byID[rec.ID] = rec
	}
	s.order = append(s.order, p.order...)
	for id, data := range p.carried {
		s.bodies[id], s.used[id] = data, s.now()
	}
}
