package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"carrel.dev/workspace"
)

// listPage is how many contents are listed at once.
const listPage = 1000

// Contents implements workspace.Inventory. The age is in whole seconds: a content
// that was put in the second of before counts as put after it.
func (s *Store) Contents(ctx context.Context, before time.Time) iter.Seq2[workspace.Stored, error] {
	return func(yield func(workspace.Stored, error) bool) {
		var last []byte
		for {
			page, err := s.reader.contents(ctx, last, before)
			if err != nil {
				yield(workspace.Stored{}, err)
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
			if len(page) < listPage {
				return
			}
			last = page[len(page)-1].ID[:]
		}
	}
}

// contents lists a page of the contents after an id.
func (r *reader) contents(ctx context.Context, after []byte, before time.Time) ([]workspace.Stored, error) {
	if after == nil {
		after = []byte{} // the driver makes nil NULL, which nothing comes after
	}
	bound := sql.NullInt64{Int64: before.Unix(), Valid: !before.IsZero()}
	var page []workspace.Stored
	err := retry(ctx, func() error {
		page = nil
		rows, err := r.listBodies.QueryContext(background(), after, bound, listPage)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			c, err := scanStored(rows)
			if err != nil {
				return err
			}
			page = append(page, c)
		}
		return rows.Err()
	})
	return page, err
}

func scanStored(row interface{ Scan(...any) error }) (workspace.Stored, error) {
	var c workspace.Stored
	var id []byte
	var used int64
	if err := row.Scan(&id, &c.Size, &used); err != nil {
		return c, err
	}
	copy(c.ID[:], id)
	c.Used = time.Unix(used, 0).UTC()
	return c, nil
}

// Sweep implements workspace.Sweeper. It is one job of the writer: what else is
// in its transaction comes before it and is seen, or comes after it and sees it.
func (s *Store) Sweep(ctx context.Context, before time.Time, after workspace.Position, choose func([]workspace.Record) ([]workspace.OID, error)) ([]workspace.Stored, error) {
	var gone []workspace.Stored
	err := s.writer.do(ctx, func() error {
		newer, err := s.writer.newer(after)
		if err != nil {
			return damaged(workspace.StreamID{}, err)
		}
		ids, err := choose(newer)
		if err != nil {
			return err
		}
		if gone, err = s.writer.removeBodies(ids, before); err != nil || s.discard == nil {
			return err
		}
		// Files do not come back with a transaction that fails, and need not:
		// nothing names them.
		large, err := s.discard(ctx, before, ids)
		gone = append(gone, large...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// newer reads the records after a position inside a transaction.
func (w *writer) newer(after workspace.Position) ([]workspace.Record, error) {
	var all []workspace.Record
	for {
		rows, err := w.sql.since.QueryContext(background(), int64(after), pageRecords)
		if err != nil {
			return nil, err
		}
		p, err := scanPage(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, p.recs...)
		if !p.more {
			return all, nil
		}
		after = p.last
	}
}

// removeBodies removes those of some contents that were last used before a time.
func (w *writer) removeBodies(ids []workspace.OID, before time.Time) ([]workspace.Stored, error) {
	var gone []workspace.Stored
	for _, id := range ids {
		c, err := scanStored(w.sql.removeBody.QueryRowContext(background(), id[:], before.Unix()))
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, classify(err)
		}
		gone = append(gone, c)
	}
	return gone, nil
}
