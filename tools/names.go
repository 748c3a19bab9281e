package tools

import (
	"strconv"
	"strings"
	"unicode"
)

// shown is a path in a list of lines. One with control characters is quoted, as
// git quotes it: a line break in a name must not look like a line of the list.
func shown(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// shownAll is shown for each of many paths.
func shownAll(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = shown(p)
	}
	return out
}
