package conformance

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Script is a case, or a few that belong together, as commands and files.
type Script struct {
	Name  string
	Cases []string // the ids of the cases that it covers
	Files map[string][]byte

	commands []command
}

// command is one line of a script.
type command struct {
	line int
	word string
	rest string    // of the line, as it stands
	body []command // of a block
}

// Load reads every script of a folder. A folder without one is an error.
func Load(fsys fs.FS) ([]*Script, error) {
	names, err := fs.Glob(fsys, "*.txtar")
	if err != nil {
		return nil, err
	}
	var scripts []*Script
	for _, name := range names {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		s, err := Parse(name, b)
		if err != nil {
			return nil, err
		}
		if len(s.Cases) == 0 {
			return nil, fmt.Errorf("%s: no line of the header says which cases it covers", name)
		}
		scripts = append(scripts, s)
	}
	if len(scripts) == 0 {
		return nil, fmt.Errorf("no script found")
	}
	return scripts, nil
}

// Parse reads a script.
func Parse(name string, text []byte) (*Script, error) {
	a := txtar.Parse(text)
	s := &Script{Name: strings.TrimSuffix(path.Base(name), ".txtar"), Files: map[string][]byte{}}
	for _, f := range a.Files {
		file, data, err := unquoteFile(f.Name, f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: file %s: %w", name, f.Name, err)
		}
		if _, twice := s.Files[file]; twice {
			return nil, fmt.Errorf("%s: file %s stands there twice", name, file)
		}
		s.Files[file] = data
	}
	p := lineReader{name: name, lines: strings.Split(string(a.Comment), "\n")}
	s.Cases = casesOf(p.header())
	var err error
	s.commands, err = p.block(0)
	return s, err
}

// quotedSuffix marks a file that is written as Go string literals, one a line,
// because its bytes would not survive an editor.
const quotedSuffix = ".quoted"

func unquoteFile(name string, data []byte) (string, []byte, error) {
	plain, quoted := strings.CutSuffix(name, quotedSuffix)
	if !quoted {
		return name, data, nil
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			return "", nil, fmt.Errorf("line %q is no Go string", strings.TrimSpace(line))
		}
		b.WriteString(s)
	}
	return plain, []byte(b.String()), nil
}

// casesPrefix begins the line, of a script's header and of a test's comment,
// that names the cases which are covered.
const casesPrefix = "Cases:"

// casesOf returns the case ids that a comment names.
func casesOf(comment string) []string {
	var ids []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(strings.TrimLeft(line, "#/ "))
		if list, ok := strings.CutPrefix(line, casesPrefix); ok {
			ids = append(ids, strings.Fields(strings.ReplaceAll(list, ",", " "))...)
		}
	}
	return ids
}

// lineReader turns lines into commands.
type lineReader struct {
	name  string
	lines []string
	next  int
}

// header takes the comment lines that a script begins with.
func (p *lineReader) header() string {
	for p.next < len(p.lines) && strings.HasPrefix(p.lines[p.next], "#") {
		p.next++
	}
	return strings.Join(p.lines[:p.next], "\n")
}

// block takes commands to the end of a block at a depth, or of the script.
func (p *lineReader) block(depth int) ([]command, error) {
	var commands []command
	for p.next < len(p.lines) {
		p.next++
		line := strings.TrimSpace(p.lines[p.next-1])
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case line == "}" && depth > 0:
			return commands, nil
		}
		c := command{line: p.next}
		c.word, c.rest, _ = strings.Cut(line, " ")
		c.rest = strings.TrimSpace(c.rest)
		if isBlock(c.word) {
			head, open := strings.CutSuffix(c.rest, "{")
			if !open {
				return nil, fmt.Errorf("%s:%d: %s without a { at the end of the line", p.name, c.line, c.word)
			}
			c.rest = strings.TrimSpace(head)
			var err error
			if c.body, err = p.block(depth + 1); err != nil {
				return nil, err
			}
		}
		commands = append(commands, c)
	}
	if depth > 0 {
		return nil, fmt.Errorf("%s: a block does not end", p.name)
	}
	return commands, nil
}

func isBlock(word string) bool { return word == "parallel" || word == "repeat" }
