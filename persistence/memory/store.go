// Package memory is the reference of what a store does: streams, feed,
// checkpoints and contents in maps under one lock. It is for tests and for
// projects that may be forgotten, and it is written to be obviously right; the
// durable stores are held against it by the suites of workspacetest.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// Config is what a Store needs to know; the zero value is one store for all.
type Config struct {
	// Large reports whether a content is in the store that keeps the larger
	// ones. It must not ask this Store. Nil: there is no other store.
	Large func(ctx context.Context, id workspace.OID) (bool, error)
	// Discard removes those of some contents from that other store that were
	// last put before a time, and returns them. It must not ask this Store. Nil:
	// nothing is removed there.
	Discard func(ctx context.Context, before time.Time, ids []workspace.OID) ([]workspace.Stored, error)
	// Now is the clock that dates the use of contents; nil is time.Now.
	Now func() time.Time
}

// Store keeps streams of events and contents in memory.
type Store struct {
	large   func(context.Context, workspace.OID) (bool, error)
	discard func(context.Context, time.Time, []workspace.OID) ([]workspace.Stored, error)
	now     func() time.Time

	// mu guards everything below, and is held while large is asked. Records are
	// only ever added: a slice of them that was taken under mu stays as it was.
	mu          sync.Mutex
	streams     map[workspace.StreamID]*stream
	order       []workspace.Record // all streams' records, as they were appended
	bodies      map[workspace.OID][]byte
	used        map[workspace.OID]time.Time // of each body
	checkpoints map[workspace.StreamID]checkpoint
	tokens      []workspace.Token // the oldest first
	usages      map[workspace.StreamID]workspace.Usage
}

type stream struct {
	records []workspace.Record
	byID    map[string]workspace.Record
}

type checkpoint struct {
	at      workspace.Seq
	version int
	state   []byte
}

var (
	_ workspace.Store         = (*Store)(nil)
	_ workspace.Feed          = (*Store)(nil)
	_ workspace.Checkpointer  = (*Store)(nil)
	_ workspace.ProjectLister = (*Store)(nil)
	_ workspace.CommitSeeker  = (*Store)(nil)
	_ workspace.Blobs         = (*Store)(nil)
	_ workspace.UsageStore    = (*Store)(nil)
	_ workspace.Tokens        = (*Store)(nil)

	_ workspace.Inventory          = (*Store)(nil)
	_ workspace.Sweeper            = (*Store)(nil)
	_ workspace.Examiner           = (*Store)(nil)
	_ workspace.CheckpointExaminer = (*Store)(nil)
)

// New makes an empty store; a nil cfg is the zero Config.
func New(cfg *Config) *Store {
	if cfg == nil {
		cfg = &Config{}
	}
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	return &Store{
		large:       cfg.Large,
		discard:     cfg.Discard,
		now:         now,
		streams:     map[workspace.StreamID]*stream{},
		bodies:      map[workspace.OID][]byte{},
		used:        map[workspace.OID]time.Time{},
		checkpoints: map[workspace.StreamID]checkpoint{},
		usages:      map[workspace.StreamID]workspace.Usage{},
	}
}

// Append plans first, which may fail, and then applies, which cannot.
func (s *Store) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	if err := events.Check(batches); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := alive(ctx); err != nil {
		return nil, err
	}
	p := plan{store: s, added: map[workspace.StreamID][]workspace.Record{}, carried: map[workspace.OID][]byte{}}
	var recs []workspace.Record
	for _, b := range batches {
		got, err := p.add(b)
		if err != nil {
			return nil, err
		}
		recs = append(recs, got...)
	}
	if err := p.missing(ctx); err != nil {
		return nil, err
	}
	p.apply()
	return copies(recs), nil
}

// Records yields what the stream holds when the iteration begins.
func (s *Store) Records(ctx context.Context, id workspace.StreamID, after workspace.Seq) iter.Seq2[workspace.Record, error] {
	return func(yield func(workspace.Record, error) bool) {
		recs := s.records(id)
		for _, rec := range recs[min(after, workspace.Seq(len(recs))):] {
			if err := alive(ctx); err != nil {
				yield(workspace.Record{}, err)
				return
			}
			rec.Event = events.Normal(rec.Event)
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func (s *Store) records(id workspace.StreamID) []workspace.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.streams[id]; st != nil {
		return st.records
	}
	return nil
}

// Last counts the stream's records.
func (s *Store) Last(ctx context.Context, id workspace.StreamID) (workspace.Seq, error) {
	return workspace.Seq(len(s.records(id))), alive(ctx)
}

// Find looks an event up by its id.
func (s *Store) Find(ctx context.Context, id workspace.StreamID, event string) (workspace.Record, error) {
	if err := alive(ctx); err != nil {
		return workspace.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.streams[id]; st != nil {
		if rec, ok := st.byID[event]; ok {
			rec.Event = events.Normal(rec.Event)
			return rec, nil
		}
	}
	return workspace.Record{}, workspace.Errorf(workspace.NotExist, "stream has no event %q", event).At(id.Name)
}

// copies gives a caller records of its own.
func copies(recs []workspace.Record) []workspace.Record {
	out := slices.Clone(recs)
	for i := range out {
		out[i].Event = events.Normal(out[i].Event)
	}
	return out
}

// Since counts positions in records of all streams.
func (s *Store) Since(ctx context.Context, after workspace.Position) ([]workspace.Record, workspace.Position, error) {
	const page = 1000
	if err := alive(ctx); err != nil {
		return nil, after, err
	}
	s.mu.Lock()
	order := s.order
	s.mu.Unlock()
	if int(after) >= len(order) {
		return nil, after, nil
	}
	end := min(int(after)+page, len(order))
	return copies(order[after:end]), workspace.Position(end), nil
}

// End is the number of records of all streams.
func (s *Store) End(ctx context.Context) (workspace.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return workspace.Position(len(s.order)), alive(ctx)
}

// Projects looks at every stream: each has a record.
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for id := range s.streams {
		names = append(names, id.Project)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// OpenCommits looks at every record.
func (s *Store) OpenCommits(ctx context.Context) ([]workspace.StreamID, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := map[workspace.StreamID]int{}
	for _, r := range s.order {
		switch r.Type {
		case workspace.WorkspaceCommitting:
			begun[r.Stream]++
		case workspace.WorkspaceCommitted, workspace.WorkspaceCommitDrop:
			begun[r.Stream]--
		}
	}
	var open []workspace.StreamID
	for id, n := range begun {
		if n > 0 {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, func(a, b workspace.StreamID) int {
		return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Name, b.Name))
	})
	return open, nil
}

// SaveCheckpoint keeps one checkpoint a stream.
func (s *Store) SaveCheckpoint(ctx context.Context, id workspace.StreamID, at workspace.Seq, version int, state []byte) error {
	if err := alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at >= s.checkpoints[id].at {
		s.checkpoints[id] = checkpoint{at, version, bytes.Clone(state)}
	}
	return nil
}

// LoadCheckpoint returns the stream's checkpoint, if it is of that version.
func (s *Store) LoadCheckpoint(ctx context.Context, id workspace.StreamID, version int) (workspace.Seq, []byte, error) {
	if err := alive(ctx); err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.checkpoints[id]
	if !ok || c.version != version {
		return 0, nil, workspace.Errorf(workspace.NotExist, "stream has no checkpoint of version %d", version).At(id.Name)
	}
	return c.at, bytes.Clone(c.state), nil
}

func alive(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return workspace.Errorf(workspace.Canceled, "%w", context.Cause(ctx))
}
