package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// bar shows how far long work is, in one line of a terminal.
type bar struct {
	w     io.Writer
	now   func() time.Time
	shown time.Time // when it was drawn last
	what  string
}

// barEvery is how often a bar is drawn while nothing but a number changes.
const barEvery = 100 * time.Millisecond

// progress returns what long work is to tell how far it is, and a function that
// takes the bar away. On anything but a terminal nothing is shown.
func (c *cli) progress() (tell func(what string, done, total int64), end func()) {
	w := c.stderr
	if o, ok := w.(*oneAtATime); ok {
		w = o.w
	}
	if !isTerminal(w) || c.getenv("TERM") == "dumb" {
		return nil, func() {}
	}
	b := &bar{w: c.stderr, now: c.now}
	return b.tell, b.end
}

func (b *bar) tell(what string, done, total int64) {
	now := b.now()
	if what == b.what && now.Sub(b.shown) < barEvery {
		return
	}
	b.what, b.shown = what, now
	io.WriteString(b.w, eraseLine+barLine(what, done, total))
}

// end takes the bar away.
func (b *bar) end() {
	if b.what != "" {
		io.WriteString(b.w, eraseLine)
	}
}

// eraseLine goes to the start of a terminal's line and clears it, see ECMA-48.
const eraseLine = "\r\x1b[K"

// barLine draws a bar; without a total only what is done.
func barLine(what string, done, total int64) string {
	const width = 24
	switch {
	case total > 0:
		done = max(0, min(done, total))
		full := int(done * width / total)
		return fmt.Sprintf("%-24s [%s%s] %3d%%", what, strings.Repeat("#", full), strings.Repeat("-", width-full), done*100/total)
	case done > 0:
		return fmt.Sprintf("%-24s %d", what, done)
	}
	return what
}
