package workspace

import (
	"slices"
	"sync"
)

// How many contents are kept that were written last, by their size in all, and how
// large one is at most, in bytes.
const (
	recentBodiesBytes = 4 << 20
	recentBodyBytes   = 64 << 10
)

// recentBodies keeps contents that this process has stored, since what an agent has
// written it mostly reads or writes again soon. Whatever examines the store asks
// the store.
type recentBodies struct {
	mu    sync.Mutex // guards what follows
	byID  map[OID][]byte
	order []OID // the oldest first
	bytes int
}

func (r *recentBodies) add(bodies []Body) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range bodies {
		if _, ok := r.byID[b.ID]; ok || len(b.Content) > recentBodyBytes {
			continue
		}
		if r.byID == nil {
			r.byID = map[OID][]byte{}
		}
		// A copy: the content may be a part of something larger.
		r.byID[b.ID] = slices.Clip(slices.Clone(b.Content))
		r.order = append(r.order, b.ID)
		r.bytes += len(b.Content)
	}
	const own = 64 // what the bookkeeping takes, so that empty ones count
	for r.bytes+own*len(r.order) > recentBodiesBytes {
		oldest := r.order[0]
		r.order = r.order[1:]
		r.bytes -= len(r.byID[oldest])
		delete(r.byID, oldest)
	}
}

func (r *recentBodies) get(id OID) (content []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	content, ok = r.byID[id]
	return content, ok
}
