package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

const (
	// maxGroup is how many jobs one transaction takes.
	maxGroup = 256
	// beginPoll is how often a process looks whether the database is free, and
	// patience how long it does so without asking for precedence.
	beginPoll = 500 * time.Microsecond
	patience  = 20 * time.Millisecond
)

// writer owns the connection that writes.
type writer struct {
	db      *sql.DB
	conn    *sql.Conn
	sql     statements
	all     prepared // those of sql
	version int      // of the schema that this program knows
	turn    *os.File // the database's lock file, whose holder alone may begin
	fault   func(point string) error
	named   bool // the database's name is durable

	// ends are where streams end that this connection wrote to, as long as no other
	// one has written, which the database's version tells.
	ends map[workspace.StreamID]streamEnd
	seen int64 // that version

	// jobs has no buffer: a job that nobody took is still its sender's, who may
	// give up without leaving anything.
	jobs    chan *job
	closing chan struct{} // closed by close
	done    chan struct{} // closed when the goroutine has ended
}

// job is something to be done inside a transaction.
type job struct {
	alive  func() error // why whoever waits has given up, or nil
	run    func() error // may run several times, each time in another transaction
	result chan error   // has room for one
	// committed, if not nil, is called once the transaction is durable in which run
	// succeeded, in the order of commits.
	committed func()
}

// prepareWriter makes the database ready for writing and starts its writer.
func prepareWriter(ctx context.Context, db *sql.DB, turn *os.File, known []string, fault func(string) error) (*writer, error) {
	w := &writer{
		db: db, turn: turn, version: len(known), fault: fault,
		ends: map[workspace.StreamID]streamEnd{}, seen: -1, jobs: make(chan *job), closing: make(chan struct{}), done: make(chan struct{}),
	}
	err := retry(ctx, func() (err error) {
		w.conn, err = db.Conn(background())
		return err
	})
	if err != nil {
		return nil, err
	}
	err = setUp(ctx, w.conn)
	if err == nil {
		err = migrate(ctx, w.conn, known)
	}
	if err == nil {
		w.all, err = w.sql.prepare(w.conn)
	}
	if err != nil {
		return nil, errors.Join(classify(err), w.conn.Close())
	}
	go w.loop()
	return w, nil
}

// setUp switches the database to WAL, once for ever, and the connection to full
// durability.
func setUp(ctx context.Context, conn *sql.Conn) error {
	// Before anything is written: a foreign database is left as it is.
	err := retry(ctx, func() error {
		_, err := identify(conn)
		return err
	})
	if err != nil {
		return err
	}
	var mode string
	err = retry(ctx, func() error {
		return conn.QueryRowContext(background(), "PRAGMA journal_mode = WAL").Scan(&mode)
	})
	if err != nil {
		return err
	}
	if mode != "wal" {
		return workspace.Errorf(workspace.Unavailable, "the database cannot use a write-ahead log here").
			Hinted("Choose a data directory on a local disk.")
	}
	_, err = conn.ExecContext(background(), `
		PRAGMA synchronous = FULL;
		PRAGMA foreign_keys = ON;
		PRAGMA journal_size_limit = 67108864;
		PRAGMA busy_timeout = 0;
		PRAGMA cache_size = -32768;`)
	return classify(err)
}

// do runs a job in a transaction and returns when it is durable. An error of
// the transaction itself leaves it open whether the job was done.
func (w *writer) do(ctx context.Context, run func() error) error {
	return w.doJob(ctx, &job{run: run})
}

// doJob is do of a job that has what it does.
func (w *writer) doJob(ctx context.Context, j *job) error {
	if err := alive(ctx); err != nil {
		return err
	}
	j.alive, j.result = func() error { return alive(ctx) }, make(chan error, 1)
	select {
	case w.jobs <- j:
		return <-j.result
	case <-ctx.Done():
		return alive(ctx)
	case <-w.closing:
		return errClosed()
	}
}

func errClosed() error {
	return workspace.Errorf(workspace.Unavailable, "the store is closed").Hinted("Carrel is shutting down. Start it again.")
}

func (w *writer) loop() {
	defer close(w.done)
	for {
		select {
		case j := <-w.jobs:
			w.serve(j)
		case <-w.closing:
			return
		}
	}
}

// serve runs a job together with those that wait when its transaction begins.
func (w *writer) serve(first *job) {
	if err := w.begin(first); err != nil {
		first.result <- err
		return
	}
	w.settle(w.gather(first))
}

// settle runs a group in the transaction that is open and answers all of it.
func (w *writer) settle(group []*job) {
	results, err := w.transact(group)
	switch {
	case err == nil:
		for i, j := range group {
			j.result <- results[i]
		}
	case len(group) == 1:
		group[0].result <- err
	default:
		for _, j := range group {
			w.alone(j)
		}
	}
}

// alone runs a job in a transaction of its own.
func (w *writer) alone(j *job) {
	if err := w.begin(j); err != nil {
		j.result <- err
		return
	}
	w.settle([]*job{j})
}

// gather takes what waits.
func (w *writer) gather(first *job) []*job {
	group := []*job{first}
	for len(group) < maxGroup {
		select {
		case j := <-w.jobs:
			group = append(group, j)
		default:
			return group
		}
	}
	return group
}

// begin starts a transaction on a schema that this program knows. It waits for
// the database while whoever waits for the job does.
func (w *writer) begin(j *job) error {
	if err := w.name(); err != nil {
		return err
	}
	if err := w.takeTurn(j); err != nil {
		return errors.Join(err, disk.Unlock(w.turn))
	}
	if err := disk.Unlock(w.turn); err != nil {
		return errors.Join(err, w.undoAll())
	}
	if err := w.checkVersion(); err != nil {
		return err
	}
	if err := w.fault(Begun); err != nil {
		return errors.Join(err, w.undoAll())
	}
	return nil
}

// name makes the database's name durable before the first transaction, whoever
// made the file: a process that only reads need not.
func (w *writer) name() error {
	if w.named {
		return nil
	}
	err := disk.SyncDir(filepath.Dir(w.turn.Name()))
	w.named = err == nil
	return err
}

// takeTurn begins a transaction. Whoever comes by when the database is free
// gets it, also twice in a row, which is good for one that decides again after a
// conflict. But one that waited for long keeps the lock file, and then nobody
// else begins until it has begun.
func (w *writer) takeTurn(j *job) error {
	told := false
	for start := time.Now(); ; time.Sleep(beginPoll) {
		if err := w.mayWait(j); err != nil {
			return err
		}
		held, err := disk.TryLock(w.turn)
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		if !told {
			if err := w.fault(TurnTaken); err != nil {
				return err
			}
			told = true
		}
		if err := w.sql.begin.run(); !busy(err) {
			return classify(err)
		}
		if time.Since(start) < patience {
			if err := disk.Unlock(w.turn); err != nil {
				return err
			}
		}
	}
}

// mayWait says why a job is waited for no longer.
func (w *writer) mayWait(j *job) error {
	select {
	case <-w.closing:
		return errClosed()
	default:
		return j.alive()
	}
}

// checkVersion ends the transaction if a newer program upgraded the database.
// Only another connection can have changed anything at all.
func (w *writer) checkVersion() error {
	var now [1]int64
	err := w.sql.dataVersion.query(now[:])
	if err == nil && now[0] != w.seen {
		clear(w.ends)
		var version int
		err = w.sql.version.QueryRowContext(background()).Scan(&version)
		if err == nil && version != w.version {
			err = tooNew(version, w.version)
		}
	}
	if err != nil {
		return errors.Join(classify(err), w.undoAll())
	}
	w.seen = now[0]
	return nil
}

// transact runs the jobs of a group in the transaction that is open and commits
// it. It returns each job's error, or that of the transaction, which then has
// had no effect, or for all that is known one that lookups by id will find.
func (w *writer) transact(group []*job) ([]error, error) {
	results, err := w.runAll(group)
	if err != nil {
		w.undoAll()
		return nil, err
	}
	if err := w.sql.commit.run(); err != nil {
		w.undoAll()
		return nil, classify(err)
	}
	for i, j := range group {
		if results[i] == nil && j.committed != nil {
			j.committed()
		}
	}
	if err := w.fault(Committed); err != nil {
		return nil, err
	}
	return results, nil
}

// runAll runs the jobs of a group. Most succeed: only if one does not, what it
// left is undone with all the others did, and each runs in a savepoint.
func (w *writer) runAll(group []*job) ([]error, error) {
	results := make([]error, len(group))
	failed := false
	for _, j := range group {
		if failed = j.run() != nil; failed {
			break
		}
	}
	if !failed {
		return results, nil
	}
	w.undoAll()
	if err := w.begin(group[0]); err != nil {
		return nil, err
	}
	for i, j := range group {
		var err error
		if results[i], err = w.run(j); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// run runs one job in a savepoint. failed is the job's error, lost that of the
// transaction, which SQLite ends by itself after some errors.
func (w *writer) run(j *job) (failed, lost error) {
	if err := execute(w.sql.savepoint); err != nil {
		return nil, classify(err)
	}
	failed = j.run()
	if failed != nil {
		clear(w.ends)
		if err := execute(w.sql.undo); err != nil {
			return nil, failed
		}
	}
	return failed, classify(execute(w.sql.release))
}

func execute(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(background(), args...)
	return err
}

// undoAll ends the transaction without effect. SQLite may have done so already.
func (w *writer) undoAll() error {
	clear(w.ends)
	return w.sql.rollback.run()
}

// close ends the goroutine and closes the connection.
func (w *writer) close() error {
	close(w.closing)
	<-w.done
	if err := errors.Join(w.all.close(), w.conn.Close(), w.db.Close(), w.turn.Close()); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
