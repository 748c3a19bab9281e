package grep

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"carrel.dev/workspace"
)

// Bounds on a pattern.
const (
	maxPattern      = 4096 // bytes
	maxInstructions = 5000 // of its program
)

// Compile compiles a pattern. One that RE2 does not have is Invalid, naming the
// column in bytes from 1, and the hint says what to write instead; one that is
// too large is Limit.
func Compile(o Options) (*Matcher, error) {
	if len(o.Pattern) > maxPattern {
		return nil, workspace.Errorf(workspace.Limit, "pattern of %d bytes is longer than %d", len(o.Pattern), maxPattern)
	}
	if o.Pattern == "" {
		return nil, workspace.Errorf(workspace.Invalid, "pattern is empty")
	}
	m, err := compile(o)
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return nil, explain(o.Pattern, bad)
	}
	return m, err
}

func compile(o Options) (*Matcher, error) {
	expr := o.Pattern
	if o.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	flags := syntax.Perl
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(expr, flags)
	if err != nil {
		return nil, err
	}
	tree = tree.Simplify()
	if crossesLines(tree) {
		return nil, workspace.Errorf(workspace.Invalid, "pattern %q has a line break, and lines are matched one by one", clip(o.Pattern)).
			Hinted("Search for one of the lines, with context.")
	}
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxInstructions {
		return nil, workspace.Errorf(workspace.Limit, "pattern %q is too complex: it takes %d instructions of %d", clip(o.Pattern), len(prog.Inst), maxInstructions).
			Hinted("Repeat less, or search for a part of it.")
	}
	if o.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	m := &Matcher{re: re, program: newProgram(prog), needed: needed(tree)}
	if text, fold, ok := literal(tree); ok {
		m.needed, m.whole = (&needles{[]string{text}, fold}).lowered(), true
	}
	return m, nil
}

// literal returns the text of an expression that matches nothing but one text,
// which can be found byte by byte, with ASCII letters in either case if fold.
func literal(re *syntax.Regexp) (text string, fold, ok bool) {
	if re.Op != syntax.OpLiteral {
		return "", false, false
	}
	text, fold, _ = exact(re)
	return text, fold, !strings.ContainsFunc(text, func(r rune) bool { return inexact(r, fold) })
}
