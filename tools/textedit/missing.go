package textedit

import (
	"fmt"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// Bounds of the message about missing text, and of the work for it.
const (
	listedReasons = 3
	shownLines    = 10
	mostExplained = 4 << 20 // bytes of old text
)

const exactHint = "Send the text exactly as the file has it, white space included. `readFile` shows it."

// explain finds out why an edit's old text is not in content, which is what the
// edits before made of original.
func explain(e Edit, content, original []byte, before []Edit) error {
	if i := removedBy(e, original, before); i >= 0 {
		return workspace.Errorf(workspace.Conflict, "%w any more: edit %d of this call replaced it", errMissing, i+1).
			Hinted("Edits apply one after the other, each to what the ones before made. Give the text as it is by then, or make one edit of both.")
	}
	t := read(content)
	if len(content) == 0 {
		return workspace.Errorf(workspace.Conflict, "%w: the file is empty", errMissing).
			Hinted("`writeFile` sets the content of a file.")
	}
	if len(e.Old) > mostExplained {
		return workspace.Errorf(workspace.Conflict, "%w; of %d bytes, it is too long to look for the difference", errMissing, len(e.Old)).
			Hinted("Replace fewer lines at a time, or all of the file with `writeFile`.")
	}
	x := explainer{flat: t.flat[t.body:], old: flatten(e.Old)}
	if t.body > 0 {
		x.old = strings.TrimPrefix(x.old, bom)
	}
	x.visible = outline(x.flat)
	if !x.byLook() && !x.byLikeness() {
		x.unlike()
	}
	return workspace.Errorf(workspace.Conflict, "%w%s", errMissing, clip(x.text.String(), mostMessage)).Hinted("%s", x.hint)
}

// removedBy returns which of the edits before took away what an edit is to
// replace, or -1 if the original does not have it either.
func removedBy(e Edit, original []byte, before []Edit) int {
	if len(before) == 0 || !e.occursIn(original) {
		return -1
	}
	for i, b := range before {
		next, _, err := b.apply(original)
		if err != nil || !e.occursIn(next) {
			return i
		}
		original = next
	}
	return -1
}

// explainer writes the message about old text that a file does not have.
type explainer struct {
	flat    []byte // the file, without its byte order mark
	old     string
	visible []byte // the outline of the file
	text    strings.Builder
	hint    string
}

// byLook explains what has the outline of the old text, or of what the old text
// may have been meant to be if that has none: whichever is nearest.
func (x *explainer) byLook() bool {
	var best *comparison
	var meant reading
	for _, r := range readings() {
		old := []byte(r.of(x.old))
		want := outline(old)
		if r.why != "" && string(old) == x.old || len(want) == 0 {
			continue
		}
		found := sameLook(x.visible, want)
		if len(found) == 0 {
			continue
		}
		if c := x.closest(old, inOutline(x.flat, found)); best == nil || c.count < best.count {
			best, meant = c, r
		}
		if r.why == "" {
			break
		}
	}
	if best == nil {
		return false
	}
	x.hint = meant.hint
	x.sayLook(best, meant.why)
	return true
}

// closest compares the old text with each place, of a long text with fewer, and
// returns the comparison with the fewest differences.
func (x *explainer) closest(old []byte, places []int) *comparison {
	const mostBytes = 1 << 18
	var all []*comparison
	for _, at := range places[:min(len(places), 1+mostBytes/len(old))] {
		all = append(all, compare(old, x.flat, at))
	}
	return slices.MinFunc(all, func(a, b *comparison) int { return a.count - b.count })
}

// sayLook writes what a comparison found.
func (x *explainer) sayLook(c *comparison, why string) {
	var reasons []string
	if why != "" {
		reasons = append(reasons, why)
	}
	for _, d := range c.found[:min(len(c.found), listedReasons)] {
		reasons = append(reasons, d.sentence(x.flat))
	}
	if more := c.count - min(len(c.found), listedReasons); more > 0 {
		reasons = append(reasons, fmt.Sprintf("and at %s more", numbered(more, "place")))
	}
	from, to := lineNumber(x.flat, c.start), lineNumber(x.flat, c.end)
	fmt.Fprintf(&x.text, "; nearest %s: %s", lineRange(from, to), strings.Join(reasons, "; "))
	at := c.start
	if len(c.found) > 0 {
		d := c.found[0]
		at = d.at
		x.pair(d.at, c.want, d.wantAt)
	}
	x.showRegion(at, from, to)
}

// pair quotes the line of the file and that of the old text that differ, if that
// shows the difference.
func (x *explainer) pair(at int, want []byte, wantAt int) {
	start, wantStart := lineStart(x.flat, at), lineStart(want, wantAt)
	file := quote(window(x.flat[start:lineEnd(x.flat, at)], at-start, mostQuoted))
	mine := quote(window(want[wantStart:lineEnd(want, wantAt)], wantAt-wantStart, mostQuoted))
	if file != mine {
		fmt.Fprintf(&x.text, "\nfile:      %s\noldString: %s", file, mine)
	}
}

// showRegion shows the lines from to to, or those of them around an offset.
func (x *explainer) showRegion(at, from, to int) {
	l := listAt(x.flat, at)
	from = max(from, l.number-shownLines/2)
	l.write(&x.text, from, min(to, from+shownLines-1))
}

// lineRange names lines.
func lineRange(from, to int) string {
	if from >= to {
		return fmt.Sprintf("is line %d", from)
	}
	return fmt.Sprintf("are lines %d to %d", from, to)
}

// unlike says that there is nothing near.
func (x *explainer) unlike() {
	x.hint = exactHint
	if strings.TrimSpace(x.old) == "" {
		x.text.WriteString(": it is white space alone, and the file has none like it")
		return
	}
	x.text.WriteString(", nor anything like it")
}

// byLikeness explains the part of the file that is most like the old text.
func (x *explainer) byLikeness() bool {
	want := outline([]byte(x.old))
	near, ok := nearest(x.visible, want)
	if !ok {
		return false
	}
	x.hint = exactHint
	last := min(near+len(want), len(x.visible)) - 1
	part := inOutline(x.flat, []int{near, last})
	if strings.Contains(strings.TrimSpace(x.old), "\n") {
		newAlignment([]byte(x.old), x.flat, part[0]).say(x)
		return true
	}
	x.sayLine(part[0], part[1]+1)
	return true
}

// sayLine explains that most of a part of the file is on the line that is most
// like an old text of one line.
func (x *explainer) sayLine(start, end int) {
	at, most := start, 0
	for line := start; line < end; line = lineEnd(x.flat, line) + 1 {
		if n := min(end, lineEnd(x.flat, line)) - line; n > most {
			at, most = line, n
		}
	}
	fmt.Fprintf(&x.text, "; nearest is line %d from column %d, which differs", lineNumber(x.flat, at), column(x.flat, at))
	x.pair(at, []byte(x.old), len(x.old)-len(strings.TrimLeft(x.old, " \t\n")))
}
