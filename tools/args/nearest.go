package args

import (
	"reflect"
	"strings"
	"unicode/utf8"
)

// Nearest returns the one of known that name most likely means, or "" if none
// is near. Case, underscores, hyphens and dots do not count, so replace_all is
// replaceAll; a name inside the other is nearer (file_path means path) than one
// with letters changed, of which it takes about one in three.
func Nearest(name string, known []string) string {
	best, least := "", 1.0
	for _, k := range known {
		if d := distance(fold(name), fold(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// fold reduces a name to what its spellings share.
func fold(name string) string {
	const most = 64 // longer names are no near misses, and comparing is quadratic
	if len(name) > most {
		return ""
	}
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name))
}

// distance says how far two folded names are apart: 0 for the same one, 1 and
// more for strangers.
func distance(a, b string) float64 {
	const least = 3 // letters that a name has to share to be near
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	switch {
	case a == b && a != "":
		return 0
	case len(short) < least:
		return 1
	case strings.HasPrefix(long, short) || strings.HasSuffix(long, short):
		return 0.5 - float64(len(short))/float64(len(long))/2
	}
	return 0.5 + float64(edits(a, b))/float64(len(long))*1.25
}

// edits counts the letters to insert, remove, change or swap with their
// neighbour to make b of a.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// didYouMean suggests the nearest of known, in parentheses, or is "".
func didYouMean(name string, known []string) string {
	near := Nearest(name, known)
	if near == "" {
		return ""
	}
	return " (did you mean `" + near + "`?)"
}

// shown lists the names of the properties that the schema has.
func shown(fields []field) []string {
	var names []string
	for _, f := range fields {
		if !f.hidden {
			names = append(names, f.name)
		}
	}
	return names
}

// taken lists the same in words.
func taken(fields []field) string {
	if names := shown(fields); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "no arguments"
}

// wanted says what JSON a type takes.
func wanted(t reflect.Type) string {
	t = target(t)
	switch shapeOf(t) {
	case text:
		return "a string"
	case base64s:
		return "a string of base64"
	case boolean:
		return "true or false"
	case integer:
		return "an integer"
	case number:
		return "a number"
	case list:
		return "an array"
	}
	return "an object"
}

// got says what a JSON value is.
func got(raw []byte) string {
	switch kind(raw) {
	case '"':
		return "the string " + clip(string(raw))
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return clip(string(raw))
}

// clip shortens what a caller sent for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
