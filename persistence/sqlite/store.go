package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Config is what a Store needs to know; the zero value is one store for all.
type Config struct {
	// Large reports whether a content is in the store that keeps the larger
	// ones. It is asked under the lock that all writers share. Nil: there is no
	// other store.
	Large func(ctx context.Context, id workspace.OID) (bool, error)
	// Discard removes those of some contents from that other store that were
	// last put before a time, and returns them. It is called under the same lock.
	// Nil: nothing is removed there.
	Discard func(ctx context.Context, before time.Time, ids []workspace.OID) ([]workspace.Stored, error)
	// Kept is how many bytes all that is kept for a while may take, to within a value;
	// default 64 MiB.
	Kept int64
	// Now is the clock that dates the use of contents, and by which what is kept
	// expires; nil is time.Now.
	Now func() time.Time
	// Fault is called at the steps of fault.go, so that a test can stop there; an
	// error is returned as if the step had failed. Nil: nothing is called.
	Fault func(point string) error
}

// Store is a database. All methods are safe for concurrent use, in one process
// and between processes.
type Store struct {
	large   func(context.Context, workspace.OID) (bool, error)
	discard func(context.Context, time.Time, []workspace.OID) ([]workspace.Stored, error)
	now     func() time.Time
	kept    int64 // bytes
	writer  *writer
	reader  *reader
	monitor *monitor
	recent  recent
	closed  func() error // closes once
}

var (
	_ workspace.Store         = (*Store)(nil)
	_ workspace.Feed          = (*Store)(nil)
	_ workspace.Checkpointer  = (*Store)(nil)
	_ workspace.ProjectLister = (*Store)(nil)
	_ workspace.CommitSeeker  = (*Store)(nil)
	_ workspace.Blobs         = (*Store)(nil)
	_ workspace.UsageStore    = (*Store)(nil)
	_ workspace.Tokens        = (*Store)(nil)

	_ workspace.Inventory          = (*Store)(nil)
	_ workspace.Sweeper            = (*Store)(nil)
	_ workspace.Examiner           = (*Store)(nil)
	_ workspace.CheckpointExaminer = (*Store)(nil)
)

// Open opens the database file at path, and makes or upgrades it if need be. A
// nil cfg is the zero Config. A database that a newer program wrote, or one on a
// network file system, is Unavailable; a file that is no database of Carrel is
// Invalid.
func Open(ctx context.Context, path string, cfg *Config) (*Store, error) {
	return open(ctx, path, cfg, migrations())
}

// open is Open for a program that knows the given migrations.
func open(ctx context.Context, path string, cfg *Config, known []string) (*Store, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	s := &Store{large: cfg.Large, discard: cfg.Discard, now: cfg.Now, kept: cmp.Or(cfg.Kept, keptBytes)}
	s.closed = sync.OnceValue(s.close)
	if s.now == nil {
		s.now = time.Now
	}
	fault := cfg.Fault
	if fault == nil {
		fault = func(string) error { return nil }
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, disk.Fault("open the database", err)
	}
	if err := disk.CheckLocal(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if s.writer, err = openLocked(ctx, path, known, fault); err != nil {
		return nil, err
	}
	if s.reader, err = openReader(ctx, path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.monitor, err = openMonitor(ctx, path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openLocked makes the database ready and opens its writer, while it holds the
// database's lock file: SQLite answers some conflicts here, the switch to WAL
// among them, with "busy" without waiting.
func openLocked(ctx context.Context, path string, known []string, fault func(string) error) (*writer, error) {
	lock, err := disk.Lock(ctx, path+".lock")
	if err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	db, err := sql.Open("sqlite3", dsn(path, "rw", writerBusy))
	if err != nil {
		return nil, errors.Join(classify(err), lock.Close())
	}
	db.SetMaxOpenConns(1)
	w, err := prepareWriter(ctx, db, lock, known, fault)
	if err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	if err := disk.Unlock(lock); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// create makes an empty file that only its owner may read; SQLite gives its
// other files the same mode. The file is opened only if it is new: to close a
// file that SQLite has open would drop SQLite's locks on it, see
// https://www.sqlite.org/howtocorrupt.html, section 2.2.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return disk.Fault("create the database", err)
	}
	return disk.Fault("create the database", f.Close())
}

// Close waits for what is being written and refuses what still waits, as
// Unavailable. Nothing is read any more when it is called.
func (s *Store) Close() error { return s.closed() }

func (s *Store) close() error {
	var errs []error
	if s.monitor != nil {
		errs = append(errs, s.monitor.close())
	}
	if s.reader != nil {
		errs = append(errs, s.reader.close())
	}
	// The writer goes last: the last connection of all checkpoints the log into
	// the database, which a read-only one cannot.
	return errors.Join(append(errs, s.writer.close())...)
}
