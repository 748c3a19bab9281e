package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"carrel.dev/workspace"
)

// Streams implements workspace.Examiner.
func (s *Store) Streams(ctx context.Context) ([]workspace.StreamID, error) {
	return s.reader.streamIDs(ctx, s.reader.streams)
}

// Examine implements workspace.Examiner.
func (s *Store) Examine(ctx context.Context, id workspace.StreamID) iter.Seq2[workspace.Record, error] {
	return func(yield func(workspace.Record, error) bool) {
		for last := workspace.Seq(0); ; {
			p, err := s.reader.stream(ctx, id, last)
			for _, rec := range p.recs {
				if rec.Seq != last+1 && !yield(workspace.Record{Stream: id, Seq: last + 1}, gap(id, last+1)) {
					return
				}
				if last = rec.Seq; !yield(rec, nil) {
					return
				}
			}
			var bad *badRecord
			switch {
			case errors.As(err, &bad) && bad.seq > last:
				if bad.seq != last+1 && !yield(workspace.Record{Stream: id, Seq: last + 1}, gap(id, last+1)) {
					return
				}
				last = bad.seq
				if !yield(workspace.Record{Stream: id, Seq: last}, err) {
					return
				}
			case err != nil:
				yield(workspace.Record{}, err)
				return
			case !p.more:
				return
			}
		}
	}
}

// Structure implements workspace.Examiner, with what SQLite can tell.
func (s *Store) Structure(ctx context.Context) ([]string, error) {
	var found []string
	for _, check := range []string{
		"PRAGMA integrity_check(100)",
		`SELECT 'a row of ' || "table" || ' refers to one of ' || parent || ' that is missing' FROM pragma_foreign_key_check LIMIT 100`,
	} {
		err := retry(ctx, func() error { // busy comes before the first row
			texts, err := queryTexts(s.reader.db, check)
			if len(texts) != 1 || texts[0] != "ok" {
				found = append(found, texts...)
			}
			return err
		})
		if workspace.KindOf(err) == workspace.Corrupt {
			return append(found, err.Error()), nil // so damaged that it cannot be looked at
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func queryTexts(db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(background(), query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var texts []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return texts, err
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}

// Reindex implements workspace.Examiner.
func (s *Store) Reindex(ctx context.Context) error {
	return s.writer.do(ctx, func() error {
		_, err := s.writer.conn.ExecContext(background(), "REINDEX")
		return classify(err)
	})
}

// ExamineCheckpoint implements workspace.CheckpointExaminer.
func (s *Store) ExamineCheckpoint(ctx context.Context, id workspace.StreamID) (workspace.Checkpoint, error) {
	var c workspace.Checkpoint
	var sum int64
	err := retry(ctx, func() error {
		return s.reader.anyCheckpoint.QueryRowContext(background(), id.Project, id.Name).Scan(&c.At, &c.Version, &sum, &c.State)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return c, workspace.Errorf(workspace.NotExist, "stream has no checkpoint").At(id.Name)
	}
	if err == nil && int64(castagnoli(c.State)) != sum {
		err = workspace.Errorf(workspace.Corrupt, "the checkpoint at seq %d does not match its checksum", c.At).At(id.Name)
	}
	return c, err
}

// DropCheckpoint implements workspace.CheckpointExaminer.
func (s *Store) DropCheckpoint(ctx context.Context, id workspace.StreamID) error {
	return s.writer.do(ctx, func() error {
		return classify(execute(s.writer.sql.dropCheckpoint, id.Project, id.Name))
	})
}
