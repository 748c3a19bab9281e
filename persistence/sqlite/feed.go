package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/mattn/go-sqlite3"

	"carrel.dev/workspace"
)

// monitor notices that somebody wrote. Its connection does nothing else:
// data_version differs from what it was on the same connection when any other
// one has committed, in this process or another, and only outside of a read
// transaction. See https://www.sqlite.org/pragma.html#pragma_data_version.
//
// Every call asks it, so that it uses the driver without database/sql, whose pool
// costs more than the question.
type monitor struct {
	// mu guards the connection and the fields below.
	mu          sync.Mutex
	closed      bool // the driver does not survive a question after that
	conn        driver.Conn
	dataVersion *stmt
	newestEvent *stmt
	all         prepared // both
	// seen is a version at which there was nothing after end, once known.
	known bool
	seen  int64
	end   workspace.Position
}

func openMonitor(ctx context.Context, path string) (*monitor, error) {
	m := &monitor{}
	err := retry(ctx, func() (err error) {
		m.conn, err = (&sqlite3.SQLiteDriver{}).Open(dsn(path, "ro", readerBusy))
		return err
	})
	if err != nil {
		return nil, err
	}
	err = retry(ctx, func() (err error) {
		m.all, err = prepareRaw(m.conn, map[**stmt]string{
			&m.dataVersion: "PRAGMA data_version",
			&m.newestEvent: "SELECT coalesce(max(position), 0) FROM events",
		})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, m.conn.Close())
	}
	return m, nil
}

func (m *monitor) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return errors.Join(m.all.close(), m.conn.Close())
}

// version returns the version now, and whether it is known that nothing is
// after a position.
func (m *monitor) version(ctx context.Context, after workspace.Position) (version int64, nothing bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = retry(ctx, func() (err error) {
		version, err = m.ask(m.dataVersion)
		return err
	})
	return version, err == nil && m.known && version == m.seen && after >= m.end, err
}

// newest returns the position of the newest record.
func (m *monitor) newest(ctx context.Context) (at workspace.Position, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = retry(ctx, func() error {
		n, err := m.ask(m.newestEvent)
		at = workspace.Position(n)
		return err
	})
	return at, err
}

// ask runs a question whose answer is one number. The caller holds mu.
func (m *monitor) ask(question *stmt) (int64, error) {
	if m.closed {
		return 0, errClosed()
	}
	var n [1]int64
	err := question.query(n[:])
	return n[0], err
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
	if newest, err := s.monitor.newest(ctx); err != nil {
		return nil, after, err
	} else if recs, end, ok := s.recent.after(after); ok && end >= newest {
		s.monitor.note(version, end)
		return recs, end, nil
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
