package glob

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel.dev/workspace"
)

// Bounds on a pattern.
const (
	maxPattern      = 4096   // bytes
	maxAlternatives = 1000   // after the expansion of braces
	maxTokens       = 50_000 // of all alternatives together
)

// token is the smallest part of a pattern without braces.
type token struct {
	kind    tokenKind
	at      int       // offset in the pattern, in bytes
	text    string    // of a literal
	ranges  [][2]rune // of a set
	negated bool
}

type tokenKind int

const (
	literal tokenKind = iota
	slash
	star
	one
	set
)

// syntaxError says what is wrong with a pattern, and where.
type syntaxError struct {
	at   int // offset in bytes, or whole
	what string
	hint string
}

// whole as a syntaxError's place is the pattern.
const whole = -1

func (e *syntaxError) inPattern(pattern string) error {
	where := ""
	if e.at != whole {
		where = fmt.Sprintf(", column %d", e.at+1)
	}
	err := workspace.Errorf(workspace.Invalid, "pattern %q%s: %s", clip(pattern), where, e.what)
	err.Hint = e.hint
	return err
}

// clip shortens a pattern for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// parse returns the alternatives of a pattern, with its braces expanded.
func parse(pattern string) ([][]token, error) {
	if len(pattern) > maxPattern {
		return nil, workspace.Errorf(workspace.Limit, "pattern of %d bytes is longer than %d", len(pattern), maxPattern)
	}
	if strings.HasPrefix(pattern, "!") {
		err := &syntaxError{what: "! does not exclude", hint: `Patterns only select. Write \! for a name that begins with the character.`}
		return nil, err.inPattern(pattern)
	}
	p := &parser{pattern: pattern}
	expanded, err := p.alternatives(whole)
	switch {
	case err != nil:
		return nil, err.inPattern(pattern)
	case p.overflow:
		return nil, workspace.Errorf(workspace.Limit, "pattern %q: its braces make more than %d alternatives, or very long ones", clip(pattern), maxAlternatives).
			Hinted("Ask with several simpler patterns.")
	}
	return expanded, nil
}

// parser reads a pattern from left to right.
type parser struct {
	pattern  string
	pos      int
	overflow bool // there are too many alternatives; what is returned is cut
}

// alternatives reads up to the end of the brace that opens at an offset, or of
// the pattern if that is whole, and returns all token sequences that it stands
// for.
func (p *parser) alternatives(open int) ([][]token, *syntaxError) {
	var all [][]token
	current := [][]token{nil}
	for p.pos < len(p.pattern) {
		at := p.pos
		switch c := p.pattern[at]; {
		case c == '{':
			p.pos++
			inner, err := p.alternatives(at)
			if err != nil {
				return nil, err
			}
			current = p.product(current, inner)
		case c == '}' && open == whole:
			return nil, &syntaxError{at: at, what: "this } closes nothing", hint: `Write \} for the character itself.`}
		case c == '}':
			p.pos++
			return p.bounded(append(all, current...)), nil
		case c == ',' && open != whole:
			p.pos++
			all = p.bounded(append(all, current...))
			current = [][]token{nil}
		default:
			t, err := p.token(open != whole)
			if err != nil {
				return nil, err
			}
			current = p.product(current, [][]token{{t}})
		}
	}
	if open != whole {
		return nil, &syntaxError{at: open, what: "this { is not closed", hint: `Write \{ for the character itself.`}
	}
	return current, nil
}

// product returns each of the heads followed by each of the tails.
func (p *parser) product(heads, tails [][]token) [][]token {
	if len(tails) == 1 {
		for i := range heads {
			heads[i] = append(heads[i], tails[0]...)
		}
		return p.bounded(heads)
	}
	if len(heads)*len(tails) > maxAlternatives {
		p.overflow = true
		return heads
	}
	joined := make([][]token, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			joined = append(joined, slices.Concat(head, tail))
		}
	}
	return p.bounded(joined)
}

// bounded returns the sequences, or only the first one if they are too many.
func (p *parser) bounded(sequences [][]token) [][]token {
	total := 0
	for _, s := range sequences {
		total += len(s)
	}
	if len(sequences) > maxAlternatives || total > maxTokens {
		p.overflow = true
		return sequences[:1]
	}
	return sequences
}

// token reads one token that is no brace and no separating comma.
func (p *parser) token(inBraces bool) (token, *syntaxError) {
	at := p.pos
	switch p.pattern[at] {
	case '/':
		p.pos++
		return token{kind: slash, at: at}, nil
	case '*':
		p.pos++
		return token{kind: star, at: at}, nil
	case '?':
		p.pos++
		return token{kind: one, at: at}, nil
	case '[':
		return p.set()
	case '\\':
		r, err := p.escaped()
		if r == '/' {
			return token{kind: slash, at: at}, err
		}
		return token{at: at, text: p.pattern[at+1 : p.pos]}, err
	}
	special := `/*?[{}\`
	if inBraces {
		special += ","
	}
	n := strings.IndexAny(p.pattern[at:], special)
	if n < 0 {
		n = len(p.pattern) - at
	}
	p.pos += n
	return token{at: at, text: p.pattern[at:p.pos]}, nil
}

// escaped reads a backslash and the character after it.
func (p *parser) escaped() (rune, *syntaxError) {
	at := p.pos
	p.pos++
	r, n := utf8.DecodeRuneInString(p.pattern[p.pos:])
	if n == 0 {
		return 0, &syntaxError{at: at, what: `nothing follows this \`, hint: `Write \\ for the character itself.`}
	}
	p.pos += n
	return r, nil
}

// set reads a bracketed set.
func (p *parser) set() (token, *syntaxError) {
	t := token{kind: set, at: p.pos}
	p.pos++
	if p.pos < len(p.pattern) && (p.pattern[p.pos] == '!' || p.pattern[p.pos] == '^') {
		t.negated = true
		p.pos++
	}
	for p.pos < len(p.pattern) {
		at := p.pos
		if p.pattern[at] == ']' {
			p.pos++
			if len(t.ranges) == 0 {
				return t, &syntaxError{at: t.at, what: "this set is empty", hint: `Write \] for a bracket in a set, and \[ for one outside.`}
			}
			return t, nil
		}
		lo, err := p.member()
		hi := lo
		if rest := p.pattern[p.pos:]; err == nil && len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.pos++
			hi, err = p.member()
		}
		switch {
		case err != nil:
			return t, err
		case lo > hi:
			return t, &syntaxError{at: at, what: "this range is in reverse order"}
		case lo == '/' || hi == '/':
			return t, &syntaxError{at: at, what: "a set cannot have a slash in it"}
		}
		t.ranges = append(t.ranges, [2]rune{lo, hi})
	}
	return t, &syntaxError{at: t.at, what: "this [ is not closed", hint: `Write \[ for the character itself.`}
}

// member reads one character of a set.
func (p *parser) member() (rune, *syntaxError) {
	if p.pattern[p.pos] == '\\' {
		return p.escaped()
	}
	r, n := utf8.DecodeRuneInString(p.pattern[p.pos:])
	p.pos += n
	return r, nil
}
