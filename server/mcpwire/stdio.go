package mcpwire

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"carrel.dev/server"
)

// Bounds on the requests that are handled at a time, by their bytes and a share
// for each. Beyond them the input waits.
const (
	maxInFlight = 192 << 20 // of a client on stdio
	requestCost = 1 << 20
)

// ServeStdio serves one client, a message a line, until the input or ctx ends.
// Then running calls may finish, for the time of Config.Grace. Nothing that the
// client sends ends it earlier; the error is that of writing to the client.
//
// Calls run at the same time, except that they wait for a workspace.create or
// workspace.open sent before them, which may decide where they act. A blocked
// read of in cannot be ended: after ctx it stays until the input does.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := stdio{
		conn: s.connect(&server.SessionConfig{Actor: s.cfg.Actor, Workspace: s.cfg.Workspace}),
		out:  &lineWriter{w: out, broken: make(chan struct{})},
		room: semaphore.NewWeighted(maxInFlight),
	}
	c.stream = c.out
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.receiveAll(ctx, in)
	}()
	select {
	case <-ctx.Done():
	case <-read:
	case <-c.out.broken:
		c.end()
		return fmt.Errorf("answer the client: %w", c.out.err)
	}
	c.finish(c.out.broken)
	return nil
}

// receiveAll takes the input line by line until it ends, or nothing is begun for
// the client any more.
func (c stdio) receiveAll(ctx context.Context, in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l, err := readLine(r, c.server.cfg.MaxMessage)
		if err != nil || ctx.Err() != nil {
			return
		}
		select {
		case <-c.gone:
			return
		default:
			c.receive(ctx, l)
		}
	}
}

// stdio is a client whose messages come and go as lines.
type stdio struct {
	*conn
	out  *lineWriter
	room *semaphore.Weighted // for requests
}

// receive takes one line of input. Calls go on when ctx has ended.
func (c stdio) receive(ctx context.Context, l line) {
	if l.tooLong {
		c.refuse(ctx, tooLong(l.id(), c.server.cfg.MaxMessage))
		return
	}
	raw := bytes.TrimSpace(l.text)
	if len(raw) == 0 {
		return
	}
	m, refused := parse(raw)
	switch {
	case refused != nil:
		c.refuse(ctx, refused)
	case m.id != nil:
		cost := min(int64(len(raw))+requestCost, maxInFlight)
		if c.room.Acquire(ctx, cost) == nil { // else the connection ends
			c.start(context.WithoutCancel(ctx), m, func() { c.room.Release(cost) })
		}
	default:
		c.take(m)
	}
}

// refuse answers what is no valid request.
func (c stdio) refuse(ctx context.Context, r *refusal) {
	if c.room.Acquire(ctx, requestCost) != nil {
		return // the connection ends
	}
	if !c.enter() {
		c.room.Release(requestCost)
		return
	}
	go func() {
		defer c.room.Release(requestCost)
		defer c.leave()
		c.out.answer(c.server.encoded(r.response()), r.code)
	}()
}
