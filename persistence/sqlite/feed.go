package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"carrel.dev/workspace"
)

// monitor notices that somebody wrote. Its connection does nothing else:
// data_version differs from what it was on the same connection when any other
// one has committed, in this process or another, and only outside of a read
// transaction. See https://www.sqlite.org/pragma.html#pragma_data_version.
type monitor struct {
	db   *sql.DB
	conn *sql.Conn

	// mu guards the connection and the fields below.
	mu          sync.Mutex
	dataVersion *sql.Stmt
	// seen is a version at which there was nothing after end, once known.
	known bool
	seen  int64
	end   workspace.Position
}

func openMonitor(ctx context.Context, path string) (*monitor, error) {
	db, err := sql.Open("sqlite3", dsn(path, "ro", readerBusy))
	if err != nil {
		return nil, classify(err)
	}
	m := &monitor{db: db}
	err = retry(ctx, func() (err error) {
		m.conn, err = db.Conn(background())
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	err = retry(ctx, func() (err error) {
		m.dataVersion, err = m.conn.PrepareContext(background(), "PRAGMA data_version")
		return err
	})
	if err != nil {
		return nil, errors.Join(err, m.conn.Close(), db.Close())
	}
	return m, nil
}

func (m *monitor) close() error {
	return errors.Join(m.dataVersion.Close(), m.conn.Close(), m.db.Close())
}

// version returns the version now, and whether it is known that nothing is
// after a position.
func (m *monitor) version(ctx context.Context, after workspace.Position) (version int64, nothing bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = retry(ctx, func() error {
		return m.dataVersion.QueryRowContext(background()).Scan(&version)
	})
	return version, err == nil && m.known && version == m.seen && after >= m.end, err
}

// note remembers that a read begun at a version found nothing after end.
func (m *monitor) note(version int64, end workspace.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.seen, m.end = true, version, end
}

// Since implements workspace.Feed. A position is the rowid of an event, which
// grows in the order of commits, since one transaction writes at a time. A
// damaged record is Corrupt when all before it have been returned.
func (s *Store) Since(ctx context.Context, after workspace.Position) ([]workspace.Record, workspace.Position, error) {
	// The version comes first: what is committed in between is read now, and
	// once more looked for the next time.
	version, nothing, err := s.monitor.version(ctx, after)
	if err != nil || nothing {
		return nil, after, err
	}
	p, err := s.reader.read(ctx, s.reader.since, int64(after), pageRecords)
	if err != nil && len(p.recs) == 0 {
		return nil, after, err
	}
	end := max(after, p.last)
	if err == nil && !p.more {
		s.monitor.note(version, end)
	}
	return p.recs, end, nil
}

// End implements workspace.Feed.
func (s *Store) End(ctx context.Context) (workspace.Position, error) {
	var end workspace.Position
	err := retry(ctx, func() error {
		return s.reader.end.QueryRowContext(background()).Scan(&end)
	})
	return end, err
}
