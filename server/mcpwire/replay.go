package mcpwire

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bounds of what is kept for clients that are cut off: streams of a session in
// memory, and the bytes of one.
const (
	maxReplays  = 32
	replayBytes = 1 << 20
)

// replays are the streams of a session that its client may go on with, by the id of
// the last event that it got.
type replays struct {
	// store keeps a stream that is over beyond the process, and reports whether it did:
	// then it is here no longer. Nil: all stay here.
	store func(id, text string) bool

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

// drop makes a replay unknown.
func (r *replays) drop(p *replay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = slices.DeleteFunc(r.kept, func(o *replay) bool { return o == p })
}

// find returns a stream that is here.
func (r *replays) find(id string) *replay {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.kept {
		if p.id == id {
			return p
		}
	}
	return nil
}

// eventText is an event with its id; data is one line, which ends in a line feed.
func eventText(stream string, n int, name string, data []byte) string {
	return fmt.Sprintf("id: %s-%d\nevent: %s\ndata: %s\n", stream, n, name, data)
}

// cutEvent returns the stream that the id of an event names, and the event's number
// there.
func cutEvent(event string) (stream string, n int, ok bool) {
	stream, number, _ := strings.Cut(event, "-")
	n, err := strconv.Atoi(number)
	return stream, n, err == nil && n >= 0
}

// after returns what comes behind event n in the text of a stream.
func after(text string, n int) string {
	for text != "" {
		first, rest, _ := strings.Cut(text, "\n\n")
		id, _, _ := strings.Cut(strings.TrimPrefix(first, "id: "), "\n")
		if _, number, _ := cutEvent(id); number > n {
			break
		}
		text = rest
	}
	return text
}

// add gives an event its id, keeps it, and returns its text.
func (p *replay) add(name string, data []byte) string {
	if p == nil {
		return "event: " + name + "\ndata: " + string(data) + "\n"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.lost + len(p.events) + 1
	if n == 1 {
		p.owner.keep(p)
	}
	text := eventText(p.id, n, name, data)
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
	p.over = true
	p.wake()
	events := p.events
	p.mu.Unlock()
	if r := p.owner; len(events) > 0 && r.store != nil && r.store(p.id, strings.Join(events, "")) {
		r.drop(p)
	}
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
