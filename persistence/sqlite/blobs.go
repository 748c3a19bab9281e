package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"carrel.dev/persistence/internal/content"
	"carrel.dev/workspace"
)

// maxBody is the largest content that a row takes here, in bytes. SQLite stops
// at 1 GB.
const maxBody = 256 << 20

// Put implements workspace.Blobs. It writes also what is there, which renews
// its age and mends it if it is damaged; SQLite leaves the pages that do not
// change alone. A content over 256 MiB is Limit.
func (s *Store) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	if size > maxBody {
		return workspace.OID{}, workspace.Errorf(workspace.Limit, "content of %d bytes is larger than the %d that the database takes", size, int64(maxBody)).
			Hinted("Store it in pieces.")
	}
	data, id, err := content.Read(ctx, r, size)
	if err != nil {
		return workspace.OID{}, err
	}
	err = s.writer.do(ctx, func() error { return s.writer.putBody(id, data, s.now().Unix()) })
	if err != nil {
		return workspace.OID{}, err
	}
	return id, nil
}

// Open implements workspace.Blobs. It reads the content and holds it against
// its id.
func (s *Store) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	var data []byte
	err := retry(ctx, func() error {
		return s.reader.openBody.QueryRowContext(background(), id[:]).Scan(&data)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, content.Missing(id)
	}
	if err == nil {
		err = content.Check(id, data)
	}
	if err != nil {
		return nil, err
	}
	return content.Reader(data), nil
}

// Has implements workspace.Blobs.
func (s *Store) Has(ctx context.Context, id workspace.OID) (bool, error) {
	var found bool
	err := retry(ctx, func() (err error) {
		found, err = scanHas(s.reader.hasBody, id)
		return err
	})
	return found, err
}

func scanHas(stmt *sql.Stmt, id workspace.OID) (bool, error) {
	var whole bool
	err := stmt.QueryRowContext(background(), id[:]).Scan(&whole)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return whole, err
}

// hasBody is Has inside a transaction.
func (w *writer) hasBody(id workspace.OID) (bool, error) {
	found, err := scanHas(w.sql.hasBody, id)
	return found, classify(err)
}

// putBody stores a content, or marks it as used now.
func (w *writer) putBody(id workspace.OID, data []byte, used int64) error {
	if data == nil {
		data = []byte{} // the driver makes nil NULL
	}
	return classify(w.sql.putBody.run(id[:], int64(len(data)), used, data))
}
