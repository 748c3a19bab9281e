package diff

import (
	"fmt"
	"strings"
)

// noteRoom is what is kept free for notes: the two that a section may have and
// those at the end.
const noteRoom = 600

// output is the text, bounded.
type output struct {
	text      strings.Builder
	max       int
	full      bool // there is no room for another section
	truncated bool
	left      int // files left out
}

// fits reports whether n bytes more leave room for notes.
func (o *output) fits(n int) bool { return o.text.Len()+n+noteRoom <= o.max }

// section begins a section with its header, unless the text is full.
func (o *output) section(header string) (shown bool) {
	if o.full = o.full || !o.fits(len(header)); o.full {
		return false
	}
	o.text.WriteString(header)
	return true
}

// note adds a remark to what is shown.
func (o *output) note(format string, args ...any) { fmt.Fprintf(&o.text, format, args...) }

// lack adds a remark on something that is not shown.
func (o *output) lack(format string, args ...any) {
	o.truncated = true
	o.note(format, args...)
}

// finish returns the text, with the remarks on all of it.
func (o *output) finish(w *work) (text string, truncated bool) {
	if o.left > 0 {
		o.lack("[%d more files changed and are left out: the text is bounded to %d bytes]\n", o.left, o.max)
	}
	if w.uncounted > 0 {
		o.lack("[lines are not counted in %d of them: their contents are too large together]\n", w.uncounted)
	}
	if w.renamesBounded {
		o.note("[not all renames are found: too many or too large files were removed and added]\n")
	}
	return o.text.String(), o.truncated
}
