package diff

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// hunk is regions that are printed together, with the common lines around them:
// old lines from a0 to before a1 and new ones from b0 to before b1.
type hunk struct {
	region
	regions []region
	heading string
}

// hunks groups the regions, with n common lines before and after each group.
func (c *comparison) hunks(n int) []hunk {
	var hunks []hunk
	for i, r := range c.regions {
		if i > 0 && r.a0-c.regions[i-1].a1 <= 2*n {
			h := &hunks[len(hunks)-1]
			h.a1, h.b1 = r.a1, r.b1
			h.regions = append(h.regions, r)
			continue
		}
		hunks = append(hunks, hunk{region: r, regions: []region{r}})
	}
	searched, heading := -1, ""
	for i := range hunks {
		h := &hunks[i]
		above := min(n, h.a0, h.b0)
		below := min(n, len(c.old.list)-h.a1)
		h.a0, h.b0, h.a1, h.b1 = h.a0-above, h.b0-above, h.a1+below, h.b1+below
		heading = c.old.heading(h.a0, searched, heading)
		h.heading, searched = heading, h.a0
	}
	return hunks
}

// heading returns the nearest line above a position that looks like the start of
// a function or section, as git's default funcname pattern has it; otherwise if
// there is none from searched on.
func (l lines) heading(above, searched int, otherwise string) string {
	for i := above - 1; i >= max(searched, 0); i-- {
		if startsSection(l.list[i]) {
			return headingText(l.list[i])
		}
	}
	if searched >= 0 {
		return otherwise
	}
	for rest := l.before; len(rest) > 0; {
		at := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
		if line := rest[at:]; startsSection(line) {
			return headingText(string(line[:min(len(line), maxHeading)]))
		}
		rest = rest[:at]
	}
	return ""
}

// maxHeading is how much of a line git shows as heading, in bytes.
const maxHeading = 80

func startsSection[T string | []byte](line T) bool {
	c := line[0]
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}

func headingText(line string) string {
	end := min(len(line), maxHeading)
	for end < len(line) && end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return strings.TrimRight(line[:end], " \t\r\n\v\f")
}

// size returns how many bytes write will write, or some more.
func (c *comparison) size(h hunk) int {
	n := len("@@ -,+, @@ \n") + 4*20 + len(h.heading)
	a := h.a0
	for _, r := range h.regions {
		n += lengthOf(c.old.list[a:r.a1]) + lengthOf(c.new.list[r.b0:r.b1])
		a = r.a1
	}
	n += lengthOf(c.old.list[a:h.a1])
	return n + 2*len(noNewline)
}

// lengthOf returns how many bytes the lines take with a mark before each.
func lengthOf(list []string) int {
	n := len(list)
	for _, line := range list {
		n += len(line)
	}
	return n
}

// write prints a hunk.
func (c *comparison) write(w *strings.Builder, h hunk) {
	w.WriteString("@@ -")
	writeRange(w, c.old.first+h.a0, h.a1-h.a0)
	w.WriteString(" +")
	writeRange(w, c.new.first+h.b0, h.b1-h.b0)
	w.WriteString(" @@")
	if h.heading != "" {
		w.WriteString(" " + h.heading)
	}
	w.WriteByte('\n')
	a := h.a0
	for _, r := range h.regions {
		writeLines(w, ' ', c.old.list[a:r.a0])
		writeLines(w, '-', c.old.list[r.a0:r.a1])
		writeLines(w, '+', c.new.list[r.b0:r.b1])
		a = r.a1
	}
	writeLines(w, ' ', c.old.list[a:h.a1])
}

// writeRange prints the number of the first line, from 1, and how many there
// are, if not 1. Of no lines the first is the one before them.
func writeRange(w *strings.Builder, before, n int) {
	if n > 0 {
		before++
	}
	w.WriteString(strconv.Itoa(before))
	if n != 1 {
		w.WriteString("," + strconv.Itoa(n))
	}
}

// noNewline follows a last line that lacks its ending.
const noNewline = "\n\\ No newline at end of file\n"

func writeLines(w *strings.Builder, mark byte, list []string) {
	for _, line := range list {
		w.WriteByte(mark)
		w.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			w.WriteString(noNewline)
		}
	}
}
