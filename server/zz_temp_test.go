package server_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"sync"

	. "carrel.dev/workspace"
)

type tempStore struct {
	mu   sync.Mutex
	all  []Record
	by   map[StreamID][]Record
	body map[OID][]byte
}

func newTemp() *tempStore { return &tempStore{by: map[StreamID][]Record{}, body: map[OID][]byte{}} }

func (s *tempStore) Append(ctx context.Context, bs ...Batch) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bs {
		for _, x := range b.Bodies {
			s.body[x.ID] = x.Content
		}
	}
	for _, b := range bs {
		if b.Last != Any && b.Last != Seq(len(s.by[b.Stream])) {
			return nil, &ConflictError{Stream: b.Stream, Want: b.Last, Got: Seq(len(s.by[b.Stream]))}
		}
		for _, e := range b.Events {
			var miss []OID
			for _, id := range e.Bodies {
				if s.body[id] == nil {
					miss = append(miss, id)
				}
			}
			if miss != nil {
				return nil, &MissingBodiesError{IDs: miss}
			}
		}
	}
	var out []Record
	for _, b := range bs {
		for _, e := range b.Events {
			r := Record{Stream: b.Stream, Seq: Seq(len(s.by[b.Stream]) + 1), Event: e}
			s.by[b.Stream] = append(s.by[b.Stream], r)
			s.all = append(s.all, r)
			out = append(out, r)
		}
	}
	return out, nil
}
func (s *tempStore) Records(ctx context.Context, id StreamID, after Seq) iter.Seq2[Record, error] {
	s.mu.Lock()
	rs := s.by[id]
	s.mu.Unlock()
	return func(yield func(Record, error) bool) {
		for _, r := range rs {
			if r.Seq > after && !yield(r, nil) {
				return
			}
		}
	}
}
func (s *tempStore) Find(ctx context.Context, id StreamID, event string) (Record, error) {
	for r := range s.Records(ctx, id, 0) {
		if r.ID == event {
			return r, nil
		}
	}
	return Record{}, NotExist
}
func (s *tempStore) Since(ctx context.Context, p Position) ([]Record, Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[p:], Position(len(s.all)), nil
}
func (s *tempStore) End(ctx context.Context) (Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Position(len(s.all)), nil
}

type tempBlobs struct{ s *tempStore }

func (b tempBlobs) Inline(int64) bool { return true }
func (b tempBlobs) Put(ctx context.Context, r io.Reader, n int64) (OID, error) {
	c, _ := io.ReadAll(r)
	id, err := BlobID(c)
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.body[id] = c
	return id, err
}

type nop struct{ *bytes.Reader }

func (nop) Close() error { return nil }
func (b tempBlobs) Open(ctx context.Context, id OID) (io.ReadSeekCloser, error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	c, ok := b.s.body[id]
	if !ok {
		return nil, Errorf(Corrupt, "lost")
	}
	return nop{bytes.NewReader(c)}, nil
}
func (b tempBlobs) Has(ctx context.Context, id OID) (bool, error) { return b.s.body[id] != nil, nil }
