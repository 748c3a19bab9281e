package mcpwire

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Bounds of what is kept for clients that are cut off: streams of a session, and
// the bytes of one.
const (
	maxReplays  = 32
	replayBytes = 1 << 20
)

// replays are the streams of a session that its client may go on with, by the id of
// the last event that it got.
type replays struct {
	mu   sync.Mutex // guards what follows
	kept []*replay  // the oldest first
}

// replay is what was sent on one stream, or would have been had the client still
// been there. A nil *replay keeps nothing.
type replay struct {
	owner *replays
	id    string // the client's: no other session knows it

	mu     sync.Mutex // guards what follows
	events []string
	lost   int // how many of the first are not kept any more
	bytes  int
	over   bool          // nothing more comes
	more   chan struct{} // closed when something has come
}

// begin returns a replay, which is kept from its first event on.
func (r *replays) begin() *replay {
	return &replay{owner: r, id: rand.Text(), more: make(chan struct{})}
}

// keep makes a replay known, in the place of the oldest one if there are many.
func (r *replays) keep(p *replay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) == maxReplays {
		r.kept = r.kept[1:]
	}
	r.kept = append(r.kept, p)
}

// find returns the stream of an event and the number of the event on it.
func (r *replays) find(event string) (p *replay, n int, ok bool) {
	id, number, _ := strings.Cut(event, "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return nil, 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.kept {
		if p.id == id {
			return p, n, true
		}
	}
	return nil, 0, false
}

// add gives an event its id, keeps it, and returns its text.
func (p *replay) add(name string, data []byte) string {
	text := "event: " + name + "\ndata: " + string(data) + "\n"
	if p == nil {
		return text
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.lost + len(p.events) + 1
	if n == 1 {
		p.owner.keep(p)
	}
	text = fmt.Sprintf("id: %s-%d\n%s", p.id, n, text)
	p.events, p.bytes = append(p.events, text), p.bytes+len(text)
	for p.bytes > replayBytes && len(p.events) > 1 { // the last is the answer
		p.bytes -= len(p.events[0])
		p.events, p.lost = p.events[1:], p.lost+1
	}
	p.wake()
	return text
}

// end says that nothing more comes.
func (p *replay) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.wake()
}

func (p *replay) wake() {
	close(p.more)
	p.more = make(chan struct{})
}

// after returns the events after one that are kept, and the number of the last of
// them, whether that is all, and what is closed when there is more.
func (p *replay) after(n int) (events []string, last int, over bool, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := min(max(n-p.lost, 0), len(p.events))
	return p.events[from:], p.lost + len(p.events), p.over, p.more
}
