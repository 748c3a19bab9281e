package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"carrel.dev/workspace"
)

// migrations lead from each version of the schema to the next: the first makes
// version 1 of an empty database. One that has been released never changes.
var migrations = [...]string{
	`CREATE TABLE stream (
		id      INTEGER PRIMARY KEY,
		project TEXT NOT NULL,
		name    TEXT NOT NULL,
		last    INTEGER NOT NULL,
		UNIQUE (project, name)
	);
	CREATE TABLE event (
		pos     INTEGER PRIMARY KEY AUTOINCREMENT,
		stream  INTEGER NOT NULL REFERENCES stream (id),
		seq     INTEGER NOT NULL,
		id      TEXT NOT NULL,
		type    TEXT NOT NULL,
		version INTEGER NOT NULL,
		at      INTEGER,
		actor   TEXT NOT NULL,
		session TEXT NOT NULL,
		client  TEXT NOT NULL,
		key     TEXT NOT NULL,
		request TEXT NOT NULL,
		result  BLOB,
		payload BLOB,
		body    BLOB,
		bodies  BLOB,
		sum     INTEGER NOT NULL,
		UNIQUE (stream, seq),
		UNIQUE (stream, id)
	);
	CREATE TABLE body (
		oid     BLOB NOT NULL UNIQUE,
		size    INTEGER NOT NULL,
		content BLOB NOT NULL,
		used    INTEGER NOT NULL
	);
	CREATE TABLE checkpoint (
		stream  INTEGER PRIMARY KEY REFERENCES stream (id),
		seq     INTEGER NOT NULL,
		version INTEGER NOT NULL,
		state   BLOB NOT NULL
	);`,
}

// schemaVersion is the version that this program reads and writes.
const schemaVersion = len(migrations)

// migrate brings the database to schemaVersion. The caller holds the lock that
// keeps other processes from doing the same.
func migrate(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return fault("switch to WAL", err)
	}
	for {
		at, err := version(ctx, conn)
		if err != nil {
			return err
		}
		if at == schemaVersion {
			return nil
		}
		if at > schemaVersion {
			return newer(at)
		}
		if err := step(ctx, conn, at); err != nil {
			return fault("migrate to schema version "+strconv.Itoa(at+1), err)
		}
	}
}

// step applies one migration.
func step(ctx context.Context, conn *sql.Conn, from int) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, migrations[from]); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", from+1)); err != nil {
		return err
	}
	return tx.Commit()
}

// version reads the version of the schema.
func version(ctx context.Context, conn *sql.Conn) (int, error) {
	var v int
	err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, fault("read the schema version", err)
}

// newer is why a database of a later version is not touched.
func newer(found int) error {
	return workspace.Errorf(workspace.Unavailable, "the data directory has schema version %d, and this program knows %d", found, schemaVersion).
		Hinted("Update carrel, or use another data directory with --data.")
}
