package traced

import (
	"context"
	"iter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"carrel.dev/persistence/sqlite"
	"carrel.dev/workspace"
)

// Store is a store whose appends and reads are traced.
type Store struct {
	*sqlite.Store
	t *Tracer
}

var _ workspace.StoreWithFeed = (*Store)(nil)

// Store decorates a store.
func (t *Tracer) Store(s *sqlite.Store) *Store { return &Store{s, t} }

// stream names the stream that a span is about.
func stream(s workspace.StreamID) attribute.KeyValue {
	return attribute.String("carrel.stream", s.Name)
}

// Append implements workspace.Store.
func (s *Store) Append(ctx context.Context, batches ...workspace.Batch) ([]workspace.Record, error) {
	events, bytes := 0, 0
	for _, b := range batches {
		events += len(b.Events)
		for _, body := range b.Bodies {
			bytes += len(body.Content)
		}
	}
	ctx, _, end := s.t.begin(ctx, "store append", attribute.Int("carrel.streams", len(batches)),
		attribute.Int("carrel.events", events), attribute.Int("carrel.bytes", bytes))
	records, err := s.Store.Append(ctx, batches...)
	end(err)
	return records, err
}

// Records implements workspace.Store. The span lasts as long as records are taken.
func (s *Store) Records(ctx context.Context, id workspace.StreamID, after workspace.Seq) iter.Seq2[workspace.Record, error] {
	return func(yield func(workspace.Record, error) bool) {
		ctx, span, end := s.t.begin(ctx, "store records", stream(id))
		n := 0
		var failed error
		defer func() {
			span.SetAttributes(attribute.Int("carrel.events", n))
			end(failed)
		}()
		for r, err := range s.Store.Records(ctx, id, after) {
			if failed = err; err == nil {
				n++
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Last implements workspace.Store.
func (s *Store) Last(ctx context.Context, id workspace.StreamID) (workspace.Seq, error) {
	ctx, _, end := s.t.begin(ctx, "store last", stream(id))
	seq, err := s.Store.Last(ctx, id)
	end(err)
	return seq, err
}

// Find implements workspace.Store.
func (s *Store) Find(ctx context.Context, id workspace.StreamID, event string) (workspace.Record, error) {
	ctx, _, end := s.t.begin(ctx, "store find", stream(id))
	r, err := s.Store.Find(ctx, id, event)
	end(err)
	return r, err
}

// Since implements workspace.Feed. Each call of a tool looks, and most find nothing:
// that leaves no span.
func (s *Store) Since(ctx context.Context, after workspace.Position) ([]workspace.Record, workspace.Position, error) {
	began := time.Now()
	records, end, err := s.Store.Since(ctx, after)
	if outer := trace.SpanContextFromContext(ctx); outer.IsValid() && (len(records) > 0 || err != nil) {
		_, span := s.t.spans.Start(ctx, "store since", trace.WithTimestamp(began), trace.WithAttributes(attribute.Int("carrel.events", len(records))))
		finish(span, err)
	}
	return records, end, err
}

// LoadCheckpoint implements workspace.Checkpointer.
func (s *Store) LoadCheckpoint(ctx context.Context, id workspace.StreamID, version int) (workspace.Seq, []byte, error) {
	ctx, span, end := s.t.begin(ctx, "store load checkpoint", stream(id))
	at, state, err := s.Store.LoadCheckpoint(ctx, id, version)
	span.SetAttributes(attribute.Int("carrel.bytes", len(state)))
	end(err)
	return at, state, err
}

// SaveCheckpoint implements workspace.Checkpointer.
func (s *Store) SaveCheckpoint(ctx context.Context, id workspace.StreamID, at workspace.Seq, version int, state []byte) error {
	ctx, _, end := s.t.begin(ctx, "store save checkpoint", stream(id), attribute.Int("carrel.bytes", len(state)))
	err := s.Store.SaveCheckpoint(ctx, id, at, version, state)
	end(err)
	return err
}
