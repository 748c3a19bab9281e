package mcpwire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"sync"
)

// edge is how much of a message that is too large is kept from either end, in
// bytes, to find its id.
const edge = 4 << 10

// line is one line of input.
type line struct {
	text []byte
	// tooLong lines have been read to their end and kept at the edges only.
	tooLong    bool
	head, tail []byte
}

// readLine reads a line of at most most bytes, or passes over a longer one. The
// last line may lack its line feed; behind it is io.EOF.
func readLine(r *bufio.Reader, most int) (line, error) {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case l.tooLong:
			l.tail = append(l.tail, part...)
			l.tail = l.tail[max(0, len(l.tail)-edge):]
		case len(l.text)+len(part) > most:
			l.tooLong = true
			l.head = bytes.Clone(l.text[:min(len(l.text), edge)])
			l.tail = bytes.Clone(part)
			l.text = nil
		default:
			l.text = append(l.text, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && (len(l.text) > 0 || l.tooLong) {
			err = nil
		}
		return l, err
	}
}

// lastID is a request's id where it is the last member of the message, or the
// last but the version, as some clients write it. The text ends outside of any
// string, so the brace at its end is that of the message.
var lastID = regexp.MustCompile(`[{,]\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// id finds the id of a request that is too long to be read, so that its sender
// does not wait in vain; nil if it is at neither edge.
func (l line) id() json.RawMessage {
	if m := lastID.FindSubmatch(l.tail); m != nil {
		return m[1]
	}
	dec := json.NewDecoder(bytes.NewReader(l.head))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return nil
		}
		if key == "id" && isID(value) {
			return value
		}
	}
}

// lineWriter writes whole lines from several goroutines. After an error it
// writes no more.
type lineWriter struct {
	w      io.Writer
	broken chan struct{} // closed on the first error

	mu  sync.Mutex // guards what follows, and the order of lines
	err error
}

var _ sink = (*lineWriter)(nil)

func (l *lineWriter) note(message []byte)          { l.write(message) }
func (l *lineWriter) answer(message []byte, _ int) { l.write(message) }

// write writes a message, which ends in a line feed.
func (l *lineWriter) write(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if _, l.err = l.w.Write(message); l.err != nil {
		close(l.broken)
	}
}
