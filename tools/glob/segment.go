package glob

import (
	"strings"
	"unicode/utf8"
)

// segment is the part of an alternative between two slashes.
type segment struct {
	deep    bool // "**": any number of names
	literal bool
	text    string  // if literal
	tokens  []token // otherwise; no two adjacent stars
}

func literalSegment(name string) segment { return segment{literal: true, text: name} }

// newSegment makes a segment of tokens without a slash. Two stars and nothing
// else are deep; among other tokens a run of stars is one.
func newSegment(tokens []token) segment {
	if len(tokens) == 2 && tokens[0].kind == star && tokens[1].kind == star {
		return segment{deep: true}
	}
	var kept []token
	for _, t := range tokens {
		last := len(kept) - 1
		switch {
		case last >= 0 && t.kind == star && kept[last].kind == star:
		case last >= 0 && t.kind == literal && kept[last].kind == literal:
			kept[last].text += t.text
		default:
			kept = append(kept, t)
		}
	}
	if len(kept) == 1 && kept[0].kind == literal {
		return literalSegment(kept[0].text)
	}
	return segment{tokens: kept}
}

// suffix is what every name that the segment matches ends with.
func (s segment) suffix() string {
	if s.literal || s.deep {
		return s.text
	}
	if last := s.tokens[len(s.tokens)-1]; last.kind == literal {
		return last.text
	}
	return ""
}

// onlySuffix is the suffix if that alone decides whether a name matches.
func (s segment) onlySuffix() (string, bool) {
	ok := len(s.tokens) == 2 && s.tokens[0].kind == star && s.tokens[1].kind == literal
	return s.suffix(), ok
}

// match reports whether a segment that is not deep matches a name. It goes back
// to the last star only, since that one could take whatever an earlier one took.
func (s segment) match(name string) bool {
	if s.literal {
		return name == s.text
	}
	next, resume, retry := 0, -1, 0
	at := 0
	for {
		if next < len(s.tokens) && s.tokens[next].kind == star {
			next++
			resume, retry = next, at
			if rest := s.tokens[next:]; len(rest) == 0 {
				return true
			} else if len(rest) == 1 && rest[0].kind == literal {
				return strings.HasSuffix(name[at:], rest[0].text)
			}
		}
		if at == len(name) && next == len(s.tokens) {
			return true
		}
		if next < len(s.tokens) {
			if n := s.tokens[next].take(name[at:]); n > 0 {
				next, at = next+1, at+n
				continue
			}
		}
		if resume < 0 || retry == len(name) {
			return false
		}
		_, n := utf8.DecodeRuneInString(name[retry:])
		retry += n
		next, at = resume, retry
	}
}

// take returns how many bytes of a name the token matches at its start, 0 if it
// does not match. It is not asked of stars.
func (t token) take(name string) int {
	if t.kind == literal {
		if strings.HasPrefix(name, t.text) {
			return len(t.text)
		}
		return 0
	}
	r, n := utf8.DecodeRuneInString(name)
	if n == 0 || t.kind == set && !t.has(r) {
		return 0
	}
	return n
}

// has reports whether a set matches a character.
func (t token) has(r rune) bool {
	for _, pair := range t.ranges {
		if pair[0] <= r && r <= pair[1] {
			return !t.negated
		}
	}
	return t.negated
}
