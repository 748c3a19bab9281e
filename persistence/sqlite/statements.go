package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
)

// statements are those of the writer's connection.
type statements struct {
	// These are for every append.
	begin, commit, rollback *stmt
	dataVersion             *stmt
	findStream              *stmt
	addEvent, putBody       *stmt

	savepoint, release, undo *sql.Stmt
	version                  *sql.Stmt
	addStream                *sql.Stmt
	findEvent, readRecord    *sql.Stmt
	hasBody                  *sql.Stmt
	saveCheckpoint           *sql.Stmt
	dropCheckpoint           *sql.Stmt
	since, removeBody        *sql.Stmt
	noteUsage                *sql.Stmt
	addToken, findToken      *sql.Stmt
	revokeToken              *sql.Stmt
	addKept, dropKept        *sql.Stmt
	makeRoom, dropExpired    *sql.Stmt
}

func (s *statements) prepare(conn *sql.Conn) (all prepared, err error) {
	err = conn.Raw(func(c any) (err error) {
		all, err = prepareRaw(c.(driver.Conn), map[**stmt]string{
			&s.begin:       "BEGIN IMMEDIATE",
			&s.commit:      "COMMIT",
			&s.rollback:    "ROLLBACK",
			&s.dataVersion: "PRAGMA data_version",
			&s.findStream: `SELECT id, coalesce((SELECT max(seq) FROM events WHERE stream = streams.id), 0)
				FROM streams WHERE project = ? AND name = ?`,
			&s.addEvent: `INSERT INTO events (stream, seq, id, type, version, at, actor, session, client, key, request,
				payload_body, bodies, checksum, result, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			&s.putBody: `INSERT INTO bodies (id, size, used, content) VALUES (?, ?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET size = excluded.size, used = excluded.used, content = excluded.content`,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	others, err := prepare(conn, map[**sql.Stmt]string{
		&s.noteUsage: `INSERT INTO usages (project, workspace, entries, bytes) VALUES (?, ?, ?, ?)
			ON CONFLICT (project, workspace) DO UPDATE SET entries = excluded.entries, bytes = excluded.bytes`,
		&s.savepoint:  "SAVEPOINT job",
		&s.release:    "RELEASE job",
		&s.undo:       "ROLLBACK TO job",
		&s.version:    "PRAGMA user_version",
		&s.addStream:  "INSERT INTO streams (project, name) VALUES (?, ?)",
		&s.findEvent:  "SELECT position FROM events WHERE stream = ? AND id = ?",
		&s.readRecord: selectRecord + " WHERE e.position = ?",
		&s.hasBody:    hasBody,
		&s.since:      selectSince,
		&s.removeBody: "DELETE FROM bodies WHERE id = ? AND used < ? RETURNING id, size, used",
		&s.addToken: `INSERT INTO tokens (hash, id, project, name, grants, created, expires, revoked, checksum)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		&s.findToken:   selectToken + " WHERE project = ? AND id = ?",
		&s.revokeToken: "UPDATE tokens SET revoked = ?, checksum = ? WHERE project = ? AND id = ?",
		// Rows are as far apart as they are large: so the room that those from a place on
		// take is told from the first and the last of them.
		&s.addKept: `INSERT INTO kept (place, key, expires, checksum, value)
			SELECT coalesce(max(place), 0) + ?, ?, ?, ?, ? FROM kept`,
		&s.dropKept: "DELETE FROM kept WHERE key = ?",
		&s.makeRoom: "DELETE FROM kept WHERE place <= (SELECT max(place) FROM kept) - ?",
		&s.dropExpired: `DELETE FROM kept WHERE place IN
			(SELECT place FROM kept WHERE expires <= ? ORDER BY expires LIMIT ?)`,
		&s.dropCheckpoint: `DELETE FROM checkpoints
			WHERE stream = (SELECT id FROM streams WHERE project = ? AND name = ?)`,
		&s.saveCheckpoint: `INSERT INTO checkpoints (stream, seq, version, checksum, state) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, version = excluded.version,
			checksum = excluded.checksum, state = excluded.state WHERE excluded.seq >= seq`,
	})
	if err != nil {
		return nil, errors.Join(err, all.close())
	}
	return append(all, others...), nil
}
