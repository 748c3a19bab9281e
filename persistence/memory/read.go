package memory

import (
	"bytes"
	"context"
	"io"
	"iter"
	"maps"
	"slices"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// Records implements workspace.Store. It yields what was there when it began.
func (s *Store) Records(ctx context.Context, id workspace.StreamID, after workspace.Seq) iter.Seq2[workspace.Record, error] {
	return func(yield func(workspace.Record, error) bool) {
		s.mu.RLock()
		list := s.streams[id]
		s.mu.RUnlock()
		for _, r := range list[min(after, workspace.Seq(len(list))):] {
			if err := ctx.Err(); err != nil {
				yield(workspace.Record{}, err)
				return
			}
			if !yield(copied(r), nil) {
				return
			}
		}
	}
}

// copied shares no memory with the store.
func copied(r workspace.Record) workspace.Record {
	r.Event = events.Normal(r.Event)
	return r
}

// Find implements workspace.Store.
func (s *Store) Find(_ context.Context, id workspace.StreamID, event string) (workspace.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.streams[id] {
		if r.ID == event {
			return copied(r), nil
		}
	}
	return workspace.Record{}, workspace.Errorf(workspace.NotExist, "stream has no event %q", event).At(id.Name)
}

// Since implements workspace.Feed. A position is a number of records.
func (s *Store) Since(ctx context.Context, after workspace.Position) ([]workspace.Record, workspace.Position, error) {
	const most = 1000
	if err := ctx.Err(); err != nil {
		return nil, after, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := s.all[min(int(after), len(s.all)):]
	list = list[:min(most, len(list))]
	var records []workspace.Record
	for _, r := range list {
		records = append(records, copied(r))
	}
	return records, after + workspace.Position(len(list)), nil
}

// End implements workspace.Feed.
func (s *Store) End(context.Context) (workspace.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return workspace.Position(len(s.all)), nil
}

// Projects implements workspace.ProjectLister.
func (s *Store) Projects(context.Context) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := map[string]bool{}
	for id := range s.streams {
		names[id.Project] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// SaveCheckpoint implements workspace.Checkpointer.
func (s *Store) SaveCheckpoint(_ context.Context, id workspace.StreamID, at workspace.Seq, version int, state []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.checkpoints[id]; ok && old.at > at && old.version == version {
		return nil
	}
	s.checkpoints[id] = checkpoint{at, version, bytes.Clone(state)}
	return nil
}

// LoadCheckpoint implements workspace.Checkpointer.
func (s *Store) LoadCheckpoint(_ context.Context, id workspace.StreamID, version int) (workspace.Seq, []byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, ok := s.checkpoints[id]
	if !ok || c.version != version {
		return 0, nil, workspace.Errorf(workspace.NotExist, "stream has no checkpoint of version %d", version).At(id.Name)
	}
	return c.at, bytes.Clone(c.state), nil
}

// Blobs are the contents of a Store: those that came with an append and those
// that were put alike.
type Blobs struct{ store *Store }

// Put implements workspace.Blobs.
func (b Blobs) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	stored, id, err := content.Read(ctx, r, size)
	if err != nil {
		return id, err
	}
	if stored == nil {
		stored = []byte{}
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.bodies[id] = stored
	return id, nil
}

// Open implements workspace.Blobs.
func (b Blobs) Open(_ context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	b.store.mu.RLock()
	defer b.store.mu.RUnlock()
	stored, ok := b.store.bodies[id]
	if !ok {
		return nil, content.Missing(id)
	}
	if err := content.Check(id, stored); err != nil {
		return nil, err
	}
	return content.Reader(stored), nil
}

// Has implements workspace.Blobs.
func (b Blobs) Has(_ context.Context, id workspace.OID) (bool, error) {
	b.store.mu.RLock()
	defer b.store.mu.RUnlock()
	_, ok := b.store.bodies[id]
	return ok, nil
}

// Inline implements workspace.Inliner: every content travels with its append.
func (b Blobs) Inline(int64) bool { return true }
