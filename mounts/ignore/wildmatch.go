package ignore

// glob is a compiled pattern: a sequence of steps that a text must go through.
// It is matched by following all ways at once, so that the time is bounded by
// the product of the two lengths whatever the pattern.
type glob []step

type step struct {
	kind stepKind
	set  set // for oneOf
	skip int // for fork: where else to go on
}

type stepKind uint8

const (
	oneOf    stepKind = iota // one byte of the set
	segment                  // any bytes but slashes, also none
	anything                 // any bytes, also none
	fork                     // no byte; go on behind it, or at skip
	never                    // a malformed class matches nothing
)

// set is a set of bytes.
type set [4]uint64

func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

// addRange adds the bytes from lo to hi, none if they are out of order.
func (s *set) addRange(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s.add(byte(c))
	}
}

// compileGlob reads a pattern as git's wildmatch does with WM_PATHNAME: "*", "?"
// and classes do not match a slash, "**" does where it stands alone between
// slashes.
func compileGlob(pattern string) glob {
	var g glob
	for i := 0; i < len(pattern); {
		c := pattern[i]
		i++
		s := step{kind: oneOf}
		switch c {
		case '*':
			g, i = g.star(pattern, i)
			continue
		case '?':
			s.set.addRange(0, 255)
			s.set[0] &^= 1 << '/'
		case '[':
			s, i = class(pattern, i)
		case '\\':
			if i == len(pattern) {
				return append(g, step{kind: never})
			}
			s.set.add(pattern[i])
			i++
		default:
			s.set.add(c)
		}
		g = append(g, s)
	}
	return g
}

// star compiles one or more asterisks, of which the first is in front of i.
func (g glob) star(pattern string, i int) (glob, int) {
	start := i - 1
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	rest := pattern[i:]
	alone := (start == 0 || pattern[start-1] == '/') &&
		(rest == "" || rest[0] == '/' || len(rest) > 1 && rest[:2] == `\/`)
	if i-start < 2 || !alone {
		return append(g, step{kind: segment}), i
	}
	if rest != "" && rest[0] == '/' {
		g = append(g, step{kind: fork, skip: len(g) + 3}) // "**/" is also no directory at all
	}
	return append(g, step{kind: anything}), i
}

// class compiles what follows "[".
func class(pattern string, i int) (step, int) {
	var s set
	bad := step{kind: never}
	next := func() (c byte, ok bool) {
		if i >= len(pattern) {
			return 0, false
		}
		i++
		return pattern[i-1], true
	}
	c, ok := next()
	negated := ok && (c == '!' || c == '^')
	if negated {
		c, ok = next()
	}
	// last is the byte that a range may begin with, 0 for none.
	for last := byte(0); ; {
		if !ok {
			return bad, len(pattern)
		}
		single := c
		switch {
		case c == '\\':
			if single, ok = next(); !ok {
				return bad, len(pattern)
			}
			s.add(single)
			last = single
		case c == '-' && last != 0 && i < len(pattern) && pattern[i] != ']':
			hi, _ := next()
			if hi == '\\' {
				if hi, ok = next(); !ok {
					return bad, len(pattern)
				}
			}
			s.addRange(last, hi)
			last = 0
		case c == '[' && i < len(pattern) && pattern[i] == ':':
			n, known, found := s.named(pattern[i+1:])
			switch {
			case found && !known:
				return bad, len(pattern)
			case found:
				i += 1 + n
				last = 0
			default:
				if n < 0 {
					return bad, len(pattern)
				}
				s.add('[')
				last = '['
			}
		default:
			s.add(c)
			last = c
		}
		if c, ok = next(); ok && c == ']' {
			break
		}
	}
	if negated {
		for w := range s {
			s[w] = ^s[w]
		}
	}
	s[0] &^= 1 << '/'
	return step{kind: oneOf, set: s}, i
}

// named adds a class like "alpha:]" at the start of text. n is its length, -1 if
// no "]" follows at all.
func (s *set) named(text string) (n int, known, found bool) {
	end := 0
	for end < len(text) && text[end] != ']' {
		end++
	}
	if end == len(text) {
		return -1, false, false
	}
	if end == 0 || text[end-1] != ':' {
		return 0, false, false
	}
	in, known := classes[text[:end-1]]
	for c := 0; known && c < 128; c++ {
		if in(byte(c)) {
			s.add(byte(c))
		}
	}
	return end + 1, known, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool { return isDigit(c) || isLower(c) || isUpper(c) }
func isGraph(c byte) bool { return '!' <= c && c <= '~' }

var classes = map[string]func(byte) bool{
	"alnum":  isAlnum,
	"alpha":  func(c byte) bool { return isLower(c) || isUpper(c) },
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 127 },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  isLower,
	"print":  func(c byte) bool { return c == ' ' || isGraph(c) },
	"punct":  func(c byte) bool { return isGraph(c) && !isAlnum(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  isUpper,
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' },
}

// match reports whether the whole of text goes through the steps.
func (g glob) match(text string) bool {
	now, next := make([]bool, len(g)+1), make([]bool, len(g)+1)
	g.reach(now, 0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		clear(next)
		alive := false
		for at, s := range g {
			if !now[at] {
				continue
			}
			switch {
			case s.kind == oneOf && s.set.has(c):
				g.reach(next, at+1)
			case s.kind == anything, s.kind == segment && c != '/':
				g.reach(next, at)
			default:
				continue
			}
			alive = true
		}
		if !alive {
			return false
		}
		now, next = next, now
	}
	return now[len(g)]
}

// reach marks a step, and those that may follow it without a byte.
func (g glob) reach(marks []bool, at int) {
	for !marks[at] {
		marks[at] = true
		if at == len(g) || g[at].kind == oneOf || g[at].kind == never {
			return
		}
		if g[at].kind == fork {
			g.reach(marks, g[at].skip)
		}
		at++
	}
}
