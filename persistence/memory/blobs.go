package memory

import (
	"context"
	"io"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/workspace"
)

// Put keeps a content until the Store is dropped.
func (s *Store) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	data, id, err := content.Read(ctx, r, size)
	if err != nil {
		return workspace.OID{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies[id], s.used[id] = data, s.now()
	return id, nil
}

// Open checks the content, as the durable stores do.
func (s *Store) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	data, ok := s.body(id)
	if !ok {
		return nil, content.Missing(id)
	}
	if err := content.Check(id, data); err != nil {
		return nil, err
	}
	return content.Reader(data), nil
}

// Has checks the content too: memory does not keep its size apart.
func (s *Store) Has(ctx context.Context, id workspace.OID) (bool, error) {
	data, ok := s.body(id)
	return ok && content.Check(id, data) == nil, alive(ctx)
}

func (s *Store) body(id workspace.OID) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.bodies[id]
	return data, ok
}
