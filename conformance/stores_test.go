package conformance

import (
	"context"
	"errors"
	"sync"

	"carrel.dev/persistence/datadir"
	"carrel.dev/persistence/dir"
	"carrel.dev/persistence/memory"
	"carrel.dev/persistence/spill"
	"carrel.dev/persistence/sqlite"
	"carrel.dev/workspace"
)

// parts are the stores of one process, and how they are closed.
type parts struct {
	store workspace.StoreWithFeed
	blobs workspace.Blobs
	procs workspace.Processes
	id    string // of the data
	close func() error
}

// inMemory keeps a store for every data directory, so that a server which starts
// again finds what was there.
type inMemory struct {
	mu     sync.Mutex // guards stores
	stores map[string]*memory.Store
}

func (m *inMemory) open(_ context.Context, data string) (*parts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stores == nil {
		m.stores = map[string]*memory.Store{}
	}
	s := m.stores[data]
	if s == nil {
		s = memory.New(nil)
		m.stores[data] = s
	}
	return &parts{store: s, blobs: s, id: "memory", close: func() error { return nil }}, nil
}

// onDisk opens a data directory as the program does: events and small contents in
// the database, larger ones in files.
func onDisk(ctx context.Context, data string) (*parts, error) {
	d, err := datadir.Open(ctx, data)
	if err != nil {
		return nil, err
	}
	large, err := dir.Open(d.Blobs())
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	s, err := sqlite.Open(ctx, d.Database(), &sqlite.Config{Large: large.Has})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &parts{
		store: s, blobs: spill.New(s, large, nil), procs: d, id: d.ID(),
		close: func() error { return errors.Join(s.Close(), d.Close()) },
	}, nil
}
