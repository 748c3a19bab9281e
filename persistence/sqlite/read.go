package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/mattn/go-sqlite3"

	"carrel.dev/workspace"
)

// How much is read at once: whichever comes first.
const (
	pageRecords = 2000
	pageBytes   = 4 << 20
)

const selectRecord = `SELECT e.position, s.project, s.name, e.seq, e.id, e.type, e.version, e.at, e.actor, e.session,
	e.client, e.key, e.request, e.result, e.payload, e.payload_body, e.bodies, e.checksum
	FROM events e JOIN streams s ON s.id = e.stream`

const selectSince = selectRecord + " WHERE e.position > ? ORDER BY e.position LIMIT ?"

// hasBody compares sizes without reading the content.
const hasBody = "SELECT size = length(content) FROM bodies WHERE id = ?"

// reader is the pool of connections that read.
type reader struct {
	db                                *sql.DB
	page, last, find, since, end      *sql.Stmt
	projects                          *sql.Stmt
	openCommits, streams, listBodies  *sql.Stmt
	openBody, hasBody, loadCheckpoint *sql.Stmt
	anyCheckpoint                     *sql.Stmt
	tokenByHash, tokens, usage        *sql.Stmt
	kept                              *sql.Stmt
}

func openReader(ctx context.Context, path string) (*reader, error) {
	db, err := sql.Open("sqlite3", dsn(path, "ro", readerBusy))
	if err != nil {
		return nil, classify(err)
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	r := &reader{db: db}
	err = retry(ctx, func() error {
		_, err := prepare(db, map[**sql.Stmt]string{
			&r.page: selectRecord + " WHERE s.project = ? AND s.name = ? AND e.seq > ? ORDER BY e.seq LIMIT ?",
			&r.last: `SELECT coalesce(max(seq), 0) FROM events
				WHERE stream = (SELECT id FROM streams WHERE project = ? AND name = ?)`,
			&r.find:     selectRecord + " WHERE s.project = ? AND s.name = ? AND e.id = ?",
			&r.since:    selectSince,
			&r.end:      "SELECT coalesce(max(position), 0) FROM events",
			&r.projects: "SELECT DISTINCT project FROM streams s WHERE EXISTS (SELECT 1 FROM events WHERE stream = s.id) ORDER BY project",
			&r.openCommits: `SELECT s.project, s.name FROM events e JOIN streams s ON s.id = e.stream
				WHERE substr(e.type, 1, 16) = 'workspace/commit'
				GROUP BY e.stream HAVING sum(e.type = ?1) > sum(e.type <> ?1) ORDER BY s.project, s.name`,
			&r.streams:  "SELECT project, name FROM streams ORDER BY project, name",
			&r.openBody: "SELECT content FROM bodies WHERE id = ?",
			&r.listBodies: `SELECT id, size, used FROM bodies WHERE id > ?1 AND used < coalesce(?2, used + 1)
				ORDER BY id LIMIT ?3`,
			&r.anyCheckpoint: `SELECT c.seq, c.version, c.checksum, c.state FROM checkpoints c JOIN streams s ON s.id = c.stream
				WHERE s.project = ? AND s.name = ?`,
			&r.hasBody: hasBody,
			&r.usage: `SELECT coalesce(sum(entries) FILTER (WHERE workspace = ?), 0), coalesce(sum(bytes) FILTER (WHERE workspace = ?), 0),
			coalesce(sum(entries), 0), coalesce(sum(bytes), 0) FROM usages WHERE project = ?`,
			&r.kept:        "SELECT checksum, value FROM kept WHERE key = ? AND expires > ?",
			&r.tokenByHash: selectToken + " WHERE hash = ?",
			&r.tokens:      selectToken + " WHERE project = ? ORDER BY number",
			&r.loadCheckpoint: `SELECT c.seq, c.checksum, c.state FROM checkpoints c JOIN streams s ON s.id = c.stream
				WHERE s.project = ? AND s.name = ? AND c.version = ?`,
		})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return r, nil
}

func (r *reader) close() error { return r.db.Close() }

// Records implements workspace.Store. A record that does not match its checksum
// and a gap in the numbers are Corrupt.
func (s *Store) Records(ctx context.Context, id workspace.StreamID, after workspace.Seq) iter.Seq2[workspace.Record, error] {
	return func(yield func(workspace.Record, error) bool) {
		p := page{more: true}
		for last := after; p.more; {
			var err error
			p, err = s.reader.stream(ctx, id, last)
			for _, rec := range p.recs {
				if last++; rec.Seq != last {
					yield(workspace.Record{}, gap(id, last))
					return
				}
				if !yield(rec, nil) {
					return
				}
			}
			if err != nil {
				yield(workspace.Record{}, err)
				return
			}
		}
	}
}

// stream reads a page of a stream's records; with an error those before it.
func (r *reader) stream(ctx context.Context, id workspace.StreamID, after workspace.Seq) (page, error) {
	if after > math.MaxInt64 { // beyond what the database can count to
		return page{}, alive(ctx)
	}
	p, err := r.read(ctx, r.page, id.Project, id.Name, int64(after), pageRecords)
	return p, damaged(id, err)
}

// Last implements workspace.Store.
func (s *Store) Last(ctx context.Context, id workspace.StreamID) (workspace.Seq, error) {
	var last workspace.Seq
	err := retry(ctx, func() error {
		return s.reader.last.QueryRowContext(background(), id.Project, id.Name).Scan(&last)
	})
	return last, err
}

// Find implements workspace.Store.
func (s *Store) Find(ctx context.Context, id workspace.StreamID, event string) (workspace.Record, error) {
	var rec workspace.Record
	err := retry(ctx, func() (err error) {
		_, rec, err = scanRecord(s.reader.find.QueryRowContext(background(), id.Project, id.Name, event))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return rec, workspace.Errorf(workspace.NotExist, "stream has no event %q", event).At(id.Name)
	}
	return rec, damaged(id, err)
}

// Projects implements workspace.ProjectLister.
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	var names []string
	err := retry(ctx, func() error {
		names = nil
		rows, err := s.reader.projects.QueryContext(background())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		return rows.Err()
	})
	return names, err
}

// OpenCommits implements workspace.CommitSeeker.
func (s *Store) OpenCommits(ctx context.Context) ([]workspace.StreamID, error) {
	return s.reader.streamIDs(ctx, s.reader.openCommits, workspace.WorkspaceCommitting)
}

// streamIDs runs a query for the names of streams.
func (r *reader) streamIDs(ctx context.Context, query *sql.Stmt, args ...any) ([]workspace.StreamID, error) {
	var ids []workspace.StreamID
	err := retry(ctx, func() error {
		ids = nil
		rows, err := query.QueryContext(background(), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id workspace.StreamID
			if err := rows.Scan(&id.Project, &id.Name); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	})
	return ids, err
}

// page is some of the records that a query found.
type page struct {
	recs []workspace.Record
	last workspace.Position // of the last record
	more bool               // whether the query may find more after them
}

// read runs a query for records, and with an error returns those before it.
func (r *reader) read(ctx context.Context, query *sql.Stmt, args ...any) (page, error) {
	var p page
	err := retry(ctx, func() error {
		rows, err := query.QueryContext(background(), args...)
		if err != nil {
			return err
		}
		p, err = scanPage(rows)
		return err
	})
	return p, err
}

func scanPage(rows *sql.Rows) (page, error) {
	defer rows.Close()
	var p page
	size := 0
	for rows.Next() {
		position, rec, err := scanRecord(rows)
		if err != nil {
			return p, err
		}
		p.recs, p.last = append(p.recs, rec), position
		size += recordSize(rec)
		if p.more = len(p.recs) == pageRecords || size >= pageBytes; p.more {
			break
		}
	}
	return p, rows.Err()
}

// scanRecord reads a row of selectRecord and holds it against its checksum.
func scanRecord(row interface{ Scan(...any) error }) (workspace.Position, workspace.Record, error) {
	var (
		position    workspace.Position
		rec         workspace.Record
		seq, sum    int64
		at          sql.NullInt64
		payloadBody []byte
		bodies      []byte
	)
	err := row.Scan(&position, &rec.Stream.Project, &rec.Stream.Name, &seq, &rec.ID, &rec.Type, &rec.Version, &at,
		&rec.Actor, &rec.Session, &rec.Client, &rec.Key, &rec.Request, &rec.Result, &rec.Payload, &payloadBody, &bodies, &sum)
	if err != nil {
		return 0, workspace.Record{}, unreadable(err)
	}
	rec.Seq = workspace.Seq(seq)
	if at.Valid {
		rec.At = time.Unix(0, at.Int64).UTC()
	}
	copy(rec.PayloadBody[:], payloadBody)
	rec.Bodies = splitIDs(bodies)
	if got := checksum(rec); int64(got) != sum {
		return 0, workspace.Record{}, &badRecord{rec.Seq, workspace.Errorf(workspace.Corrupt,
			"record %d in project %s does not match its checksum", seq, rec.Stream.Project).At(rec.Stream.Name).Hinted(restore)}
	}
	return position, rec, nil
}

// badRecord is the error of a record that does not match its checksum.
type badRecord struct {
	seq workspace.Seq
	err *workspace.Error
}

func (b *badRecord) Error() string { return b.err.Error() }
func (b *badRecord) Unwrap() error { return b.err }

// unreadable gives an error its kind when it is neither one of SQLite nor the
// lack of a row: a column then has something that no program of ours writes.
func unreadable(err error) error {
	var e sqlite3.Error
	if errors.Is(err, sql.ErrNoRows) || errors.As(err, &e) {
		return err
	}
	return workspace.Errorf(workspace.Corrupt, "a record of the database cannot be read").Hinted(restore)
}

// joinIDs writes ids one after the other, none as nil.
func joinIDs(ids []workspace.OID) []byte {
	var joined []byte
	for _, id := range ids {
		joined = append(joined, id[:]...)
	}
	return joined
}

func splitIDs(joined []byte) []workspace.OID {
	var ids []workspace.OID
	for part := range slices.Chunk(joined, len(workspace.OID{})) {
		var id workspace.OID
		copy(id[:], part)
		ids = append(ids, id)
	}
	return ids
}

func gap(id workspace.StreamID, seq workspace.Seq) error {
	return workspace.Errorf(workspace.Corrupt, "record %d in project %s %w", seq, id.Project, workspace.ErrMissing).At(id.Name).Hinted(restore)
}

// damaged names the stream of damage that was found while reading it.
func damaged(id workspace.StreamID, err error) error {
	var e *workspace.Error
	err = classify(err)
	if errors.As(err, &e) && e.Kind == workspace.Corrupt && e.Path == "" {
		return e.At(id.Name)
	}
	return err
}
