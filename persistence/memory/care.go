package memory

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// Contents lists what the maps hold when the iteration begins.
func (s *Store) Contents(ctx context.Context, before time.Time) iter.Seq2[workspace.Stored, error] {
	return func(yield func(workspace.Stored, error) bool) {
		if err := alive(ctx); err != nil {
			yield(workspace.Stored{}, err)
			return
		}
		for _, c := range s.contents(before) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (s *Store) contents(before time.Time) []workspace.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []workspace.Stored
	for id := range s.bodies {
		if c := s.stored(id); before.IsZero() || c.Used.Before(before) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b workspace.Stored) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return all
}

// stored describes a content that is there. The caller holds mu.
func (s *Store) stored(id workspace.OID) workspace.Stored {
	return workspace.Stored{ID: id, Size: int64(len(s.bodies[id])), Used: s.used[id].UTC()}
}

// Sweep holds the lock from the choice to the end.
func (s *Store) Sweep(ctx context.Context, before time.Time, after workspace.Position, choose func([]workspace.Record) ([]workspace.OID, error)) ([]workspace.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := alive(ctx); err != nil {
		return nil, err
	}
	ids, err := choose(copies(s.order[min(int(after), len(s.order)):]))
	if err != nil {
		return nil, err
	}
	var gone []workspace.Stored
	for _, id := range ids {
		if _, ok := s.bodies[id]; ok && s.used[id].Before(before) {
			gone = append(gone, s.stored(id))
			delete(s.bodies, id)
			delete(s.used, id)
		}
	}
	if s.discard == nil {
		return gone, nil
	}
	large, err := s.discard(ctx, before, ids)
	return append(gone, large...), err
}

// Streams lists the streams that have a record, or a checkpoint.
func (s *Store) Streams(ctx context.Context) ([]workspace.StreamID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []workspace.StreamID
	for id := range s.streams {
		ids = append(ids, id)
	}
	for id := range s.checkpoints {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b workspace.StreamID) int {
		return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(ids), alive(ctx)
}

// Examine is Records: a record in memory does not change.
func (s *Store) Examine(ctx context.Context, id workspace.StreamID) iter.Seq2[workspace.Record, error] {
	return s.Records(ctx, id, 0)
}

// Structure finds nothing: there is none.
func (s *Store) Structure(ctx context.Context) ([]string, error) { return nil, alive(ctx) }

// Reindex has nothing to do.
func (s *Store) Reindex(ctx context.Context) error { return alive(ctx) }

// ExamineCheckpoint returns the stream's checkpoint.
func (s *Store) ExamineCheckpoint(ctx context.Context, id workspace.StreamID) (workspace.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.checkpoints[id]
	if !ok {
		return workspace.Checkpoint{}, workspace.Errorf(workspace.NotExist, "stream has no checkpoint").At(id.Name)
	}
	return workspace.Checkpoint{At: c.at, Version: c.version, State: bytes.Clone(c.state)}, alive(ctx)
}

// DropCheckpoint removes the stream's checkpoint.
func (s *Store) DropCheckpoint(ctx context.Context, id workspace.StreamID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := alive(ctx); err != nil {
		return err
	}
	delete(s.checkpoints, id)
	return nil
}
