package grep

import (
	"strconv"
	"strings"
)

// Format returns the matches of one file as grep -n prints them: a matching line
// as "path:line: text", one near it as "path-line- text". With context, "--"
// stands where lines are left out between them.
func Format(path string, matches []Match) string {
	var w strings.Builder
	print := func(separator string, line int, text string) {
		w.WriteString(path + separator + strconv.Itoa(line) + separator + " " + text + "\n")
	}
	hasContext, last := false, 0
	for _, m := range matches {
		hasContext = hasContext || len(m.Before)+len(m.After) > 0
	}
	for i, m := range matches {
		if hasContext && i > 0 && m.Line-len(m.Before) > last+1 {
			w.WriteString("--\n")
		}
		for _, c := range m.Before {
			print("-", c.Line, c.Text)
		}
		print(":", m.Line, m.Text)
		for _, c := range m.After {
			print("-", c.Line, c.Text)
		}
		last = m.Line + len(m.After)
	}
	return w.String()
}
