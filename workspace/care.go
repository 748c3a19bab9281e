package workspace

import (
	"context"
	"errors"
	"iter"
	"time"
)

// The interfaces of this file are those of upkeep: what gc and fsck ask of the
// stores and repositories, beyond what serving needs.

// Stored is a content that a store has.
type Stored struct {
	ID   OID
	Size int64     // in bytes
	Used time.Time // when it was last put or carried
}

// ErrMissing is what the error for a content that is not there wraps, of
// Blobs.Open and of a Tree, to tell it from one that is damaged. Both are of kind
// Corrupt.
var ErrMissing = errors.New("is missing")

// Inventory is a Blobs that tells what it has.
type Inventory interface {
	// Contents yields the contents that were last put before a time, the zero
	// time for all, sorted by id, or one error. What is put or removed meanwhile
	// is yielded or not. Damaged contents are among them.
	Contents(ctx context.Context, before time.Time) iter.Seq2[Stored, error]
}

// Sweeper is a Store that removes contents: its own, and those of the Blobs that
// it was told keeps the larger ones.
type Sweeper interface {
	// Sweep removes contents while nobody appends. It asks choose which, giving
	// it the records that were appended after a position, those of appends that
	// nobody else sees yet among them; an error of choose is returned and nothing
	// is removed. What was put since before stays. It returns what is gone.
	//
	// An append that names one of them is refused from then on as one that names
	// a body which is missing. choose must be quick, may be called twice, and
	// does not use the Store.
	Sweep(ctx context.Context, before time.Time, after Position, choose func(newer []Record) ([]OID, error)) ([]Stored, error)
}

// Examiner is a Store that shows its damage instead of stopping at it.
type Examiner interface {
	// Streams returns every stream that the store knows of, sorted by project and
	// name. One that has no records may be among them.
	Streams(ctx context.Context) ([]StreamID, error)
	// Examine yields a stream's records like Store.Records and goes on after
	// damage: an error that comes with a Seq is of kind Corrupt and concerns
	// that record, or those from there to the next one. An error without a Seq is
	// the last.
	Examine(ctx context.Context, s StreamID) iter.Seq2[Record, error]
	// Structure returns what is wrong with that which records and contents are
	// kept in, one text each; none if it is sound.
	Structure(ctx context.Context) ([]string, error)
	// Reindex builds anew what can be built from records and contents.
	Reindex(ctx context.Context) error
}

// CheckpointExaminer is a Checkpointer that shows what it has.
type CheckpointExaminer interface {
	// ExamineCheckpoint returns the checkpoint of a stream, of whatever version:
	// NotExist if there is none, Corrupt if it is not as it was saved.
	ExamineCheckpoint(ctx context.Context, s StreamID) (Checkpoint, error)
	// DropCheckpoint removes the checkpoint of a stream, if there is one.
	DropCheckpoint(ctx context.Context, s StreamID) error
}

// Checkpoint is a saved state.
type Checkpoint struct {
	At      Seq
	Version int // of the reducer
	State   []byte
}

// Ref is a name in a repository and the object that it points at.
type Ref struct {
	Name string // in full, for example refs/heads/main
	ID   OID
}

// RefKeeper is a Trees that knows the refs which hold commits. A repository that
// cannot be read now is Unavailable.
type RefKeeper interface {
	// Refs returns the refs below a folder, for example refs/heads, sorted by
	// name. One that is no id is Corrupt.
	Refs(ctx context.Context, s Source, folder string) ([]Ref, error)
	// Reached reports whether a branch, a remote-tracking branch or a tag has the
	// commit in its history.
	Reached(ctx context.Context, s Source, commit OID) (bool, error)
	// RemoveRef removes a ref outside refs/heads if it still points at an id:
	// Conflict if it points elsewhere, nothing if it is gone, Unavailable if
	// somebody holds its lock. The id stays in the repository until git collects
	// its own garbage.
	RemoveRef(ctx context.Context, s Source, ref string, at OID) error
}

// Progress is told how far long work is: what it is at, for a person, and how
// much of it is done. total is 0 while it is not known. It is called often and
// returns quickly.
type Progress func(what string, done, total int64)

func (p Progress) tell(what string, done, total int64) {
	if p != nil {
		p(what, done, total)
	}
}
