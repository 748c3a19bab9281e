package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// maxGroup is how many writes share one transaction at most.
const maxGroup = 256

// request is a write that waits for its turn.
type request struct {
	ctx context.Context
	do  func(ctx context.Context, w *writer) error // inside a savepoint
	// taken is set by whoever is first: the writer, which will do it, or the
	// caller, who gives it up.
	taken atomic.Bool
	done  chan error
}

// write has the writer do something and waits until it is durable. It is given
// up only before it has begun, so that what it did is never unknown.
func (s *Store) write(ctx context.Context, do func(ctx context.Context, w *writer) error) error {
	r := &request{ctx: ctx, do: do, done: make(chan error, 1)}
	if err := s.enqueue(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if r.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return <-r.done
	}
}

func (s *Store) enqueue(r *request) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return workspace.Errorf(workspace.Unavailable, "the store is closed")
	}
	select {
	case s.writes <- r:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// writer owns the connection that writes.
type writer struct {
	cfg  *Config
	db   *sql.DB
	conn *sql.Conn
	statements
}

// run serves requests until the channel is closed.
func (w *writer) run(writes <-chan *request, done chan<- struct{}) {
	defer close(done)
	for first := range writes {
		group := []*request{first}
		for more := true; more && len(group) < maxGroup; {
			select {
			case r, open := <-writes:
				if open {
					group = append(group, r)
				}
				more = open
			default:
				more = false
			}
		}
		w.serve(group)
	}
}

// serve does a group of writes in one transaction.
func (w *writer) serve(group []*request) {
	var taken []*request
	for _, r := range group {
		if r.taken.CompareAndSwap(false, true) {
			taken = append(taken, r)
		}
	}
	taken, err := w.begin(taken)
	if err != nil || len(taken) == 0 {
		answer(taken, err)
		return
	}
	ctx := context.Background() // what has begun is finished
	var fine []*request
	for _, r := range taken {
		if err := w.one(ctx, r); err != nil {
			r.done <- err
			continue
		}
		fine = append(fine, r)
	}
	_, err = w.conn.ExecContext(ctx, "COMMIT")
	if err != nil {
		w.rollback(ctx)
		err = fault("commit", err)
	}
	answer(fine, err)
}

func answer(requests []*request, err error) {
	for _, r := range requests {
		r.done <- err
	}
}

// begin opens a transaction. While another process holds the database it waits
// as long as somebody wants it; it returns those who still do.
func (w *writer) begin(waiting []*request) ([]*request, error) {
	ctx := context.Background()
	for {
		var alive []*request
		for _, r := range waiting {
			if err := r.ctx.Err(); err != nil {
				r.done <- err
				continue
			}
			alive = append(alive, r)
		}
		if waiting = alive; len(waiting) == 0 {
			return nil, nil
		}
		_, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		if busy(err) {
			continue
		}
		if err != nil {
			return waiting, fault("begin", err)
		}
		if v, err := version(ctx, w.conn); err != nil || v != schemaVersion {
			w.rollback(ctx)
			if err == nil {
				err = newer(v)
			}
			return waiting, err
		}
		return waiting, nil
	}
}

// rollback ends a transaction that failed. SQLite may have ended it by itself.
func (w *writer) rollback(ctx context.Context) { w.conn.ExecContext(ctx, "ROLLBACK") }

// one does one write in a savepoint.
func (w *writer) one(ctx context.Context, r *request) error {
	if _, err := w.conn.ExecContext(ctx, "SAVEPOINT one"); err != nil {
		return fault("begin", err)
	}
	err := r.do(ctx, w)
	if err != nil {
		if _, undo := w.conn.ExecContext(ctx, "ROLLBACK TO one"); undo != nil {
			err = errors.Join(err, fault("take back a write", undo))
		}
	}
	if _, release := w.conn.ExecContext(ctx, "RELEASE one"); release != nil && err == nil {
		err = fault("write", release)
	}
	return err
}

// Append implements workspace.Store.
func (s *Store) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := events.Check(batches); err != nil {
		return nil, err
	}
	var records []workspace.Record
	err := s.write(ctx, func(ctx context.Context, w *writer) error {
		t := &appending{w: w}
		if err := t.append(ctx, batches); err != nil {
			return err
		}
		records = t.records
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}
