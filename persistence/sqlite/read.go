package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"sync"

	"carrel.dev/workspace"
)

// page is how many rows are read at once. They are in memory before the first is
// handed on, so that no connection is held while a caller works.
const page = 500

// Records implements workspace.Store. It yields what was appended until it ends.
func (s *Store) Records(ctx context.Context, id workspace.StreamID, after workspace.Seq) iter.Seq2[workspace.Record, error] {
	return func(yield func(workspace.Record, error) bool) {
		for {
			records, err := s.query(ctx, "WHERE s.project = ? AND s.name = ? AND e.seq > ? ORDER BY e.seq LIMIT ?", id.Project, id.Name, int64(after), page)
			for _, r := range records {
				if !yield(r.Record, nil) {
					return
				}
				after = r.Seq
			}
			if err != nil {
				yield(workspace.Record{}, err)
				return
			}
			if len(records) < page {
				return
			}
		}
	}
}

// query returns the records that a condition selects, those before an error
// among them.
func (s *Store) query(ctx context.Context, where string, args ...any) ([]placed, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT "+eventColumns+" FROM event e JOIN stream s ON s.id = e.stream "+where, args...)
	if err != nil {
		return nil, fault("read events", err)
	}
	defer rows.Close()
	var records []placed
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return records, err
		}
		records = append(records, r)
	}
	return records, fault("read events", rows.Err())
}

// Find implements workspace.Store.
func (s *Store) Find(ctx context.Context, id workspace.StreamID, event string) (workspace.Record, error) {
	records, err := s.query(ctx, "WHERE s.project = ? AND s.name = ? AND e.id = ?", id.Project, id.Name, event)
	if err != nil {
		return workspace.Record{}, err
	}
	if len(records) == 0 {
		return workspace.Record{}, workspace.Errorf(workspace.NotExist, "stream has no event %q", event).At(id.Name)
	}
	return records[0].Record, nil
}

// monitor knows up to where the database was read, and in which state it was.
type monitor struct {
	db *sql.DB // one connection, which never reads anything else

	mu      sync.Mutex
	known   bool
	version int64              // PRAGMA data_version when end was read
	end     workspace.Position // of the newest event then
}

// Since implements workspace.Feed. The version is read before the events: what
// comes between is read now and once more, never lost.
func (s *Store) Since(ctx context.Context, after workspace.Position) ([]workspace.Record, workspace.Position, error) {
	m := &s.monitor
	m.mu.Lock()
	defer m.mu.Unlock()
	var version int64
	if err := m.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return nil, after, fault("look for news", err)
	}
	if m.known && version == m.version && after >= m.end {
		return nil, after, nil
	}
	found, err := s.query(ctx, "WHERE e.pos > ? ORDER BY e.pos LIMIT ?", int64(after), page)
	if err != nil {
		return nil, after, err
	}
	records := make([]workspace.Record, len(found))
	for i, r := range found {
		records[i], after = r.Record, r.pos
	}
	if len(found) < page {
		m.known, m.version, m.end = true, version, after
	}
	return records, after, nil
}

// End implements workspace.Feed.
func (s *Store) End(ctx context.Context) (workspace.Position, error) {
	var end sql.NullInt64
	err := s.reads.QueryRowContext(ctx, "SELECT max(pos) FROM event").Scan(&end)
	return workspace.Position(end.Int64), fault("look for the end", err)
}

// Projects implements workspace.ProjectLister.
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	rows, err := s.reads.QueryContext(ctx, "SELECT DISTINCT project FROM stream WHERE last > 0 ORDER BY project")
	if err != nil {
		return nil, fault("list projects", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fault("list projects", err)
		}
		names = append(names, name)
	}
	return names, fault("list projects", rows.Err())
}

// SaveCheckpoint implements workspace.Checkpointer.
func (s *Store) SaveCheckpoint(ctx context.Context, id workspace.StreamID, at workspace.Seq, version int, state []byte) error {
	return s.write(ctx, func(ctx context.Context, w *writer) error {
		stream, _, err := w.stream(ctx, id)
		if err != nil {
			return err
		}
		_, err = w.saveCheckpoint.ExecContext(ctx, stream, int64(at), version, state)
		return fault("save a checkpoint", err)
	})
}

// LoadCheckpoint implements workspace.Checkpointer.
func (s *Store) LoadCheckpoint(ctx context.Context, id workspace.StreamID, version int) (workspace.Seq, []byte, error) {
	var at workspace.Seq
	var state []byte
	err := s.reads.QueryRowContext(ctx, `SELECT c.seq, c.state FROM checkpoint c JOIN stream s ON s.id = c.stream
		WHERE s.project = ? AND s.name = ? AND c.version = ?`, id.Project, id.Name, version).Scan(&at, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, workspace.Errorf(workspace.NotExist, "stream has no checkpoint of version %d", version).At(id.Name)
	}
	return at, state, fault("load a checkpoint", err)
}
