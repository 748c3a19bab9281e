// Package ignore decides, as git does, which untracked files .gitignore files
// ignore. It knows nothing of files: whoever asks hands it the rules of each
// directory on the way.
//
// The rules are those of gitignore(5) as git implements them, quirks included:
// a differential test holds every pattern against git check-ignore. Letter case
// always matters, as on a file system where it does (core.ignoreCase false).
package ignore

import (
	"strings"
)

// Dir is a directory with all rules that apply in it. It is immutable.
type Dir struct {
	parent  *Dir
	name    string // in parent
	rules   []pattern
	ignored bool // as a whole: nothing below can be re-included
}

// Top is the top of a work tree with the rules of its .gitignore.
func Top(rules []byte) *Dir { return &Dir{rules: parse(rules)} }

// Under returns d on top of rules that are weaker than all of its own, such as
// those of .git/info/exclude. d must be a top.
func (d *Dir) Under(rules []byte) *Dir {
	return &Dir{rules: append(parse(rules), d.rules...)}
}

// Child is a directory in d with the rules of its own .gitignore.
func (d *Dir) Child(name string, rules []byte) *Dir {
	c := &Dir{parent: d, name: name, ignored: d.Ignored(name, true)}
	if !c.ignored {
		c.rules = parse(rules)
	}
	return c
}

// Ignored reports whether git ignores an untracked file, or directory, of this
// name in d.
func (d *Dir) Ignored(name string, dir bool) bool {
	if d.ignored {
		return true
	}
	path := name
	for at := d; at != nil; at = at.parent {
		for i := len(at.rules) - 1; i >= 0; i-- {
			if p := &at.rules[i]; p.matches(path, name, dir) {
				return !p.negated
			}
		}
		path = at.name + "/" + path
	}
	return false
}

// Path reports whether git ignores an untracked file at a path relative to the
// top. rules returns the .gitignore of a directory, nil if it has none; it is
// asked from the top down, for no directory that is itself ignored.
func Path(path string, rules func(dir string) ([]byte, error)) (bool, error) {
	text, err := rules("")
	if err != nil {
		return false, err
	}
	d := Top(text)
	for at := 0; ; {
		end := strings.IndexByte(path[at:], '/')
		if end < 0 {
			return d.Ignored(path[at:], false), nil
		}
		name := path[at : at+end]
		if d.Ignored(name, true) {
			return true, nil
		}
		if text, err = rules(path[:at+end]); err != nil {
			return false, err
		}
		d = d.Child(name, text)
		at += end + 1
	}
}
