package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/mattn/go-sqlite3"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// How long SQLite itself waits for a lock before it answers "busy".
const (
	writerBusy = 10 * time.Millisecond
	readerBusy = time.Second
)

// dsn is the data source name of a database file, opened "ro" or "rw".
func dsn(path, mode string, busy time.Duration) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	u.RawQuery = fmt.Sprintf("mode=%s&_busy_timeout=%d", mode, busy.Milliseconds())
	return u.String()
}

// background is for statements: they are short, and with a context that can end
// the driver starts a goroutine for each. Callers look at theirs in between.
func background() context.Context { return context.Background() }

// retry does something again while SQLite answers "busy" and ctx lives.
func retry(ctx context.Context, do func() error) error {
	for {
		if err := alive(ctx); err != nil {
			return err
		}
		if err := do(); !busy(err) {
			return classify(err)
		}
		time.Sleep(time.Millisecond) // some kinds of busy come without SQLite's waiting
	}
}

func alive(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return workspace.Errorf(workspace.Canceled, "%w", context.Cause(ctx))
}

// busy reports whether another connection was in the way.
func busy(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked || e.Code == sqlite3.ErrProtocol
}

// classify gives what the database reported its kind and hint. The message is
// SQLite's text for the code: its text for the case may hold paths and SQL.
func classify(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	what := fmt.Errorf("database: %w", e.Code)
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol: // where it cannot be retried
		return workspace.Errorf(workspace.Unavailable, "the database is in use").Hinted("Repeat the call.")
	case sqlite3.ErrFull:
		return workspace.Errorf(workspace.Unavailable, "%w", what).Hinted(disk.FullHint)
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrFormat:
		return workspace.Errorf(workspace.Corrupt, "%w", what).Hinted(restore)
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen, sqlite3.ErrAuth:
		return workspace.Errorf(workspace.Unavailable, "%w", what).
			Hinted("Give the user that runs Carrel the right to write in the data directory.")
	case sqlite3.ErrIoErr:
		if e.SystemErrno != 0 {
			return disk.Fault("database", e.SystemErrno)
		}
		return disk.Fault("database", e.Code)
	case sqlite3.ErrTooBig, sqlite3.ErrNomem:
		return workspace.Errorf(workspace.Limit, "%w", what).Hinted("Store less at once.")
	}
	return fmt.Errorf("database: %w", err)
}

const restore = "Stop every process that uses the data directory, keep a copy of it, and restore it from a backup."

// prepare compiles statements on a connection or a pool. Those of a connection
// are its user's to close: database/sql does it for a pool only, and a
// connection with open statements stays open.
func prepare(on interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}, texts map[**sql.Stmt]string) (prepared, error) {
	var all prepared
	for stmt, text := range texts {
		var err error
		if *stmt, err = on.PrepareContext(background(), text); err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, *stmt)
	}
	return all, nil
}

// prepared are statements to be closed together.
type prepared []interface{ Close() error }

func (p prepared) close() error {
	var errs []error
	for _, stmt := range p {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}
