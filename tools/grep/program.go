package grep

import (
	"regexp/syntax"
	"unicode/utf8"
)

// program is a compiled expression, with what of it all automata share.
type program struct {
	*syntax.Prog
	// class numbers the bytes so that those of one class lead everywhere to the
	// same: as characters they match the same instructions, and all or none are
	// of a word.
	class   [256]uint8
	classes int
	words   bool // the program asks for word boundaries
	// anchored reports that a match starts where a line does.
	anchored bool
}

// The classes of bytes that need a look at what follows, and of the one that
// ends a line.
const (
	classMore = iota // CR, and what is not ASCII
	classLF
	firstClass
)

func newProgram(prog *syntax.Prog) *program {
	const atStart = syntax.EmptyBeginText | syntax.EmptyBeginLine
	p := &program{Prog: prog, anchored: prog.StartCond()&atStart != 0}
	var signatures [utf8.RuneSelf][]byte
	tell := func(matches func(r rune) bool) {
		for r := range signatures {
			bit := byte('0')
			if matches(rune(r)) {
				bit = '1'
			}
			signatures[r] = append(signatures[r], bit)
		}
	}
	for i := range prog.Inst {
		switch inst := &prog.Inst[i]; inst.Op {
		case syntax.InstEmptyWidth:
			p.words = p.words || syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			tell(inst.MatchRune)
		}
	}
	if p.words {
		tell(syntax.IsWordChar)
	}
	known := map[string]uint8{}
	for r, s := range signatures {
		if _, ok := known[string(s)]; !ok {
			known[string(s)] = uint8(firstClass + len(known))
		}
		p.class[r] = known[string(s)]
	}
	p.class['\n'], p.class['\r'] = classLF, classMore // those beyond ASCII are so already
	p.classes = firstClass + len(known)
	return p
}

// before is what stands before a character, as far as assertions ask for it.
type before byte

const (
	lineStart before = iota
	word
	other
)

// beforeAfter returns what a character is to the one after it.
func (p *program) beforeAfter(r rune) before {
	if p.words && syntax.IsWordChar(r) {
		return word
	}
	return other
}

// endOfLine stands for a character where there is none.
const endOfLine = -1

// assertions returns what holds between what stands before and a character.
func assertions(b before, r rune) syntax.EmptyOp {
	var op syntax.EmptyOp
	if b == lineStart {
		op |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if r == endOfLine {
		op |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if (b == word) != (r != endOfLine && syntax.IsWordChar(r)) {
		return op | syntax.EmptyWordBoundary
	}
	return op | syntax.EmptyNoWordBoundary
}

// pcSet is a set of instructions, in the order in which they were added.
type pcSet struct {
	has  []bool
	list []uint32
}

func newPCSet(p *program) *pcSet { return &pcSet{has: make([]bool, len(p.Inst))} }

func (s *pcSet) add(pc uint32) {
	if !s.has[pc] {
		s.has[pc] = true
		s.list = append(s.list, pc)
	}
}

func (s *pcSet) clear() {
	for _, pc := range s.list {
		s.has[pc] = false
	}
	s.list = s.list[:0]
}

// follow adds to a set all that can be reached from it without reading, given
// what holds there, and reports whether the end of a match is.
func (p *program) follow(s *pcSet, holds syntax.EmptyOp) (matches bool) {
	for i := 0; i < len(s.list); i++ {
		switch inst := &p.Inst[s.list[i]]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			s.add(inst.Out)
			s.add(inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			s.add(inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^holds == 0 {
				s.add(inst.Out)
			}
		}
	}
	return false
}

// reads reports whether an instruction reads a character.
func reads(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}
