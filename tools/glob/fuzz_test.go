package glob

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// readName is a second reading of one segment of a pattern: character by
// character, trying every length for a star.
func readName(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	r, n := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '*': // as many of them as one
		return readName(strings.TrimLeft(pattern, "*"), name) || n > 0 && readName(pattern, name[n:])
	case '?':
		return n > 0 && readName(pattern[1:], name[n:])
	case '[':
		in, rest := readSet(pattern[1:], r)
		return n > 0 && in && readName(rest, name[n:])
	case '\\':
		pattern = pattern[1:]
	}
	want, m := utf8.DecodeRuneInString(pattern)
	return n > 0 && r == want && readName(pattern[m:], name[n:])
}

// readSet reads what follows "[": whether the set has a character, and what
// stands behind it.
func readSet(pattern string, r rune) (in bool, rest string) {
	negated := pattern[0] == '!' || pattern[0] == '^'
	if negated {
		pattern = pattern[1:]
	}
	member := func() rune {
		pattern = strings.TrimPrefix(pattern, `\`)
		c, n := utf8.DecodeRuneInString(pattern)
		pattern = pattern[n:]
		return c
	}
	for pattern[0] != ']' {
		lo := member()
		hi := lo
		if pattern[0] == '-' && pattern[1] != ']' {
			pattern = pattern[1:]
			hi = member()
		}
		in = in || lo <= r && r <= hi
	}
	return in != negated, pattern[1:]
}

// readSegments splits a pattern without braces, and resolves dots.
func readSegments(pattern string) (segments []string) {
	pattern = strings.ReplaceAll(pattern, `\/`, "/")
	for s := range strings.SplitSeq(pattern, "/") {
		switch strings.ReplaceAll(s, `\.`, ".") {
		case "", ".":
		case "..":
			segments = segments[:max(len(segments)-1, 0)]
		default:
			segments = append(segments, s)
		}
	}
	return segments
}

func readPath(segments, names []string) bool {
	switch {
	case len(segments) == 0:
		return len(names) == 0
	case segments[0] == "**":
		return readPath(segments[1:], names) || len(names) > 0 && readPath(segments, names[1:])
	}
	return len(names) > 0 && readName(segments[0], names[0]) && readPath(segments[1:], names[1:])
}

// FuzzReading holds matches against the second reading, sets and escapes
// included.
func FuzzReading(f *testing.F) {
	f.Add("/a/**/[!b-d]?*.go", "/a/x/éa.go")
	f.Add(`{a,b{c,\,}}/\[x\*/./..//y`, "bc/y")
	f.Add(`**/[^\]\-a]x`, "q/zx")
	f.Add(`a\/../***b`, "xxb")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		// The second readings know no set inside of braces, nor \\ before other
		// characters that mean something, and take exponential time.
		if len(pattern) > 30 || len(name) > 30 || !utf8.ValidString(pattern) || !utf8.ValidString(name) ||
			strings.Contains(pattern, `\\`) || strings.ContainsAny(pattern, "{}") && strings.Contains(pattern, "[") {
			return
		}
		p, err := Compile("", pattern)
		if err != nil || name == "" || name == "/" || path.Clean(name) != name || strings.HasPrefix(name, "..") {
			return
		}
		want := slices.ContainsFunc(expand(pattern), func(alternative string) bool {
			absolute := strings.HasPrefix(alternative, "/") || strings.HasPrefix(alternative, `\/`)
			return absolute == (name[0] == '/') && readPath(readSegments(alternative), strings.Split(strings.TrimPrefix(name, "/"), "/"))
		})
		if got := p.Match(name); got != want {
			t.Errorf("%q matches %q: got %v, want %v", pattern, name, got, want)
		}
		checkPruning(t, p, pattern, name)
	})
}
