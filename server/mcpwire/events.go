package mcpwire

import (
	"net/http"
	"sync"
	"time"
)

const (
	// quiet is how long nothing is written to a stream before a comment is, so
	// that nobody on the way takes silence for the end.
	quiet = 15 * time.Second
	// writeTime is how long a client may take to accept one message.
	writeTime = time.Minute
)

// events is the response to an HTTP request as a stream of events, in the format
// of the HTML standard, section 9.2. It is safe for concurrent use until close.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	broken  chan struct{} // closed on the first error
	log     *replay       // keeps the events; nil if nobody goes on with the stream

	mu      sync.Mutex // guards what follows, and the order of events
	started bool       // the header is written
	closed  bool       // by close or an error: nothing is written any more
	timer   *time.Timer
}

func newEvents(w http.ResponseWriter) *events {
	e := &events{w: w, control: http.NewResponseController(w), broken: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(quiet, e.comment)
	return e
}

// header sets a header, if none was written yet.
func (e *events) header(name, value string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.w.Header().Set(name, value)
}

// open writes the header.
func (e *events) open() { e.send("") }

// comment writes what clients pass over.
func (e *events) comment() { e.send(":\n\n") }

// event writes an event; data is one line, which ends in a line feed.
func (e *events) event(name string, data []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sendLocked(e.log.add(name, data))
}

// send writes to the stream, and reports whether that is still one.
func (e *events) send(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sendLocked(text)
	return !e.closed
}

func (e *events) sendLocked(text string) {
	if e.closed {
		return
	}
	e.timer.Reset(quiet)
	e.control.SetWriteDeadline(time.Now().Add(writeTime)) // an error: there are none, and TCP's own apply
	if !e.started {
		e.started = true
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		e.w.WriteHeader(http.StatusOK)
	}
	_, err := e.w.Write([]byte(text))
	if err == nil {
		err = e.control.Flush()
	}
	if err != nil {
		e.closed = true
		e.timer.Stop()
		close(e.broken)
	}
}

// plain writes a response that is no stream, if no stream has begun, and reports
// whether it did.
func (e *events) plain(write func(http.ResponseWriter)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started || e.closed {
		return false
	}
	e.started, e.closed = true, true
	e.timer.Stop()
	e.control.SetWriteDeadline(time.Now().Add(writeTime))
	write(e.w)
	return true
}

// close ends the stream. The handler may return then, whoever still writes.
func (e *events) close() {
	e.shut()
	e.log.end()
}

func (e *events) shut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.timer.Stop()
}

// note and answer make the events of a client's stream a sink of its calls.
var _ sink = (*events)(nil)

func (e *events) note(message []byte)          { e.event("message", message) }
func (e *events) answer(message []byte, _ int) { e.event("message", message) }
