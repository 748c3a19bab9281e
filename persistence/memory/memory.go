// Package memory is the reference implementation of the stores: as simple as
// they can be, and judged by the same suites as the durable ones. It keeps
// everything in the process, for tests and for trying things out.
package memory

import (
	"context"
	"slices"
	"sync"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// Store keeps events, bodies and checkpoints. All methods are safe for
// concurrent use.
type Store struct {
	mu          sync.RWMutex // guards what follows
	all         []workspace.Record
	streams     map[workspace.StreamID][]workspace.Record
	bodies      map[workspace.OID][]byte
	checkpoints map[workspace.StreamID]checkpoint
}

type checkpoint struct {
	at      workspace.Seq
	version int
	state   []byte
}

var (
	_ workspace.Store         = (*Store)(nil)
	_ workspace.Feed          = (*Store)(nil)
	_ workspace.Checkpointer  = (*Store)(nil)
	_ workspace.ProjectLister = (*Store)(nil)
	_ workspace.Blobs         = Blobs{}
	_ workspace.Inliner       = Blobs{}
)

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{
		streams:     map[workspace.StreamID][]workspace.Record{},
		bodies:      map[workspace.OID][]byte{},
		checkpoints: map[workspace.StreamID]checkpoint{},
	}
}

// Blobs returns the contents that the store keeps.
func (s *Store) Blobs() Blobs { return Blobs{s} }

// Append implements workspace.Store.
func (s *Store) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := events.Check(batches); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &transaction{store: s, ends: map[workspace.StreamID]workspace.Seq{}, carried: map[workspace.OID][]byte{}}
	for _, b := range batches {
		for _, body := range b.Bodies {
			t.carried[body.ID] = append([]byte{}, body.Content...)
		}
	}
	for _, b := range batches {
		if err := t.add(b); err != nil {
			return nil, err
		}
	}
	if len(t.missing) > 0 {
		return nil, &workspace.MissingBodiesError{IDs: t.missing}
	}
	t.commit()
	return t.records, nil
}

// transaction is an append that has not happened yet.
type transaction struct {
	store   *Store
	ends    map[workspace.StreamID]workspace.Seq
	carried map[workspace.OID][]byte
	missing []workspace.OID
	records []workspace.Record // one for each event, those stored before among them
	fresh   []workspace.Record
}

func (t *transaction) add(b workspace.Batch) error {
	end, begun := t.ends[b.Stream]
	if !begun {
		end = workspace.Seq(len(t.store.streams[b.Stream]))
	}
	repeated, err := t.repeated(b)
	if err != nil || repeated {
		return err
	}
	if b.Last != workspace.Any && b.Last != end {
		return &workspace.ConflictError{Stream: b.Stream, Want: b.Last, Got: end}
	}
	for _, e := range b.Events {
		if old, known := t.find(b.Stream, e.ID); known {
			if !events.Same(old.Event, e) {
				return &workspace.ConflictError{Stream: b.Stream, Want: b.Last, Got: end, Event: e.ID}
			}
			t.records = append(t.records, old)
			continue
		}
		for _, id := range e.Bodies {
			if t.carried[id] == nil && t.store.bodies[id] == nil && !slices.Contains(t.missing, id) {
				t.missing = append(t.missing, id)
			}
		}
		end++
		r := workspace.Record{Stream: b.Stream, Seq: end, Event: events.Normal(e)}
		t.records, t.fresh = append(t.records, r), append(t.fresh, r)
	}
	t.ends[b.Stream] = end
	return nil
}

// repeated takes a batch of which every event is stored already.
func (t *transaction) repeated(b workspace.Batch) (bool, error) {
	var old []workspace.Record
	for _, e := range b.Events {
		r, known := t.find(b.Stream, e.ID)
		if !known || !events.Same(r.Event, e) {
			return false, nil
		}
		old = append(old, r)
	}
	t.records = append(t.records, old...)
	return len(old) > 0, nil
}

func (t *transaction) find(s workspace.StreamID, event string) (workspace.Record, bool) {
	for _, list := range [][]workspace.Record{t.store.streams[s], t.fresh} {
		for _, r := range list {
			if r.ID == event && r.Stream == s {
				return r, true
			}
		}
	}
	return workspace.Record{}, false
}

func (t *transaction) commit() {
	s := t.store
	for id, b := range t.carried {
		s.bodies[id] = b
	}
	for _, r := range t.fresh {
		s.streams[r.Stream] = append(s.streams[r.Stream], r)
		s.all = append(s.all, r)
	}
}
