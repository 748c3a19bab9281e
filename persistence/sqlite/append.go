package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// statements are prepared once for the connection that writes.
type statements struct {
	findStream, makeStream, moveStream *sql.Stmt
	findEvent, addEvent                *sql.Stmt
	hasBody, putBody                   *sql.Stmt
	saveCheckpoint                     *sql.Stmt
}

func (w *writer) prepare(ctx context.Context) error {
	for stmt, text := range map[**sql.Stmt]string{
		&w.findStream: "SELECT id, last FROM stream WHERE project = ? AND name = ?",
		&w.makeStream: "INSERT INTO stream (project, name, last) VALUES (?, ?, 0)",
		&w.moveStream: "UPDATE stream SET last = ? WHERE id = ?",
		&w.findEvent:  "SELECT " + eventColumns + " FROM event e JOIN stream s ON s.id = e.stream WHERE e.stream = ? AND e.id = ?",
		&w.addEvent: `INSERT INTO event (stream, seq, id, type, version, at, actor, session, client, key, request, result, payload, body, bodies, sum)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&w.hasBody: "SELECT 1 FROM body WHERE oid = ?",
		&w.putBody: `INSERT INTO body (oid, size, content, used) VALUES (?, ?, ?, ?)
			ON CONFLICT (oid) DO UPDATE SET used = excluded.used`,
		&w.saveCheckpoint: `INSERT INTO checkpoint (stream, seq, version, state) VALUES (?, ?, ?, ?)
			ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, version = excluded.version, state = excluded.state
			WHERE excluded.seq >= seq OR excluded.version <> version`,
	} {
		var err error
		if *stmt, err = w.conn.PrepareContext(ctx, text); err != nil {
			return fault("prepare", err)
		}
	}
	return nil
}

// appending is one append inside the transaction.
type appending struct {
	w       *writer
	records []workspace.Record
	missing []workspace.OID
}

func (t *appending) append(ctx context.Context, batches []workspace.Batch) error {
	for _, b := range batches {
		for _, body := range b.Bodies {
			if err := t.w.put(ctx, body.ID, body.Content); err != nil {
				return err
			}
		}
	}
	for _, b := range batches {
		if err := t.batch(ctx, b); err != nil {
			return err
		}
	}
	if len(t.missing) > 0 {
		return &workspace.MissingBodiesError{IDs: t.missing}
	}
	return nil
}

// put stores a body, or renews its age.
func (w *writer) put(ctx context.Context, id workspace.OID, content []byte) error {
	if content == nil {
		content = []byte{}
	}
	_, err := w.putBody.ExecContext(ctx, id[:], len(content), content, w.cfg.Now().Unix())
	return fault("store a content", err)
}

// stream returns the row of a stream, making it if need be, and its last seq.
func (w *writer) stream(ctx context.Context, s workspace.StreamID) (id int64, last workspace.Seq, err error) {
	err = w.findStream.QueryRowContext(ctx, s.Project, s.Name).Scan(&id, &last)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, last, fault("find a stream", err)
	}
	made, err := w.makeStream.ExecContext(ctx, s.Project, s.Name)
	if err != nil {
		return 0, 0, fault("make a stream", err)
	}
	id, err = made.LastInsertId()
	return id, 0, fault("make a stream", err)
}

func (t *appending) batch(ctx context.Context, b workspace.Batch) error {
	stream, end, err := t.w.stream(ctx, b.Stream)
	if err != nil {
		return err
	}
	known, err := t.known(ctx, stream, b)
	if err != nil {
		return err
	}
	if len(known) > 0 && len(known) == len(b.Events) {
		for _, e := range b.Events {
			t.records = append(t.records, known[e.ID])
		}
		return nil
	}
	if b.Last != workspace.Any && b.Last != end {
		return &workspace.ConflictError{Stream: b.Stream, Want: b.Last, Got: end}
	}
	for _, e := range b.Events {
		if old, stored := known[e.ID]; stored {
			t.records = append(t.records, old)
			continue
		}
		if err := t.name(ctx, e.Bodies); err != nil {
			return err
		}
		end++
		r := workspace.Record{Stream: b.Stream, Seq: end, Event: events.Normal(e)}
		if err := t.w.add(ctx, stream, r); err != nil {
			return err
		}
		t.records = append(t.records, r)
	}
	_, err = t.w.moveStream.ExecContext(ctx, int64(end), stream)
	return fault("append", err)
}

// known returns those of a batch's events that are stored already. One that is
// stored with other content is a conflict.
func (t *appending) known(ctx context.Context, stream int64, b workspace.Batch) (map[string]workspace.Record, error) {
	var found map[string]workspace.Record
	for _, e := range b.Events {
		old, err := scan(t.w.findEvent.QueryRowContext(ctx, stream, e.ID))
		if errors.Is(err, workspace.NotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !events.Same(old.Event, e) {
			return nil, &workspace.ConflictError{Stream: b.Stream, Want: b.Last, Got: old.Seq, Event: e.ID}
		}
		if found == nil {
			found = map[string]workspace.Record{}
		}
		found[e.ID] = old.Record
	}
	return found, nil
}

// name notes which of the bodies that an event names are nowhere.
func (t *appending) name(ctx context.Context, ids []workspace.OID) error {
	for _, id := range ids {
		var one int
		err := t.w.hasBody.QueryRowContext(ctx, id[:]).Scan(&one)
		if err == nil {
			continue
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return fault("look for a content", err)
		}
		there, err := t.w.cfg.Large(ctx, id)
		if err != nil {
			return err
		}
		if !there && !slices.Contains(t.missing, id) {
			t.missing = append(t.missing, id)
		}
	}
	return nil
}

// add writes an event's row.
func (w *writer) add(ctx context.Context, stream int64, r workspace.Record) error {
	row := rowOf(r)
	_, err := w.addEvent.ExecContext(ctx, stream, int64(r.Seq), r.ID, r.Type, r.Version, row.at, r.Actor, r.Session, r.Client,
		r.Key, r.Request, row.result, row.payload, row.body, row.bodies, row.sum)
	return fault("append", err)
}
