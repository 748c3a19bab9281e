package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel.dev/workspace"
)

// keptBytes is how much is kept for a while unless Config says.
const keptBytes = 64 << 20

// keptRow is what a row of kept costs beside its value, about, in bytes.
const keptRow = 256

// sweptAtOnce is how many rows that have expired a write removes at most, so that it
// keeps others waiting no longer than any write does.
const sweptAtOnce = 16

// Keep keeps a value under a key until a time, in the place of the one that is there.
// It goes earlier when newer ones need the room that Config.Kept gives to all; one
// that is larger than that is refused, with Limit.
func (s *Store) Keep(ctx context.Context, key [32]byte, value []byte, until time.Time) error {
	size := int64(len(value)) + keptRow
	if size > s.kept {
		return workspace.Errorf(workspace.Limit, "%d bytes are to be kept, which is more than all may have together", len(value))
	}
	if value == nil {
		value = []byte{} // the driver makes nil NULL
	}
	return s.writer.do(ctx, func() error {
		stmts := &s.writer.sql
		if err := execute(stmts.dropKept, key[:]); err != nil {
			return classify(err)
		}
		if err := execute(stmts.addKept, size, key[:], until.UnixNano(), int64(castagnoli(value)), value); err != nil {
			return classify(err)
		}
		if err := execute(stmts.makeRoom, s.kept); err != nil {
			return classify(err)
		}
		return classify(execute(stmts.dropExpired, s.now().UnixNano(), sweptAtOnce))
	})
}

// Kept returns the value of a key: NotExist if there is none, or no longer.
func (s *Store) Kept(ctx context.Context, key [32]byte) ([]byte, error) {
	var value []byte
	var sum int64
	err := retry(ctx, func() error {
		return s.reader.kept.QueryRowContext(background(), key[:], s.now().UnixNano()).Scan(&sum, &value)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, workspace.Errorf(workspace.NotExist, "nothing is kept under that key")
	case err != nil:
		return nil, err
	case int64(castagnoli(value)) != sum:
		return nil, workspace.Errorf(workspace.Corrupt, "what is kept under a key does not match its checksum")
	}
	return value, nil
}
