package mcpwire

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// httpCost is what a request over HTTP takes of maxHTTPInFlight once it is there:
	// what one client may have at a time is a small part of it. Longer ones take as
	// much of maxHTTPBulk again and again while they come.
	httpCost        = 64 << 10
	maxHTTPInFlight = 256 << 20
	maxHTTPBulk     = 256 << 20
	// maxClientBulk is how much of maxHTTPBulk one client may have: one message of any
	// length that is read, and never all.
	maxClientBulk = maxHTTPBulk / 2
	// roomTime is how long a request waits for room.
	roomTime = 10 * time.Second
)

// rooms bound the requests of all clients that are handled at a time, and what large
// ones have beyond the share of each, so that they never keep small ones waiting.
type rooms struct {
	requests *semaphore.Weighted
	bulk     *semaphore.Weighted

	mu sync.Mutex       // guards what follows
	of map[string]int64 // bulk, by who has it
}

func newRooms() *rooms {
	return &rooms{
		requests: semaphore.NewWeighted(maxHTTPInFlight), bulk: semaphore.NewWeighted(maxHTTPBulk), of: map[string]int64{},
	}
}

// enter waits for room for a request, which leave gives back.
func (r *rooms) enter(ctx context.Context) (leave func(), ok bool) {
	ctx, stop := context.WithTimeout(ctx, roomTime)
	defer stop()
	if r.requests.Acquire(ctx, httpCost) != nil {
		return nil, false
	}
	return func() { r.requests.Release(httpCost) }, true
}

// take waits for room for as much again of a large message of somebody, and reports
// false if there is none.
func (r *rooms) take(ctx context.Context, client string) bool {
	r.mu.Lock()
	enough := r.of[client]+httpCost > maxClientBulk
	if !enough {
		r.of[client] += httpCost
	}
	r.mu.Unlock()
	if enough {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, roomTime)
	defer stop()
	if r.bulk.Acquire(ctx, httpCost) != nil {
		r.forget(client, httpCost)
		return false
	}
	return true
}

// give gives back what was taken for a message of somebody.
func (r *rooms) give(client string, n int64) {
	if n > 0 {
		r.bulk.Release(n)
		r.forget(client, n)
	}
}

func (r *rooms) forget(client string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[client] -= n; r.of[client] == 0 {
		delete(r.of, client)
	}
}

// full answers a request for which there is no room.
func full(w http.ResponseWriter, of string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "there are too many "+of+" at a time: try again")
}
