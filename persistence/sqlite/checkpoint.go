package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"carrel.dev/workspace"
)

// SaveCheckpoint implements workspace.Checkpointer.
func (s *Store) SaveCheckpoint(ctx context.Context, id workspace.StreamID, at workspace.Seq, version int, state []byte) error {
	if state == nil {
		state = []byte{} // the driver makes nil NULL
	}
	return s.writer.do(ctx, func() error {
		row, err := s.writer.intern(id)
		if err != nil {
			return err
		}
		return classify(execute(s.writer.sql.saveCheckpoint, row, int64(at), version, int64(castagnoli(state)), state))
	})
}

// LoadCheckpoint implements workspace.Checkpointer. A damaged checkpoint is as
// good as none.
func (s *Store) LoadCheckpoint(ctx context.Context, id workspace.StreamID, version int) (workspace.Seq, []byte, error) {
	var at workspace.Seq
	var sum int64
	var state []byte
	err := retry(ctx, func() error {
		return s.reader.loadCheckpoint.QueryRowContext(background(), id.Project, id.Name, version).Scan(&at, &sum, &state)
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && int64(castagnoli(state)) != sum {
		return 0, nil, workspace.Errorf(workspace.NotExist, "stream has no checkpoint of version %d", version).At(id.Name)
	}
	if err != nil {
		return 0, nil, err
	}
	return at, state, nil
}
