package grep

import (
	"errors"
	"regexp/syntax"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// explain makes an error for people of one of the parser.
func explain(pattern string, bad *syntax.Error) error {
	const literally = "set `literal` to true to search for the text as it is."
	what, hint := bad.Code.String(), "S"+literally[1:]
	at := place(pattern, bad)
	switch bad.Code {
	case syntax.ErrMissingParen:
		what, at = "this ( is not closed", unpaired(pattern)
		hint = `Write \( for the character itself, or ` + literally
	case syntax.ErrUnexpectedParen:
		what, at = "this ) closes nothing", unpaired(pattern)
		hint = `Write \) for the character itself, or ` + literally
	case syntax.ErrMissingBracket:
		what = "this [ is not closed"
		hint = `Write \[ for the character itself, or ` + literally
	case syntax.ErrMissingRepeatArgument:
		what = "there is nothing to repeat before " + bad.Expr
		hint = `Write .* for any text, \` + bad.Expr + " for the character itself, or " + literally
	case syntax.ErrInvalidRepeatOp:
		what = "a repetition is repeated: " + bad.Expr
	case syntax.ErrInvalidRepeatSize:
		what, hint = "invalid repetition "+bad.Expr, "RE2 repeats up to 1000 times, nested repetitions together."
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidNamedCapture:
		if what, hint = unsupportedGroup(bad.Expr); hint == "" {
			hint = `Write \( for the character itself, or ` + literally
		}
	case syntax.ErrInvalidEscape:
		what = "RE2 has no " + bad.Expr
		if digit := bad.Expr[1:]; "1" <= digit && digit <= "9" {
			what += ", a backreference"
			hint = "Search for a simpler pattern and look through what it finds."
		} else {
			hint = `Write \\ for a backslash, or ` + literally
		}
	case syntax.ErrTrailingBackslash:
		what, at = `nothing follows this \`, len(pattern)-1
		hint = `Write \\ for a backslash, or ` + literally
	case syntax.ErrInvalidUTF8:
		what, hint = "it is not UTF-8", ""
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		what, hint = "it is too complex", "Search for a part of it."
	}
	err := workspace.Errorf(workspace.Invalid, "pattern %q, column %d: %s", clip(pattern), at+1, what)
	err.Hint = hint
	return err
}

// unsupportedGroup says what a group is that RE2 does not have.
func unsupportedGroup(expr string) (what, hint string) {
	hint = "Search for a simpler pattern and look through what it finds."
	for _, known := range []struct{ prefix, name string }{
		{"(?=", "lookahead"}, {"(?!", "lookahead"}, {"(?<=", "lookbehind"}, {"(?<!", "lookbehind"},
		{"(?>", "atomic groups"}, {"(?#", "comments"}, {"(?P=", "backreferences"},
	} {
		if strings.HasPrefix(expr, known.prefix) {
			return "RE2 has no " + known.name, hint
		}
	}
	return "RE2 has no group " + clip(expr), ""
}

// place returns the offset of the part of a pattern that an error is about: the
// first one at which reading no further gives the same error.
func place(pattern string, bad *syntax.Error) int {
	for at := 0; at+len(bad.Expr) <= len(pattern); at++ {
		n := strings.Index(pattern[at:], bad.Expr)
		if n < 0 {
			break
		}
		at += n
		_, err := syntax.Parse(pattern[:at+len(bad.Expr)], syntax.Perl)
		var again *syntax.Error
		if errors.As(err, &again) && again.Code == bad.Code && again.Expr == bad.Expr {
			return at
		}
	}
	return max(strings.Index(pattern, bad.Expr), 0)
}

// unpaired returns the offset of a closing parenthesis that closes nothing, or
// of the first opening one that is not closed.
func unpaired(pattern string) int {
	var open []int
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			i = endOfClass(pattern, i)
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return i
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[0]
}

// endOfClass returns the offset of the bracket that closes the class opened at
// an offset.
func endOfClass(pattern string, at int) int {
	i := at + 1
	if i < len(pattern) && pattern[i] == '^' {
		i++
	}
	for first := i; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i] == ']' && i > first:
			return i
		case strings.HasPrefix(pattern[i:], "[:"):
			if n := strings.Index(pattern[i:], ":]"); n >= 0 {
				i += n + 1
			}
		}
	}
	return i
}

// clip shortens a pattern for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// crossesLines reports whether an expression can match only what has a line
// break in it.
func crossesLines(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, '\n')
	case syntax.OpCapture, syntax.OpPlus:
		return crossesLines(re.Sub[0])
	case syntax.OpConcat:
		return slices.ContainsFunc(re.Sub, crossesLines)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !crossesLines(sub) })
	}
	return false
}
