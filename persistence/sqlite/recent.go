package sqlite

import (
	"slices"
	"sync"

	"carrel.dev/persistence/internal/events"
	"carrel.dev/workspace"
)

// What recent keeps at least, if there is so much: records, and payloads and
// results in bytes. It keeps up to twice as much, so that letting go of the oldest
// is rare.
const (
	recentRecords = pageRecords / 2
	recentBytes   = 2 << 20
)

// recent has the newest records, as long as only this process appends: then Since
// need not read them. Its positions have no gap, so that nobody else's record is
// among them.
type recent struct {
	mu    sync.Mutex // guards what follows
	recs  []workspace.Record
	end   workspace.Position // of the last one
	bytes int
}

// add notes records that were committed at a position and those after it.
func (r *recent) add(first workspace.Position, recs []workspace.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first != r.end+1 {
		r.recs, r.bytes = nil, 0
	}
	r.recs = append(r.recs, recs...)
	r.end = first + workspace.Position(len(recs)) - 1
	for _, rec := range recs {
		r.bytes += recordSize(rec)
	}
	if len(r.recs) <= 2*recentRecords && r.bytes <= 2*recentBytes {
		return
	}
	drop := 0
	for ; drop < len(r.recs) && (len(r.recs)-drop > recentRecords || r.bytes > recentBytes); drop++ {
		r.bytes -= recordSize(r.recs[drop])
	}
	r.recs = slices.Clone(r.recs[drop:])
}

// after returns the records after a position, if all of them are known, and the
// position of the last one.
func (r *recent) after(p workspace.Position) (recs []workspace.Record, end workspace.Position, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int(r.end - p)
	if n < 0 || n > len(r.recs) {
		return nil, 0, false
	}
	for _, rec := range r.recs[len(r.recs)-n:] {
		rec.Event = events.Normal(rec.Event)
		recs = append(recs, rec)
	}
	return recs, r.end, true
}

// recordSize is what of a record varies most, in bytes.
func recordSize(rec workspace.Record) int { return len(rec.Payload) + len(rec.Result) }
