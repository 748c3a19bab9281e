package glob

import (
	"slices"
	"strings"
)

// alternative is a pattern without braces.
type alternative struct {
	absolute bool
	segments []segment
	suffix   string // what every match ends with, for a quick no
}

// newAlternative splits the tokens of one alternative into segments.
func newAlternative(dir string, tokens []token, anyDepth bool) (alternative, *syntaxError) {
	if len(tokens) == 0 {
		return alternative{}, &syntaxError{at: whole, what: "it is empty, or an alternative in it is"}
	}
	a := alternative{absolute: tokens[0].kind == slash}
	if !a.absolute {
		a.absolute = strings.HasPrefix(dir, "/")
		for name := range strings.SplitSeq(dir, "/") {
			if name != "" {
				a.segments = append(a.segments, literalSegment(name))
			}
		}
		if anyDepth && !slices.ContainsFunc(tokens, func(t token) bool { return t.kind == slash }) {
			a.segments = append(a.segments, segment{deep: true})
		}
	}
	for len(tokens) > 0 {
		end := slices.IndexFunc(tokens, func(t token) bool { return t.kind == slash })
		if end < 0 {
			end = len(tokens)
		} else if end == len(tokens)-1 {
			return a, &syntaxError{at: tokens[end].at, what: "a directory is asked for, and only files are listed",
				hint: "End the pattern in /** for all files below the directory."}
		}
		if err := a.add(tokens[:end]); err != nil {
			return a, err
		}
		tokens = tokens[min(end+1, len(tokens)):]
	}
	if last := len(a.segments) - 1; last >= 0 {
		a.suffix = a.segments[last].suffix()
	}
	return a, nil
}

// add appends a segment, resolving "." and ".." as paths do.
func (a *alternative) add(tokens []token) *syntaxError {
	if len(tokens) == 0 {
		return nil
	}
	s := newSegment(tokens)
	last := len(a.segments) - 1
	switch {
	case s.literal && s.text == ".", s.deep && last >= 0 && a.segments[last].deep:
	case s.literal && s.text == "..":
		switch {
		case last >= 0 && !a.segments[last].literal:
			return &syntaxError{at: tokens[0].at, what: "`..` follows a wildcard"}
		case last >= 0:
			a.segments = a.segments[:last]
		case !a.absolute:
			return &syntaxError{at: tokens[0].at, what: "`..` leads out of the directory"}
		}
	default:
		a.segments = append(a.segments, s)
	}
	return nil
}

func (a alternative) match(path string) bool {
	if !strings.HasSuffix(path, a.suffix) {
		return false
	}
	rest, ok := a.relative(path)
	if !ok {
		return false
	}
	// next is the segment to match, resume the one after the last "**" and
	// retry the path from where that one goes on if it takes one segment more.
	next, resume, retry := 0, -1, ""
	for {
		if next < len(a.segments) && a.segments[next].deep {
			next++
			resume, retry = next, rest
			if next == len(a.segments) {
				return true
			}
		}
		if rest == "" {
			return next == len(a.segments)
		}
		name, after, _ := strings.Cut(rest, "/")
		switch {
		case next < len(a.segments) && a.segments[next].match(name):
			next, rest = next+1, after
		case resume < 0:
			return false
		default:
			_, retry, _ = strings.Cut(retry, "/")
			next, rest = resume, retry
		}
	}
}

func (a alternative) mayMatchBelow(dir string) bool {
	rest, ok := a.relative(dir)
	if !ok {
		return false
	}
	for _, s := range a.segments {
		if s.deep || rest == "" {
			return true
		}
		var name string
		if name, rest, _ = strings.Cut(rest, "/"); !s.match(name) {
			return false
		}
	}
	return false
}

// relative returns path without a leading slash, or false if it is not of the
// alternative's sort. The empty path, as the top, is of both.
func (a alternative) relative(path string) (string, bool) {
	rest, absolute := strings.CutPrefix(path, "/")
	return rest, absolute == a.absolute || path == ""
}
