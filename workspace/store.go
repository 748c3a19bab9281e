package workspace

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Any as Batch.Last appends wherever the stream ends, for events that commute.
const Any Seq = ^Seq(0)

// Batch is what one Append adds to one stream.
type Batch struct {
	Stream StreamID
	Last   Seq // the seq that the stream must end at, 0 for an empty one, or Any
	Events []Event
	Bodies []Body // small contents, stored in the append's own transaction
}

// Body is a content with its git blob id. The receiver does not modify it.
type Body struct {
	ID      OID
	Content []byte
}

// Store keeps streams of events. All methods are safe for concurrent use.
type Store interface {
	// Append adds each batch's events to its stream directly after seq Last:
	// all batches or none, durable on return, with the bodies that they carry.
	//
	// It fails with a *ConflictError if a stream does not end at Last, and with a
	// *MissingBodiesError if a body that an event names is neither carried, nor
	// in the store. An event id seen before in that stream with the same content
	// returns the stored record; with other content it is a conflict. After an
	// error of another kind the outcome may be unknown: ask with Find.
	Append(ctx context.Context, batches ...Batch) ([]Record, error)

	// Records yields a stream's records after a seq, in order, then ends, or
	// yields one error.
	Records(ctx context.Context, s StreamID, after Seq) iter.Seq2[Record, error]

	// Last returns the seq of a stream's newest record, 0 if it has none.
	Last(ctx context.Context, s StreamID) (Seq, error)

	// Find returns the record of an event id in a stream, or NotExist.
	Find(ctx context.Context, s StreamID, event string) (Record, error)
}

// Position is a place in the order in which a Store took records of all
// streams. Zero is before the first.
type Position int64

// Feed is a Store that tells what was appended to any stream, by this process
// or another.
type Feed interface {
	// Since returns the records appended after a position, in order, and the
	// position of the last one that it has looked at. It costs next to nothing
	// when nothing was appended. At most a few thousand records are returned at
	// once; the caller asks again until there are none.
	Since(ctx context.Context, after Position) ([]Record, Position, error)
	// End returns the position of the newest record.
	End(ctx context.Context) (Position, error)
}

// Checkpointer is a Store that keeps droppable copies of reduced states.
type Checkpointer interface {
	// SaveCheckpoint keeps state as the reduction of s up to seq by a reducer of
	// a version. An older checkpoint of the stream is replaced, a newer one stays.
	SaveCheckpoint(ctx context.Context, s StreamID, at Seq, version int, state []byte) error
	// LoadCheckpoint returns the newest checkpoint made by a reducer of exactly
	// this version, or NotExist.
	LoadCheckpoint(ctx context.Context, s StreamID, version int) (Seq, []byte, error)
}

// ProjectLister is a Store that knows which projects it has.
type ProjectLister interface {
	// Projects returns the names of the projects that have a record, sorted.
	Projects(ctx context.Context) ([]string, error)
}

// CommitSeeker is a Store that finds the commits which were left under way.
type CommitSeeker interface {
	// OpenCommits returns the streams in which more commits have begun
	// (WorkspaceCommitting) than ended (WorkspaceCommitted, WorkspaceCommitDrop).
	OpenCommits(ctx context.Context) ([]StreamID, error)
}

// Blobs keeps contents by git blob id. All methods are safe for concurrent use.
type Blobs interface {
	// Put stores size bytes from r, durable on return. Content that is already
	// there is not stored again, but counts as new for garbage collection. A
	// reader that ends early or late is Invalid, and nothing is stored.
	Put(ctx context.Context, r io.Reader, size int64) (OID, error)
	// Open returns a content for reading. A missing, short or altered one is
	// Corrupt, at Open or at a Read, never empty.
	Open(ctx context.Context, id OID) (io.ReadSeekCloser, error)
	// Has reports whether Open would find the content, by a look at its presence
	// and size only.
	Has(ctx context.Context, id OID) (bool, error)
}

// Inliner is a Blobs of which small contents travel in the append's own
// transaction: those that Inline reports are given to Store.Append as bodies
// and must not be Put before.
type Inliner interface {
	Inline(size int64) bool
}

// ConflictError says that a stream did not end where an append expected.
type ConflictError struct {
	Stream StreamID
	Want   Seq // where the append expected the end
	Got    Seq // where the stream ends
	// Event is the id of an event that was stored before with other content, or "".
	Event string
}

func (e *ConflictError) Error() string {
	if e.Event != "" {
		return fmt.Sprintf("stream %s has event %s with other content", e.Stream.Name, e.Event)
	}
	return fmt.Sprintf("stream %s ends at %d, not at %d", e.Stream.Name, e.Got, e.Want)
}

// Unwrap gives the kind, Conflict.
func (e *ConflictError) Unwrap() error { return Conflict }

// MissingBodiesError says which bodies an append named that are not stored.
// Putting them again and repeating the append is safe.
type MissingBodiesError struct{ IDs []OID }

func (e *MissingBodiesError) Error() string {
	ids := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		ids[i] = id.String()
	}
	return "bodies are not in the store: " + strings.Join(ids, ", ")
}

// Unwrap gives the kind, Unavailable.
func (e *MissingBodiesError) Unwrap() error { return Unavailable }
