package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"carrel.dev/workspace"
)

const selectToken = "SELECT hash, id, project, name, grants, created, expires, revoked, checksum FROM tokens"

// AddToken implements workspace.Tokens.
func (s *Store) AddToken(ctx context.Context, t workspace.Token) error {
	row, err := rowOf(t)
	if err != nil {
		return err
	}
	return s.writer.do(ctx, func() error {
		done, err := s.writer.sql.addToken.ExecContext(background(), t.Hash[:], t.ID, t.Project, t.Name, row.grants,
			row.created, row.expires, row.revoked, int64(row.checksum(t)))
		if err != nil {
			return classify(err)
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return workspace.Errorf(workspace.Exist, "there is a token %q already", t.ID)
	})
}

// TokenByHash implements workspace.Tokens. It sees what any process has committed
// when it is called.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (workspace.Token, error) {
	var t workspace.Token
	err := retry(ctx, func() (err error) {
		t, err = scanToken(s.reader.tokenByHash.QueryRowContext(background(), hash[:]))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return t, workspace.Errorf(workspace.NotExist, "there is no such token")
	}
	return t, err
}

// Tokens implements workspace.Tokens.
func (s *Store) Tokens(ctx context.Context, project string) ([]workspace.Token, error) {
	var of []workspace.Token
	err := retry(ctx, func() error {
		of = nil
		rows, err := s.reader.tokens.QueryContext(background(), project)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			t, err := scanToken(rows)
			if err != nil {
				return err
			}
			of = append(of, t)
		}
		return rows.Err()
	})
	return of, err
}

// RevokeToken implements workspace.Tokens.
func (s *Store) RevokeToken(ctx context.Context, project, id string, at time.Time) error {
	return s.writer.do(ctx, func() error {
		t, err := scanToken(s.writer.sql.findToken.QueryRowContext(background(), project, id))
		if errors.Is(err, sql.ErrNoRows) {
			return workspace.Errorf(workspace.NotExist, "the project %s has no token %q", project, id)
		}
		if err != nil || !t.Revoked.IsZero() {
			return classify(err)
		}
		t.Revoked = at
		row, err := rowOf(t)
		if err != nil {
			return err
		}
		return classify(execute(s.writer.sql.revokeToken, row.revoked, int64(row.checksum(t)), project, id))
	})
}

// tokenRow is what the columns of a token hold that are not its texts.
type tokenRow struct {
	grants                    []byte // JSON
	created, expires, revoked sql.NullInt64
}

func rowOf(t workspace.Token) (tokenRow, error) {
	grants, err := json.Marshal(t.Grants)
	return tokenRow{grants, nanoseconds(t.Created), nanoseconds(t.Expires), nanoseconds(t.Revoked)}, err
}

// checksum guards a stored token against damage: a bit that flipped in it may
// grant what nobody did. persistence/README.md gives its form.
func (r *tokenRow) checksum(t workspace.Token) uint32 {
	buf := append([]byte(nil), t.Hash[:]...)
	for _, text := range []string{t.ID, t.Project, t.Name, string(r.grants)} {
		buf = binary.AppendUvarint(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	for _, at := range []sql.NullInt64{r.created, r.expires, r.revoked} {
		if !at.Valid {
			buf = append(buf, 0)
			continue
		}
		buf = binary.BigEndian.AppendUint64(append(buf, 1), uint64(at.Int64))
	}
	return castagnoli(buf)
}

// scanToken reads a row of selectToken. One that does not match its checksum is
// Corrupt.
func scanToken(row interface{ Scan(dest ...any) error }) (workspace.Token, error) {
	var t workspace.Token
	var r tokenRow
	var hash []byte
	var sum int64
	if err := row.Scan(&hash, &t.ID, &t.Project, &t.Name, &r.grants, &r.created, &r.expires, &r.revoked, &sum); err != nil {
		return workspace.Token{}, unreadable(err)
	}
	copy(t.Hash[:], hash)
	if int64(r.checksum(t)) != sum || json.Unmarshal(r.grants, &t.Grants) != nil {
		return workspace.Token{}, workspace.Errorf(workspace.Corrupt, "a token in project %s does not match its checksum", t.Project).Hinted(restore)
	}
	t.Created, t.Expires, t.Revoked = timeOf(r.created), timeOf(r.expires), timeOf(r.revoked)
	return t, nil
}

// nanoseconds is a time since 1970, NULL for none.
func nanoseconds(at time.Time) sql.NullInt64 {
	if at.IsZero() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: at.UnixNano(), Valid: true}
}

func timeOf(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.Unix(0, n.Int64).UTC()
}
