package ignore

import "strings"

// pattern is one line of a .gitignore.
type pattern struct {
	negated bool // "!": re-includes
	dirOnly bool // ended in "/"
	base    bool // without a slash: matches the last part of a path at any depth
	literal string
	glob    glob // what follows literal; nil if nothing does
	suffix  bool // "*literal": literal is how a name ends
}

// parse reads a .gitignore. A byte order mark at the start and a carriage return
// at the end of a line do not count.
func parse(text []byte) []pattern {
	var all []pattern
	for line := range strings.SplitSeq(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		line, _, _ = strings.Cut(line, "\x00") // git's lines are C strings
		all = append(all, compile(trimSpaces(line)))
	}
	return all
}

// trimSpaces removes trailing spaces, but for one that a backslash protects.
func trimSpaces(line string) string {
	end := 0 // behind the last byte that stays
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = i + 1
	}
	return line[:min(end, len(line))]
}

// compile reads one pattern.
func compile(text string) pattern {
	var p pattern
	text, p.negated = strings.CutPrefix(text, "!")
	text, p.dirOnly = strings.CutSuffix(text, "/")
	p.base = strings.IndexByte(text, '/') < 0
	plain := strings.IndexAny(text, `*?[\`)
	switch {
	case plain < 0:
		plain = len(text)
	case p.base && plain == 0 && text[0] == '*' && !strings.ContainsAny(text[1:], `*?[\`):
		p.suffix, p.literal = true, text[1:]
		return p
	case p.base:
		plain = 0
	}
	p.literal = text[:plain]
	if plain < len(text) {
		p.glob = compileGlob(text[plain:])
	}
	if !p.base {
		p.literal = strings.TrimPrefix(p.literal, "/")
	}
	return p
}

// matches reports whether the pattern means a path, relative to the directory of
// the .gitignore, of which name is the last part.
func (p *pattern) matches(path, name string, dir bool) bool {
	if p.dirOnly && !dir {
		return false
	}
	if p.base {
		path = name
	}
	if p.suffix {
		return strings.HasSuffix(path, p.literal)
	}
	rest, ok := strings.CutPrefix(path, p.literal)
	if !ok {
		return false
	}
	if p.glob == nil {
		return rest == ""
	}
	return p.glob.match(rest)
}
