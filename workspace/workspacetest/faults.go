package workspacetest

import (
	"bytes"
	"context"
	"io"
	"sync"
	"syscall"

	"carrel.dev/workspace"
)

// Fault is what goes wrong with one call.
type Fault int

// The faults. After FailBefore and DiskFull nothing has happened; after
// FailAfter all has, and only the answer is lost.
const (
	NoFault Fault = iota
	FailBefore
	FailAfter
	DiskFull
)

// err is the error of a fault, nil for NoFault.
func (f Fault) err() error {
	switch f {
	case NoFault:
		return nil
	case DiskFull:
		return workspace.Errorf(workspace.Unavailable, "injected: %w", syscall.ENOSPC).Hinted("Free some space, then repeat the call.")
	}
	return workspace.Errorf(workspace.Unavailable, "injected: the store failed").Hinted("Repeat the call.")
}

// faults are those of the next calls, in order, and the number of calls so far.
type faults struct {
	mu    sync.Mutex
	next  []Fault
	calls int
}

// Inject has the next calls suffer these faults, one each, in order.
func (f *faults) Inject(next ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, next...)
}

// Calls returns how often the call that faults are injected into was made.
func (f *faults) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *faults) take() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if len(f.next) == 0 {
		return NoFault
	}
	fault := f.next[0]
	f.next = f.next[1:]
	return fault
}

// FullStore is a Store with the optional interfaces that every store of ours has.
type FullStore interface {
	workspace.Store
	workspace.Feed
	workspace.Checkpointer
	workspace.ProjectLister
	workspace.CommitSeeker
}

// FaultyStore is a store whose Append fails when told to. Make one as
// &FaultyStore{FullStore: s}.
type FaultyStore struct {
	FullStore
	faults
}

// Append suffers the next injected fault.
func (s *FaultyStore) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	fault := s.take()
	if fault == FailBefore || fault == DiskFull {
		return nil, fault.err()
	}
	recs, err := s.FullStore.Append(ctx, batches...)
	if err == nil && fault == FailAfter {
		return nil, fault.err()
	}
	return recs, err
}

// FaultyBlobs is a Blobs whose Put fails when told to, and that loses or cuts
// contents. Make one as &FaultyBlobs{Blobs: b}.
type FaultyBlobs struct {
	workspace.Blobs
	faults

	harmed sync.Mutex // guards harms
	harms  map[workspace.OID]harm
}

type harm int

const (
	sound harm = iota
	lost
	short
)

// Lose makes contents missing until they are put again or mended.
func (b *FaultyBlobs) Lose(ids ...workspace.OID) { b.set(lost, ids) }

// Shorten makes contents end early, which a reader notices only when it is
// there, until they are put again or mended.
func (b *FaultyBlobs) Shorten(ids ...workspace.OID) { b.set(short, ids) }

// Mend makes contents what they were.
func (b *FaultyBlobs) Mend(ids ...workspace.OID) { b.set(sound, ids) }

func (b *FaultyBlobs) set(h harm, ids []workspace.OID) {
	b.harmed.Lock()
	defer b.harmed.Unlock()
	if b.harms == nil {
		b.harms = map[workspace.OID]harm{}
	}
	for _, id := range ids {
		b.harms[id] = h
	}
}

func (b *FaultyBlobs) harm(id workspace.OID) harm {
	b.harmed.Lock()
	defer b.harmed.Unlock()
	return b.harms[id]
}

// Put suffers the next injected fault; one that stores the content mends it.
func (b *FaultyBlobs) Put(ctx context.Context, r io.Reader, size int64) (workspace.OID, error) {
	fault := b.take()
	if fault == FailBefore || fault == DiskFull {
		return workspace.OID{}, fault.err()
	}
	id, err := b.Blobs.Put(ctx, r, size)
	if err != nil {
		return id, err
	}
	b.Mend(id)
	if fault == FailAfter {
		return workspace.OID{}, fault.err()
	}
	return id, nil
}

// Has reports false for what is lost or cut.
func (b *FaultyBlobs) Has(ctx context.Context, id workspace.OID) (bool, error) {
	has, err := b.Blobs.Has(ctx, id)
	return has && b.harm(id) == sound, err
}

// Open fails for what is lost, and returns the first half of what is cut.
func (b *FaultyBlobs) Open(ctx context.Context, id workspace.OID) (io.ReadSeekCloser, error) {
	harm := b.harm(id)
	if harm == lost {
		return nil, workspace.Errorf(workspace.Corrupt, "injected: content %s is missing", id)
	}
	r, err := b.Blobs.Open(ctx, id)
	if err != nil || harm == sound {
		return r, err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return cut{bytes.NewReader(content[:len(content)/2]), id}, nil
}

// Inline reports what the Blobs below does.
func (b *FaultyBlobs) Inline(size int64) bool {
	i, ok := b.Blobs.(workspace.Inliner)
	return ok && i.Inline(size)
}

// cut reads a content that ends early.
type cut struct {
	io.ReadSeeker
	id workspace.OID
}

func (c cut) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	if err == io.EOF {
		err = workspace.Errorf(workspace.Corrupt, "injected: content %s is cut", c.id)
	}
	return n, err
}

func (cut) Close() error { return nil }
