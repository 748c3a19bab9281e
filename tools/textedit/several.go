package textedit

import (
	"bytes"
	"fmt"
	"strings"

	"carrel.dev/workspace"
)

// Bounds of the message about several matches.
const (
	listedLines  = 10 // line numbers in the sentence
	shownMatches = 5  // matches with the lines around them
	around       = 2  // lines before and after
)

// occurrences says where a text occurs, overlaps included.
type occurrences struct {
	count       int
	lines       int   // on how many lines one begins
	line        int   // the last of those
	first       []int // offsets of the first on each of the first lines
	numbers     []int // of those lines
	columns     []int // columns of the first few on the first line
	overlapping bool
}

// several is the error of old text that occurs at first and again.
func several(flat, old []byte, first int) error {
	o := count(flat, old, first)
	var b strings.Builder
	fmt.Fprintf(&b, "oldString occurs %d times, %s", o.count, o.places())
	if o.overlapping {
		b.WriteString(", overlapping")
	}
	last := 0 // line shown last
	for i, at := range o.first[:min(len(o.first), shownMatches)] {
		l := listing{flat: flat, at: at, number: o.numbers[i], marks: o.numbers}
		from := max(l.number-around, last+1)
		if i > 0 && from > last+1 {
			b.WriteString("\n…")
		}
		last = max(last, l.number+around)
		l.write(&b, from, last)
	}
	return workspace.Errorf(workspace.Conflict, "%s", clip(b.String(), mostMessage)).
		Hinted("Add the lines around the right one to oldString and newString, until oldString occurs once. Or set replaceAll to replace every occurrence.")
}

// places lists the lines of the occurrences, or their columns if all are on one.
func (o occurrences) places() string {
	if o.lines == 1 {
		return fmt.Sprintf("all on line %d, at %s", o.numbers[0], list("column", o.columns, o.count))
	}
	return "at " + list("line", o.numbers, o.lines)
}

// list names the first of several numbered things, and how many more there are.
func list(noun string, numbers []int, total int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	if total > len(words) {
		return fmt.Sprintf("%ss %s and %d more", noun, strings.Join(words, ", "), total-len(words))
	}
	last := len(words) - 1
	return fmt.Sprintf("%ss %s and %s", noun, strings.Join(words[:last], ", "), words[last])
}

// count finds all occurrences of old from the first on. Looking for each one
// where the last began would take the product of both lengths on repetitive
// texts, so this is the search of Knuth, Morris and Pratt.
func count(flat, old []byte, first int) occurrences {
	var o occurrences
	border := borders(old)
	lineFeeds := bytes.Count(old, []byte("\n"))
	line, lastAt := lineNumber(flat, first), -len(old)
	matched := 0
	for i := first; i < len(flat); i++ {
		for matched == len(old) || matched > 0 && flat[i] != old[matched] {
			matched = int(border[matched-1])
		}
		if flat[i] == old[matched] {
			matched++
		}
		if flat[i] == '\n' {
			line++
		}
		if matched < len(old) {
			continue
		}
		at := i + 1 - len(old)
		o.add(flat, at, line-lineFeeds)
		o.overlapping = o.overlapping || at < lastAt+len(old)
		lastAt = at
	}
	return o
}

// add counts an occurrence on a line and keeps it, if it is among the first.
func (o *occurrences) add(flat []byte, at, line int) {
	o.count++
	if line > o.line {
		o.line = line
		o.lines++
		if o.lines <= listedLines {
			o.first = append(o.first, at)
			o.numbers = append(o.numbers, line)
		}
	}
	if o.lines == 1 && len(o.columns) < listedLines {
		o.columns = append(o.columns, column(flat, at))
	}
}

// borders returns, for each prefix of s, the length of the longest shorter
// prefix that it ends in.
func borders(s []byte) []int32 {
	border := make([]int32, len(s))
	for i, n := 1, int32(0); i < len(s); i++ {
		for n > 0 && s[i] != s[n] {
			n = border[n-1]
		}
		if s[i] == s[n] {
			n++
		}
		border[i] = n
	}
	return border
}
