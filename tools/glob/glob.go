// Package glob matches paths against patterns, for the tools that list and
// search files.
//
// # Syntax
//
//	**       as a whole segment: any number of segments, also none
//	*        any characters of one segment, also none
//	?        one character of a segment
//	[a-z_]   one character of a set; [!a-z] or [^a-z] one that is not in it
//	{a,b}    alternatives, nested as one likes, also across segments
//	\x       the character x itself
//
// Matching is case-sensitive, by whole paths, and names that begin with a dot
// are like others. So /a/** has everything below /a and nothing of /a0 or
// /a-extra; it has /a too, which matters only when /a is a file. Two stars
// beside other characters of a segment are one star. No wildcard crosses a
// slash but "**".
//
// # Decision: not doublestar
//
// The syntax is that of github.com/bmatcuk/doublestar, and the tests hold this
// package against it. It is not used itself because it lets [^a] match a slash,
// expands braces anew for each path (exponentially many for a hostile pattern),
// does not say what is wrong with a pattern, and cannot say whether a directory
// is worth a visit. Split into segments, all four fall out of the same code.
package glob

import (
	"slices"
	"strings"
)

// Pattern is a compiled pattern. It is immutable and safe for concurrent use.
type Pattern struct {
	alternatives []alternative
	prefix       string
}

// Compile compiles a pattern. One that begins with a slash is absolute; any
// other is below dir, whose characters stand for themselves. With an empty dir
// it matches relative paths.
//
// A malformed pattern is Invalid, naming what is wrong and the column, in bytes
// from 1; one that is too long or has too many alternatives is Limit.
func Compile(dir, pattern string) (*Pattern, error) {
	return compile(dir, pattern, false)
}

// CompileFilter compiles a pattern that selects among the files below dir. It
// is Compile, except that an alternative without a slash matches at any depth:
// "*.go" is "**/*.go".
func CompileFilter(dir, pattern string) (*Pattern, error) {
	return compile(dir, pattern, true)
}

func compile(dir, pattern string, anyDepth bool) (*Pattern, error) {
	expanded, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, tokens := range expanded {
		a, err := newAlternative(dir, tokens, anyDepth)
		if err != nil {
			return nil, err.inPattern(pattern)
		}
		p.alternatives = append(p.alternatives, a)
	}
	p.prefix = commonPrefix(p.alternatives)
	return p, nil
}

// Match reports whether the pattern matches all of a clean path. Absolute
// patterns match absolute paths only, relative ones relative paths.
func (p *Pattern) Match(path string) bool {
	return slices.ContainsFunc(p.alternatives, func(a alternative) bool { return a.match(path) })
}

// Names returns a function that reports whether any path with a name, its last
// segment, can match; nil if that holds for all. It never denies a possible
// match.
func (p *Pattern) Names() func(name string) bool {
	last := make([]segment, len(p.alternatives))
	for i, a := range p.alternatives {
		n := len(a.segments)
		if n == 0 || a.segments[n-1].deep {
			return nil
		}
		last[i] = a.segments[n-1]
	}
	if suffix, ok := last[0].onlySuffix(); ok && len(last) == 1 {
		return func(name string) bool { return strings.HasSuffix(name, suffix) }
	}
	return func(name string) bool {
		for i := range last {
			if last[i].match(name) {
				return true
			}
		}
		return false
	}
}

// Prefix returns the longest path, by whole segments, that every match is at or
// below: "/" or "" if there is no narrower one.
func (p *Pattern) Prefix() string { return p.prefix }

// MayMatchBelow reports whether anything strictly below a directory can match,
// given its clean path; the top is "/" or "". It never denies a possible match.
func (p *Pattern) MayMatchBelow(dir string) bool {
	return slices.ContainsFunc(p.alternatives, func(a alternative) bool { return a.mayMatchBelow(dir) })
}

// commonPrefix returns the literal segments with which all alternatives begin.
func commonPrefix(alternatives []alternative) string {
	first := alternatives[0]
	n := len(first.segments)
	for _, a := range alternatives {
		if a.absolute != first.absolute {
			return ""
		}
		same := 0
		for same < min(n, len(a.segments)) && a.segments[same].literal &&
			first.segments[same].literal && a.segments[same].text == first.segments[same].text {
			same++
		}
		n = same
	}
	names := make([]string, n)
	for i, s := range first.segments[:n] {
		names[i] = s.text
	}
	prefix := strings.Join(names, "/")
	if first.absolute {
		return "/" + prefix
	}
	return prefix
}
