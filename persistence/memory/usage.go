package memory

import (
	"context"

	"carrel.dev/workspace"
)

// NoteUsage implements workspace.UsageStore.
func (s *Store) NoteUsage(_ context.Context, id workspace.StreamID, u workspace.Usage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usages[id] = u
	return nil
}

// Usage implements workspace.UsageStore.
func (s *Store) Usage(_ context.Context, id workspace.StreamID) (own, all workspace.Usage, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, u := range s.usages {
		if other.Project == id.Project {
			all.Entries, all.Bytes = all.Entries+u.Entries, all.Bytes+u.Bytes
		}
	}
	return s.usages[id], all, nil
}
