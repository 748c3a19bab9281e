package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"runtime"
	"strconv"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Config says where the database is. The zero value of a field means its default.
type Config struct {
	// Path of the database file, on a local disk. Needed.
	Path string
	// Large reports whether a content that is not in the database is in the store
	// of the larger ones. It is asked while the write lock is held, so that a
	// content which an event names cannot be collected meanwhile. Default: no.
	Large func(ctx context.Context, id workspace.OID) (bool, error)
	// MaxPages bounds the size of the database, in pages of 4 KiB. Default: the disk.
	MaxPages int
	// Now is the clock for the age of bodies; default time.Now.
	Now func() time.Time
}

// Store keeps events, checkpoints and small bodies. All methods are safe for
// concurrent use.
type Store struct {
	cfg    Config
	writes chan *request
	done   chan struct{} // closed when the writer has ended
	writer *writer
	reads  *sql.DB

	// closing guards writes against being closed under a sender.
	closing sync.RWMutex
	closed  bool

	monitor monitor
}

var (
	_ workspace.Store         = (*Store)(nil)
	_ workspace.Feed          = (*Store)(nil)
	_ workspace.Checkpointer  = (*Store)(nil)
	_ workspace.ProjectLister = (*Store)(nil)
	_ workspace.Blobs         = (*Store)(nil)
)

// busyTimeout is how long SQLite itself waits for another process before the
// writer looks whether anybody still wants its appends.
const busyTimeout = 5 * time.Second

// Open opens the database, making it or bringing it up to date. A newer schema
// is Unavailable, as is a network file system.
func Open(ctx context.Context, cfg *Config) (*Store, error) {
	s := &Store{cfg: *cfg, writes: make(chan *request, 256), done: make(chan struct{})}
	if s.cfg.Large == nil {
		s.cfg.Large = func(context.Context, workspace.OID) (bool, error) { return false, nil }
	}
	if s.cfg.Now == nil {
		s.cfg.Now = time.Now
	}
	lock, err := disk.Lock(ctx, cfg.Path+".lock")
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.disconnect())
	}
	go s.writer.run(s.writes, s.done)
	return s, nil
}

// connect opens the connections, the one that writes first.
func (s *Store) connect(ctx context.Context) error {
	write, err := openDB(s.cfg.Path, "_txlock=immediate", 1)
	if err != nil {
		return err
	}
	s.writer = &writer{cfg: &s.cfg, db: write}
	if s.writer.conn, err = write.Conn(ctx); err != nil {
		return fault("open the database", err)
	}
	if err := migrate(ctx, s.writer.conn); err != nil {
		return err
	}
	if s.cfg.MaxPages > 0 {
		if _, err := s.writer.conn.ExecContext(ctx, "PRAGMA max_page_count = "+strconv.Itoa(s.cfg.MaxPages)); err != nil {
			return fault("bound the database", err)
		}
	}
	if err := s.writer.prepare(ctx); err != nil {
		return err
	}
	if s.reads, err = openDB(s.cfg.Path, "_query_only=true", max(4, runtime.NumCPU())); err != nil {
		return err
	}
	s.monitor.db, err = openDB(s.cfg.Path, "_query_only=true", 1)
	return err
}

// openDB opens a pool of connections.
func openDB(path, options string, most int) (*sql.DB, error) {
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(),
		RawQuery: options + "&_synchronous=FULL&_foreign_keys=true&_cache_size=-16384&_busy_timeout=" + strconv.FormatInt(busyTimeout.Milliseconds(), 10)}).String()
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, fault("open the database", err)
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// Close ends the store once the appends that are under way are done.
func (s *Store) Close() error {
	s.closing.Lock()
	again := s.closed
	s.closed = true
	s.closing.Unlock()
	if again {
		return nil
	}
	close(s.writes)
	<-s.done
	return s.disconnect()
}

func (s *Store) disconnect() error {
	var errs []error
	for _, db := range []*sql.DB{s.monitor.db, s.reads} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if w := s.writer; w != nil {
		if w.conn != nil {
			errs = append(errs, w.conn.Close())
		}
		errs = append(errs, w.db.Close())
	}
	return errors.Join(errs...)
}
