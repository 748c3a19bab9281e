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

// class compiles what follows "[", and returns where the pattern goes on.
func class(pattern string, i int) (step, int) {
	r := classReader{pattern: pattern, at: i}
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		r.at++
	}
	for first := true; first || r.peek() != ']'; first = false {
		if !r.item() {
			return step{kind: never}, len(pattern)
		}
	}
	if negated {
		for w := range r.set {
			r.set[w] = ^r.set[w]
		}
	}
	r.set[0] &^= 1 << '/'
	return step{kind: oneOf, set: r.set}, r.at + 1
}

// classReader reads the inside of a class.
type classReader struct {
	pattern string
	at      int
	set     set
	last    byte // what a range may begin with, 0 for nothing
}

// peek returns the byte that comes next, 0 at the end.
func (r *classReader) peek() byte {
	if r.at < len(r.pattern) {
		return r.pattern[r.at]
	}
	return 0
}

// next takes a byte, and what it protects if it is a backslash. Not ok at the
// end.
func (r *classReader) next() (c byte, ok bool) {
	if r.peek() == '\\' {
		r.at++
	}
	c = r.peek()
	r.at++
	return c, r.at <= len(r.pattern)
}

// item reads a byte, a range, or a class with a name. False if the class is
// malformed.
func (r *classReader) item() bool {
	switch rest := r.pattern[min(r.at, len(r.pattern)):]; {
	case r.last != 0 && len(rest) > 1 && rest[0] == '-' && rest[1] != ']':
		r.at++
		hi, ok := r.next()
		r.set.addRange(r.last, hi)
		r.last = 0
		return ok
	case len(rest) > 1 && rest[:2] == "[:":
		n, known, found := r.set.named(rest[2:])
		if found {
			r.at += 2 + n
			r.last = 0
			return known
		}
		if n < 0 {
			return false
		}
	}
	c, ok := r.next()
	r.set.add(c)
	r.last = c
	return ok
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
