package grep

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// needles are texts of which every match contains at least one.
type needles struct {
	list []string // in lower case if fold
	fold bool     // in upper or lower case, of ASCII letters
}

// Bounds on needles. One of a single byte is in so many lines that looking for
// it first is no gain, and longer ones than the largest are slower to find.
const (
	minNeedle  = 2
	maxNeedle  = 48
	maxNeedles = 16
)

// shortest is the length of the shortest needle.
func (n *needles) shortest() int {
	return len(slices.MinFunc(n.list, func(a, b string) int { return len(a) - len(b) }))
}

// better returns the needles that are rarer, as far as lengths tell. Either may
// be nil.
func better(a, b *needles) *needles {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	if d := b.shortest() - a.shortest(); d > 0 || d == 0 && len(b.list) < len(a.list) {
		return b
	}
	return a
}

// confusedBy reports whether content has one of the two characters beyond ASCII
// that fold to an ASCII letter of a needle: the Kelvin sign and the long s.
func (n *needles) confusedBy(content []byte) bool {
	return n.fold && (n.hasLetter("k") && bytes.Contains(content, []byte("\u212a")) ||
		n.hasLetter("s") && bytes.Contains(content, []byte("\u017f")))
}

func (n *needles) hasLetter(letter string) bool {
	return slices.ContainsFunc(n.list, func(s string) bool { return strings.Contains(s, letter) })
}

// needed returns texts of which every match of a simplified expression contains
// one, or nil if it knows none.
func needed(re *syntax.Regexp) *needles {
	if text, fold, ok := exact(re); ok {
		return usableNeedle(text, fold)
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpConcat:
		return neededInSequence(re.Sub)
	case syntax.OpAlternate:
		all := &needles{}
		for _, sub := range re.Sub {
			n := needed(sub)
			if n == nil || len(all.list)+len(n.list) > maxNeedles {
				return nil
			}
			all.list = append(all.list, n.list...)
			all.fold = all.fold || n.fold
		}
		return all.lowered()
	}
	return nil
}

// neededInSequence joins neighbours that are exact.
func neededInSequence(subs []*syntax.Regexp) (best *needles) {
	run, runFold := "", false
	for _, sub := range subs {
		if text, fold, ok := exact(sub); ok {
			run, runFold = run+text, runFold || fold
			continue
		}
		best = better(better(best, usableNeedle(run, runFold)), needed(sub))
		run, runFold = "", false
	}
	return better(best, usableNeedle(run, runFold))
}

// exact returns the one text that an expression matches, if there is only one,
// but for case if fold. Assertions match the empty text.
func exact(re *syntax.Regexp) (text string, fold, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune), re.Flags&syntax.FoldCase != 0, true
	case syntax.OpCapture:
		return exact(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			t, f, ok := exact(sub)
			if !ok {
				return "", false, false
			}
			text, fold = text+t, fold || f
		}
		return text, fold, true
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText,
		syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return "", false, true
	}
	return "", false, false
}

// inexact reports whether a character of a text need not be there byte by byte,
// or in either case of ASCII if fold: U+FFFD stands for any byte that is not
// UTF-8, and what is not ASCII is not folded here.
func inexact(r rune, fold bool) bool { return r == utf8.RuneError || fold && r >= utf8.RuneSelf }

// usableNeedle returns the longest part of a text that is exact, or nil.
func usableNeedle(text string, fold bool) *needles {
	longest := ""
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return inexact(r, fold) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if len(longest) < minNeedle {
		return nil
	}
	n := &needles{list: []string{longest[:min(len(longest), maxNeedle)]}, fold: fold}
	return n.lowered()
}

// lowered puts needles that are folded into lower case.
func (n *needles) lowered() *needles {
	if n.fold {
		for i, s := range n.list {
			n.list[i] = strings.ToLower(s)
		}
	}
	return n
}
