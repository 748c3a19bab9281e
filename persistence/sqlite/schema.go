package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"carrel.dev/workspace"
)

// applicationID marks a database as one of Carrel: "CRRL".
const applicationID = 0x4352524c

// migrations returns the steps from an empty database to the newest schema, in
// order. The schema's version is the number of steps taken; the database keeps
// it as its user_version. A step that was released is never changed.
func migrations() []string { return []string{schema1, schema2} }

// schema1 is described in persistence/README.md.
const schema1 = `
CREATE TABLE streams (
	id      INTEGER PRIMARY KEY,
	project TEXT NOT NULL,
	name    TEXT NOT NULL,
	UNIQUE (project, name)
) STRICT;

CREATE TABLE events (
	position     INTEGER PRIMARY KEY AUTOINCREMENT,
	stream       INTEGER NOT NULL REFERENCES streams (id),
	seq          INTEGER NOT NULL CHECK (seq > 0),
	id           TEXT NOT NULL,
	type         TEXT NOT NULL,
	version      INTEGER NOT NULL,
	at           INTEGER,
	actor        TEXT NOT NULL,
	session      TEXT NOT NULL,
	client       TEXT NOT NULL,
	key          TEXT NOT NULL,
	request      TEXT NOT NULL,
	payload_body BLOB CHECK (length(payload_body) = 20),
	bodies       BLOB CHECK (length(bodies) % 20 = 0),
	checksum     INTEGER NOT NULL,
	result       BLOB,
	payload      BLOB,
	UNIQUE (stream, seq),
	UNIQUE (stream, id)
) STRICT;

CREATE INDEX events_of_commits ON events (stream, type) WHERE substr(type, 1, 16) = 'workspace/commit';

CREATE TABLE bodies (
	number  INTEGER PRIMARY KEY,
	id      BLOB NOT NULL UNIQUE CHECK (length(id) = 20),
	size    INTEGER NOT NULL,
	used    INTEGER NOT NULL,
	content BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoints (
	stream   INTEGER PRIMARY KEY REFERENCES streams (id),
	seq      INTEGER NOT NULL,
	version  INTEGER NOT NULL,
	checksum INTEGER NOT NULL,
	state    BLOB NOT NULL
) STRICT;
`

// schema2 adds capability tokens, what workspaces hold, for quotas, and what is kept
// for a while.
const schema2 = `
CREATE TABLE tokens (
	number   INTEGER PRIMARY KEY AUTOINCREMENT,
	hash     BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
	id       TEXT NOT NULL UNIQUE,
	project  TEXT NOT NULL,
	name     TEXT NOT NULL,
	grants   BLOB NOT NULL,
	created  INTEGER,
	expires  INTEGER,
	revoked  INTEGER,
	checksum INTEGER NOT NULL
) STRICT;

CREATE INDEX tokens_of_projects ON tokens (project, number);

CREATE TABLE usages (
	project   TEXT NOT NULL,
	workspace TEXT NOT NULL,
	entries   INTEGER NOT NULL,
	bytes     INTEGER NOT NULL,
	PRIMARY KEY (project, workspace)
) STRICT, WITHOUT ROWID;

CREATE TABLE kept (
	place    INTEGER PRIMARY KEY,
	key      BLOB NOT NULL UNIQUE CHECK (length(key) = 32),
	expires  INTEGER NOT NULL,
	checksum INTEGER NOT NULL,
	value    BLOB NOT NULL
) STRICT;

CREATE INDEX kept_expires ON kept (expires);
`

// migrate brings the database to the newest schema that this program knows.
func migrate(ctx context.Context, conn *sql.Conn, known []string) error {
	for {
		done := false
		err := retry(ctx, func() (err error) {
			done, err = migrateStep(conn, known)
			return err
		})
		if err != nil || done {
			return err
		}
	}
}

// migrateStep takes one step in a transaction of its own and reports whether
// there was none to take.
func migrateStep(conn *sql.Conn, known []string) (done bool, err error) {
	if _, err := conn.ExecContext(background(), "BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	defer func() {
		if err != nil || done {
			conn.ExecContext(background(), "ROLLBACK")
		}
	}()
	version, err := identify(conn)
	if err != nil {
		return false, err
	}
	switch {
	case version > len(known):
		return false, tooNew(version, len(known))
	case version == len(known):
		return true, nil
	}
	step := fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", known[version], applicationID, version+1)
	_, err = conn.ExecContext(background(), step)
	return false, err
}

// identify returns the schema version of a database of Carrel, 0 for an empty one.
func identify(conn *sql.Conn) (version int, err error) {
	var application, objects int
	row := conn.QueryRowContext(background(),
		"SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)")
	if err := row.Scan(&version, &application, &objects); err != nil {
		return 0, err
	}
	empty := application == 0 && version == 0 && objects == 0
	if application != applicationID && !empty {
		return 0, workspace.Errorf(workspace.Invalid, "the database file is not one of Carrel").
			Hinted("Choose another data directory; nothing in this one was changed.")
	}
	return version, nil
}

func tooNew(found, known int) error {
	return workspace.Errorf(workspace.Unavailable, "the database has schema version %d and this program knows versions up to %d", found, known).
		Hinted("A newer Carrel has upgraded the database. Start that one again in place of this process.")
}
