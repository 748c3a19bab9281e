package mcpwire

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// threadBytes is how much a thread remembers of what it has told its client, and how
	// much it takes while the client is away, in bytes. A sixteenth of it is, once all
	// threads together remember threadsBytes.
	threadBytes  = 256 << 10
	threadsBytes = 32 << 20
	// threadTime is how long it remembers what it has told a client that is there.
	threadTime = 2 * time.Minute
)

// thread is what a client of HTTP+SSE is told, in order, by one response after the other:
// a sink of its calls. Whoever tells something waits until that has been sent, or, while
// no response carries the thread, until there is room for it. So nothing that the client
// may not have got is dropped before the thread has ended.
type thread struct {
	id   string        // of its events: the client's secret
	all  *atomic.Int64 // bytes of all threads
	over chan struct{} // closed once the session is kept for a client that comes back

	keeping sync.Mutex // guards what follows, and is held while the session is kept
	kept    string     // as what
	keptAt  time.Time

	mu      sync.Mutex    // guards what follows
	told    []telling     // numbered from lost+1
	lost    int           // how many of the first are not remembered any more
	bytes   int           // of told
	sent    int           // the last that the carrier has sent, or the client is known to have
	carrier chan struct{} // of the response that carries the thread, or was the last: closed when another takes over
	away    bool          // no response carries it
	ended   bool          // none takes over any more
	moved   chan struct{} // closed when any of this changes
}

// telling is a message to the client.
type telling struct {
	message []byte
	at      time.Time // when it was sent last
}

var _ sink = (*thread)(nil)

// newThread returns a thread that has to tell some messages to begin with. All threads
// are counted together.
func newThread(all *atomic.Int64, first ...[]byte) *thread {
	t := &thread{id: rand.Text(), all: all, over: make(chan struct{}), away: true, moved: make(chan struct{})}
	for _, m := range first {
		t.append(m)
	}
	return t
}

func (t *thread) note(message []byte)          { t.tell(message) }
func (t *thread) answer(message []byte, _ int) { t.tell(message) }

func (t *thread) append(message []byte) {
	t.told = append(t.told, telling{message: message})
	t.count(len(message))
}

// count notes that more bytes are remembered, or less.
func (t *thread) count(n int) {
	t.bytes += n
	t.all.Add(int64(n))
}

// room is how many bytes may be remembered.
func (t *thread) room() int {
	if t.all.Load() > threadsBytes {
		return threadBytes / 16
	}
	return threadBytes
}

func (t *thread) wake() {
	close(t.moved)
	t.moved = make(chan struct{})
}

// tell tells the client something.
func (t *thread) tell(message []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.over: // it is too late
		return
	default:
	}
	t.append(message)
	t.wake()
	n := t.lost + len(t.told)
	for n > t.sent && (!t.away || !t.ended && t.bytes > t.room()) {
		moved := t.moved
		t.mu.Unlock()
		<-moved
		t.mu.Lock()
	}
}

// attach has another response carry the thread, from behind message n on. It reports
// whether that goes without a gap, and the thread has not ended.
func (t *thread) attach(n int) (carrier chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || n < t.lost || n > t.lost+len(t.told) {
		return nil, false
	}
	if t.carrier != nil {
		close(t.carrier)
	}
	t.carrier, t.away, t.sent = make(chan struct{}), false, n
	for t.lost < n { // what the client has
		t.drop()
	}
	t.wake()
	return t.carrier, true
}

// detach says that a response carries the thread no longer, if it still does.
func (t *thread) detach(carrier chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.carrier == carrier {
		t.away = true
		t.wake()
	}
}

// end has no other response take over from a carrier, and reports false if one has.
func (t *thread) end(carrier chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-carrier:
		return false
	default:
	}
	t.ended = true
	t.wake()
	return true
}

func (t *thread) hasEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// next returns the message behind n, or what is closed when there may be one.
func (t *thread) next(carrier chan struct{}, n int) (message []byte, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := n - t.lost; t.carrier == carrier && i < len(t.told) {
		return t.told[i].message, nil
	}
	return nil, t.moved
}

// carried notes that a response has sent message n, and reports whether it still
// carries the thread. Of what was sent, too much is forgotten, but not the last.
func (t *thread) carried(carrier chan struct{}, n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.carrier != carrier {
		return false
	}
	t.sent = n
	t.told[n-t.lost-1].at = time.Now()
	for t.bytes > t.room() && t.lost+1 < t.sent {
		t.drop()
	}
	t.wake()
	return true
}

// forget forgets what was sent before a time to a client that is still there.
func (t *thread) forget(before time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.away && t.lost < t.sent && t.told[0].at.Before(before) {
		t.drop()
	}
	if len(t.told) == 0 {
		t.told = nil
	}
}

// drop forgets the first message. t.mu is held.
func (t *thread) drop() {
	t.count(-len(t.told[0].message))
	t.told[0] = telling{} // the array stays
	t.told, t.lost = t.told[1:], t.lost+1
}

// clear forgets everything; no response carries the thread then.
func (t *thread) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.carrier, t.away = nil, true
	for len(t.told) > 0 {
		t.drop()
	}
	t.wake()
}

// remembered returns the messages that are remembered, the last of them up to some
// bytes, and how many come before.
func (t *thread) remembered(most int) (messages [][]byte, lost int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := len(t.told)
	for ; first > 0 && most >= len(t.told[first-1].message); first-- {
		most -= len(t.told[first-1].message)
	}
	for _, t := range t.told[first:] {
		messages = append(messages, t.message)
	}
	return messages, t.lost + first
}
