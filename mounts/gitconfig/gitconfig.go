// Package gitconfig reads the configuration format of git, which .gitmodules
// files share, exactly as git reads it. Includes are not followed: what a
// repository means must not depend on files elsewhere on the host.
package gitconfig

import (
	"errors"
	"strconv"
	"strings"
)

// Entry is one variable as it is written. Name is the full name, such as
// "core.bare" or "submodule.Some Name.url": section and key in lower case, the
// part between them as it is.
type Entry struct {
	Name  string
	Value string
	Bare  bool // a name without "=", which means true
}

// ErrSyntax is a text that git would refuse.
var ErrSyntax = errors.New("malformed git configuration")

// Parse returns the entries in order. On ErrSyntax it returns those before the
// error.
func Parse(text []byte) ([]Entry, error) {
	p := &parser{text: strings.TrimPrefix(string(text), "\ufeff")}
	var entries []Entry
	var section string
	for comment := false; ; {
		c := p.next()
		switch {
		case c == '\n' && p.eof:
			return entries, nil
		case c == '\n':
			comment = false
		case comment, isSpace(c):
		case c == '#' || c == ';':
			comment = true
		case c == '[':
			var ok bool
			if section, ok = p.section(); !ok {
				return entries, ErrSyntax
			}
		default:
			e, ok := p.variable(c)
			if !ok {
				return entries, ErrSyntax
			}
			e.Name = section + e.Name
			entries = append(entries, e)
		}
	}
}

type parser struct {
	text string
	at   int
	eof  bool
}

// next returns the next byte, "\n" for "\r\n" and at the end.
func (p *parser) next() byte {
	if p.at >= len(p.text) {
		p.eof = true
		return '\n'
	}
	if strings.HasPrefix(p.text[p.at:], "\r\n") {
		p.at++
	}
	p.at++
	return p.text[p.at-1]
}

// section reads what follows "[" and returns it with a final dot.
func (p *parser) section() (string, bool) {
	var b strings.Builder
	for {
		c := p.next()
		switch {
		case p.eof:
			return "", false
		case c == ']':
			b.WriteByte('.')
			return b.String(), b.Len() > len(".")
		case isSpace(c):
			return p.subsection(c, b.String())
		case !isKeyChar(c) && c != '.':
			return "", false
		}
		b.WriteByte(lower(c))
	}
}

// subsection reads the quoted part of a section's header, from the space before
// it on.
func (p *parser) subsection(c byte, section string) (string, bool) {
	for ; isSpace(c); c = p.next() {
		if c == '\n' {
			return "", false
		}
	}
	if c != '"' {
		return "", false
	}
	b := []byte(section + ".")
	for {
		c := p.next()
		if c == '"' {
			break
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", false
		}
		b = append(b, c)
	}
	return string(append(b, '.')), p.next() == ']'
}

// variable reads a line that begins with c.
func (p *parser) variable(c byte) (Entry, bool) {
	if !isAlpha(c) {
		return Entry{}, false
	}
	name := []byte{lower(c)}
	c = p.next()
	for ; !p.eof && isKeyChar(c); c = p.next() {
		name = append(name, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	if c == '\n' {
		return Entry{Name: string(name), Bare: true}, true
	}
	if c != '=' {
		return Entry{}, false
	}
	value, ok := p.value()
	return Entry{Name: string(name), Value: value}, ok
}

// value reads what follows "=". Like a C string it ends at a NUL.
func (p *parser) value() (string, bool) {
	var b []byte
	quoted, comment, spaces := false, false, 0
	for {
		c := p.next()
		switch {
		case c == '\n':
			text, _, _ := strings.Cut(string(b), "\x00")
			return text, !quoted
		case comment:
			continue
		case isSpace(c) && !quoted:
			if len(b) > 0 {
				spaces++
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		}
		for ; spaces > 0; spaces-- {
			b = append(b, ' ')
		}
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			var ok bool
			if b, ok = p.escape(b); !ok {
				return "", false
			}
		default:
			b = append(b, c)
		}
	}
}

// escape reads what follows a backslash in a value.
func (p *parser) escape(b []byte) ([]byte, bool) {
	switch c := p.next(); c {
	case '\n': // the value continues on the next line
		return b, true
	case 't':
		return append(b, '\t'), true
	case 'b':
		return append(b, '\b'), true
	case 'n':
		return append(b, '\n'), true
	case '\\', '"':
		return append(b, c), true
	}
	return nil, false
}

func isSpace(c byte) bool   { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool   { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isKeyChar(c byte) bool { return isAlpha(c) || c >= '0' && c <= '9' || c == '-' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// Bool is the entry's value as git reads a boolean.
func (e Entry) Bool() bool {
	if e.Bare {
		return true
	}
	switch strings.ToLower(e.Value) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(e.Value)
	return err == nil && n != 0
}

// Split takes a name apart: section, what stands between the first and the last
// dot, and key. Without a second dot there is no subsection.
func (e Entry) Split() (section, subsection, key string) {
	first, last := strings.IndexByte(e.Name, '.'), strings.LastIndexByte(e.Name, '.')
	switch {
	case first < 0:
		return "", "", e.Name
	case first == last:
		return e.Name[:first], "", e.Name[last+1:]
	}
	return e.Name[:first], e.Name[first+1 : last], e.Name[last+1:]
}
