package sqlite

import (
	"context"

	"carrel.dev/workspace"
)

// NoteUsage implements workspace.UsageStore.
func (s *Store) NoteUsage(ctx context.Context, id workspace.StreamID, u workspace.Usage) error {
	return s.writer.do(ctx, func() error {
		return classify(execute(s.writer.sql.noteUsage, id.Project, id.Name, u.Entries, u.Bytes))
	})
}

// Usage implements workspace.UsageStore.
func (s *Store) Usage(ctx context.Context, id workspace.StreamID) (own, all workspace.Usage, err error) {
	err = retry(ctx, func() error {
		return s.reader.usage.QueryRowContext(background(), id.Name, id.Name, id.Project).
			Scan(&own.Entries, &own.Bytes, &all.Entries, &all.Bytes)
	})
	return own, all, err
}
