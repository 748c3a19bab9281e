package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// stmt is a statement of the driver, for those that every append needs: what
// database/sql does around one costs as much as a small statement itself. Whoever
// uses it has the connection to himself.
type stmt struct {
	driver.Stmt
	args []driver.NamedValue
}

// prepareRaw compiles statements on a connection, all or none.
func prepareRaw(conn driver.Conn, texts map[**stmt]string) (prepared, error) {
	var all prepared
	for at, text := range texts {
		s, err := conn.Prepare(text)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		*at = &stmt{Stmt: s}
		all = append(all, s)
	}
	return all, nil
}

// bind returns the arguments as the driver takes them, until the next call.
func (s *stmt) bind(args []driver.Value) []driver.NamedValue {
	s.args = s.args[:0]
	for i, arg := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s.args
}

// exec runs the statement, with arguments of the driver's types: int64, string,
// []byte and nil.
func (s *stmt) exec(args ...driver.Value) (driver.Result, error) {
	return s.Stmt.(driver.StmtExecContext).ExecContext(background(), s.bind(args))
}

func (s *stmt) run(args ...driver.Value) error {
	_, err := s.exec(args...)
	return err
}

// query reads one row of integers, or sql.ErrNoRows.
func (s *stmt) query(row []int64, args ...driver.Value) (err error) {
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(background(), s.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	values := make([]driver.Value, len(row))
	if err := rows.Next(values); err != nil {
		if errors.Is(err, io.EOF) {
			err = sql.ErrNoRows
		}
		return err
	}
	for i, v := range values {
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("a number is a %T", v)
		}
		row[i] = n
	}
	return nil
}
