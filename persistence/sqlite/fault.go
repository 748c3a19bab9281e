package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/mattn/go-sqlite3"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// fault classifies what SQLite reported while doing something. Its own text stays
// behind: it may show statements and paths.
func fault(doing string, err error) error {
	var known *workspace.Error
	var lite sqlite3.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, sql.ErrConnDone):
		return workspace.Errorf(workspace.Unavailable, "%s: the database is closed", doing)
	case !errors.As(err, &lite):
		return workspace.Errorf(workspace.Internal, "%s: %w", doing, err)
	}
	e := workspace.Errorf(workspace.Unavailable, "%s: %s", doing, lite.Code.Error())
	switch lite.Code {
	case sqlite3.ErrFull:
		return e.Hinted("%s", disk.FullHint)
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		e.Kind = workspace.Corrupt
		return e.Hinted("Restore the data directory from a backup.")
	case sqlite3.ErrInterrupt:
		e.Kind = workspace.Canceled
		return e
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen:
		return e.Hinted("Give the user that runs Carrel the right to write in the data directory.")
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return e.Hinted("Another process holds the data directory; repeat the call.")
	}
	return e.Hinted("Look at the disk that holds the data directory, then repeat the call.")
}

// busy reports whether another process holds the lock that err waited for.
func busy(err error) bool {
	var lite sqlite3.Error
	return errors.As(err, &lite) && (lite.Code == sqlite3.ErrBusy || lite.Code == sqlite3.ErrLocked)
}
