package mcpwire

import (
	"slices"
	"sync"
)

// outbox holds of what a client is to be told that it changed, each thing once,
// until somebody takes it to a stream. It is bounded by what may be subscribed to.
type outbox struct {
	ready chan struct{} // has an item while something waits

	mu      sync.Mutex          // guards what follows
	waiting []string            // in the order in which they changed
	sent    map[string]struct{} // what was taken since the last redo
}

func newOutbox() *outbox {
	return &outbox{ready: make(chan struct{}, 1), sent: map[string]struct{}{}}
}

// put has the client told of a change.
func (o *outbox) put(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.putLocked(what)
}

func (o *outbox) putLocked(what string) {
	if !slices.Contains(o.waiting, what) {
		o.waiting = append(o.waiting, what)
	}
	o.signal()
}

// signal says that something waits. o.mu is held.
func (o *outbox) signal() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// take returns what waits longest.
func (o *outbox) take() (what string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return "", false
	}
	what, o.waiting = o.waiting[0], o.waiting[1:]
	o.sent[what] = struct{}{}
	if len(o.waiting) > 0 {
		o.signal()
	}
	return what, true
}

// drop forgets what nobody wants to be told of any more.
func (o *outbox) drop(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sent, what)
	o.waiting = slices.DeleteFunc(o.waiting, func(w string) bool { return w == what })
}

// redo has all told once more that may have been lost with the stream before.
func (o *outbox) redo() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for what := range o.sent {
		o.putLocked(what)
	}
	clear(o.sent)
}
