// Package grep searches texts for lines that match a pattern.
//
// # What matches
//
// A pattern is a regular expression in RE2's syntax, or a literal text. It is
// matched against each line alone, so that ^ and $ are the line's ends and no
// match crosses lines. A line's ending, LF or CRLF, is no part of it; CR
// elsewhere is. A line counts once, by its first match.
//
// What is searched is text, as [IsText] has it: no NUL in the first 8 KiB. It
// need not be UTF-8, since programs in Latin-1 are searched for words in ASCII
// as well; a byte that is not part of a character matches as U+FFFD does, and
// such bytes are shown as that. UTF-16 has NULs and is not text.
//
// # How it is fast
//
// Most patterns contain a literal without which nothing can match. Those are
// looked for first, with the machine's own instructions, and only lines that
// have one are looked at; a pattern that is nothing but a literal needs no more.
// Whether a line matches is then decided by an automaton that is built while it
// runs and looks at each byte once (see dfa). The regular expression itself runs
// on lines that are known to match, to tell where.
//
// # Decision: an automaton of our own
//
// Go's regexp needs 20 to 30 ns a byte for a pattern without a literal prefix, on
// short lines, and cannot be interrupted, which a server that searches gigabytes
// for strangers must be able to. The automaton needs 2 to 3 ns and answers a
// context. The tests hold both against each other. An RE2 in WebAssembly would be
// faster still, and one more runtime to carry.
package grep

import (
	"bytes"
	"context"
	"regexp"
	"sync"
)

// Options are a search's pattern and how to read it.
type Options struct {
	Pattern    string
	IgnoreCase bool // letters match in either case, as Unicode folds them
	Literal    bool // Pattern is the text itself
}

// Limits bound what File returns. The zero value is every match, alone.
type Limits struct {
	Matches int // at most so many; 0 means all
	Context int // lines before and after each match
	After   int // skip the lines up to this one, where an earlier call ended
}

// Match is a line that matches.
type Match struct {
	Line   int    // from 1
	Column int    // of the first match, in bytes from 1
	Text   string // valid UTF-8, without the ending, cut to 300 characters around the match
	// Before and After are lines around the match that are not matches, in
	// order. No line is in two of them.
	Before, After []ContextLine
}

// ContextLine is a line near a match.
type ContextLine struct {
	Line int
	Text string // as of a Match, cut at its end
}

// Matcher is a compiled pattern. All methods are safe for concurrent use. An
// error that they return is that of ctx.
type Matcher struct {
	re     *regexp.Regexp
	needed *needles // what every match contains, or nil
	whole  bool     // needed is one needle and all of the pattern

	program *program
	pool    sync.Pool // of *search
}

// File returns the lines of content that match, in order, and whether there are
// more than it may return.
func (m *Matcher) File(ctx context.Context, content []byte, l Limits) (matches []Match, more bool, err error) {
	s := m.begin(content)
	defer s.end()
	c := newCollector(content, l)
	for {
		h, ok, err := s.next(ctx, c.pos)
		if err != nil {
			return nil, false, err
		}
		more = ok && l.Matches > 0 && len(c.matches) == l.Matches
		if !ok || more {
			c.finish(h, ok)
			return c.matches, more, nil
		}
		c.add(h, s.locate(h))
	}
}

// Any reports whether a line of content matches.
func (m *Matcher) Any(ctx context.Context, content []byte) (bool, error) {
	s := m.begin(content)
	defer s.end()
	_, ok, err := s.next(ctx, 0)
	return ok, err
}

// Count returns how many lines of content match.
func (m *Matcher) Count(ctx context.Context, content []byte) (int, error) {
	s := m.begin(content)
	defer s.end()
	n, pos := 0, 0
	for {
		h, ok, err := s.next(ctx, pos)
		if !ok || err != nil {
			return n, err
		}
		n, pos = n+1, h.next
	}
}

// IsText reports whether content is searched: it has no NUL in its first 8 KiB.
func IsText(content []byte) bool {
	const looked = 8 << 10
	return bytes.IndexByte(content[:min(len(content), looked)], 0) < 0
}
