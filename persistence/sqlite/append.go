package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/mattn/go-sqlite3"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// Append implements workspace.Store. An append that its caller gave up before
// its transaction began has no effect.
func (s *Store) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	if err := events.Check(batches); err != nil {
		return nil, err
	}
	var done appending
	j := &job{
		run: func() error {
			a := appending{store: s, used: s.now().Unix(), known: map[workspace.OID]bool{}}
			err := a.run(ctx, batches)
			done = a
			return err
		},
		committed: func() {
			if len(done.added) > 0 {
				s.recent.add(done.first, done.added)
			}
		},
	}
	if err := s.writer.doJob(ctx, j); err != nil {
		return nil, err
	}
	return done.recs, nil
}

// appending is one append inside its transaction.
type appending struct {
	store *Store
	used  int64 // when the bodies are used, in Unix seconds
	recs  []workspace.Record
	// added are those of recs that are new, and first is where the first of them
	// is: nobody else writes meanwhile, so that they follow each other.
	added []workspace.Record
	first workspace.Position
	// wanted are the bodies that new events name, in their order, and known
	// those of which it is already clear whether they are there.
	wanted []workspace.OID
	known  map[workspace.OID]bool
}

func (a *appending) run(ctx context.Context, batches []workspace.Batch) error {
	for _, b := range batches {
		for _, body := range b.Bodies {
			if err := a.store.writer.putBody(body.ID, body.Content, a.used); err != nil {
				return err
			}
			a.known[body.ID] = true
		}
	}
	if err := a.store.writer.fault(BodiesStored); err != nil {
		return err
	}
	for _, b := range batches {
		if err := a.add(b); err != nil {
			return err
		}
	}
	if err := a.checkBodies(ctx); err != nil {
		return err
	}
	return a.store.writer.fault(RecordsStored)
}

// add appends the events of one batch that are not there yet.
func (a *appending) add(b workspace.Batch) error {
	w := a.store.writer
	stream, end, err := w.stream(b.Stream)
	if err != nil {
		return err
	}
	defer func() { w.know(b.Stream, stream, end) }()
	expect := b.Last
	for _, e := range b.Events {
		rec := workspace.Record{Stream: b.Stream, Seq: end + 1, Event: events.Normal(e)}
		if expect == workspace.Any || expect == end {
			at := workspace.Position(0)
			if stream, at, err = w.insert(stream, rec); err == nil {
				expect = workspace.Any // the batch's own events follow each other
				end++
				a.note(rec, at)
				continue
			}
			if !isRepeated(err) {
				return classify(err)
			}
		}
		switch rec, err = w.find(b.Stream, stream, e.ID); {
		case errors.Is(err, sql.ErrNoRows):
			return &workspace.ConflictError{Stream: b.Stream, Want: expect, Got: end}
		case err != nil:
			return err
		case !events.Same(rec.Event, e):
			return &workspace.ConflictError{Stream: b.Stream, Want: b.Last, Got: end, Event: e.ID}
		}
		a.recs = append(a.recs, rec)
	}
	return nil
}

// note remembers a record that was inserted.
func (a *appending) note(rec workspace.Record, at workspace.Position) {
	if len(a.added) == 0 {
		a.first = at
	}
	a.added = append(a.added, rec)
	a.recs = append(a.recs, rec)
	a.wanted = append(a.wanted, rec.Bodies...)
}

// checkBodies reports the bodies that new events name and nobody has. It runs
// under the lock that a collector of garbage takes too.
func (a *appending) checkBodies(ctx context.Context) error {
	var missing []workspace.OID
	for _, id := range a.wanted {
		if a.known[id] {
			continue
		}
		a.known[id] = true
		found, err := a.store.writer.hasBody(id)
		if err == nil && !found && a.store.large != nil {
			found, err = a.store.large(ctx, id)
		}
		if err != nil {
			return err
		}
		if !found {
			missing = append(missing, id)
		}
	}
	if missing != nil {
		return &workspace.MissingBodiesError{IDs: slices.Clip(missing)}
	}
	return nil
}

// streamEnd is a stream's row and its last seq.
type streamEnd struct {
	row int64
	end workspace.Seq
}

// maxEnds is how many are known at most.
const maxEnds = 4096

// know remembers where a stream ends.
func (w *writer) know(id workspace.StreamID, row int64, end workspace.Seq) {
	if row == noStream {
		return
	}
	if len(w.ends) >= maxEnds {
		clear(w.ends)
	}
	w.ends[id] = streamEnd{row, end}
}

// noStream is a stream that has no row yet.
const noStream = 0

// stream looks up a stream's row and its last seq.
func (w *writer) stream(id workspace.StreamID) (row int64, end workspace.Seq, err error) {
	if known, ok := w.ends[id]; ok {
		return known.row, known.end, nil
	}
	var found [2]int64
	err = w.sql.findStream.query(found[:], id.Project, id.Name)
	if errors.Is(err, sql.ErrNoRows) {
		return noStream, 0, nil
	}
	return found[0], workspace.Seq(found[1]), classify(err)
}

// intern looks up a stream's row, and makes it if there is none.
func (w *writer) intern(id workspace.StreamID) (int64, error) {
	row, _, err := w.stream(id)
	if err != nil || row != noStream {
		return row, err
	}
	res, err := w.sql.addStream.ExecContext(background(), id.Project, id.Name)
	if err != nil {
		return 0, classify(err)
	}
	return res.LastInsertId()
}

// find returns the record of an event, or sql.ErrNoRows.
func (w *writer) find(id workspace.StreamID, stream int64, event string) (workspace.Record, error) {
	if stream == noStream {
		return workspace.Record{}, sql.ErrNoRows
	}
	var position workspace.Position
	err := w.sql.findEvent.QueryRowContext(background(), stream, event).Scan(&position)
	if err != nil {
		return workspace.Record{}, damaged(id, err)
	}
	_, rec, err := scanRecord(w.sql.readRecord.QueryRowContext(background(), int64(position)))
	return rec, damaged(id, err)
}

// insert adds a record, and its stream's row if there is none, which it returns
// with the record's position. An event that is there already is isRepeated.
func (w *writer) insert(stream int64, rec workspace.Record) (int64, workspace.Position, error) {
	if stream == noStream {
		var err error
		if stream, err = w.intern(rec.Stream); err != nil {
			return 0, 0, err
		}
	}
	var at, payloadBody driver.Value
	if !rec.At.IsZero() {
		at = rec.At.UnixNano()
	}
	if !rec.PayloadBody.IsZero() {
		payloadBody = rec.PayloadBody[:]
	}
	done, err := w.sql.addEvent.exec(stream, int64(rec.Seq), rec.ID, rec.Type, int64(rec.Version), at,
		rec.Actor, rec.Session, rec.Client, rec.Key, rec.Request,
		payloadBody, joinIDs(rec.Bodies), int64(checksum(rec)), rec.Result, rec.Payload)
	if err != nil {
		return stream, 0, err
	}
	position, err := done.LastInsertId()
	return stream, workspace.Position(position), err
}

// isRepeated reports whether a row was refused because one like it is there.
func isRepeated(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrConstraintUnique
}
