package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/workspace"
)

// Put implements workspace.Blobs, for contents that fit into memory. It is a
// transaction of its own; those that travel with an append are cheaper.
func (s *Store) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	stored, id, err := content.Read(ctx, r, size)
	if err != nil {
		return workspace.OID{}, err
	}
	return id, s.write(ctx, func(ctx context.Context, w *writer) error { return w.put(ctx, id, stored) })
}

// Open implements workspace.Blobs. The content is held against its id.
func (s *Store) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	var stored []byte
	err := s.reads.QueryRowContext(ctx, "SELECT content FROM body WHERE oid = ?", id[:]).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, content.Missing(id)
	}
	if err != nil {
		return nil, fault("read a content", err)
	}
	if err := content.Check(id, stored); err != nil {
		return nil, err
	}
	return content.Reader(stored), nil
}

// Has implements workspace.Blobs.
func (s *Store) Has(ctx context.Context, id workspace.OID) (bool, error) {
	var whole bool
	err := s.reads.QueryRowContext(ctx, "SELECT size = length(content) FROM body WHERE oid = ?", id[:]).Scan(&whole)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return whole, fault("look for a content", err)
}
