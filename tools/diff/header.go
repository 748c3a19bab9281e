package diff

import (
	"fmt"
	"strings"

	"carrel.dev/workspace"
)

// header returns the lines of a pair above its hunks, as git's fill_metainfo
// and builtin_diff print them, without the two that name the files.
func (p pair) header() string {
	var w strings.Builder
	old, new := p.Old, p.New
	if old == nil {
		old = new
	} else if new == nil {
		new = old
	}
	fmt.Fprintf(&w, "diff --git %s %s\n", quoted("a/", old.Path), quoted("b/", new.Path))
	same := old.Mode.Canonical() == new.Mode.Canonical()
	switch {
	case p.Old == nil:
		fmt.Fprintf(&w, "new file mode %06o\n", new.Mode.Canonical())
	case p.New == nil:
		fmt.Fprintf(&w, "deleted file mode %06o\n", old.Mode.Canonical())
	case !same:
		fmt.Fprintf(&w, "old mode %06o\nnew mode %06o\n", old.Mode.Canonical(), new.Mode.Canonical())
	}
	if p.kind() == Renamed {
		fmt.Fprintf(&w, "similarity index %d%%\nrename from %s\nrename to %s\n",
			p.score*100/maxScore, quoted("", old.Path), quoted("", new.Path))
	}
	switch {
	case p.Old == nil:
		fmt.Fprintf(&w, "index %s..%s\n", workspace.OID{}.Short(), new.OID.Short())
	case p.New == nil:
		fmt.Fprintf(&w, "index %s..%s\n", old.OID.Short(), workspace.OID{}.Short())
	case old.OID != new.OID:
		fmt.Fprintf(&w, "index %s..%s", old.OID.Short(), new.OID.Short())
		if same {
			fmt.Fprintf(&w, " %06o", new.Mode.Canonical())
		}
		w.WriteByte('\n')
	}
	return w.String()
}

// sides returns how the two files are named above hunks.
func (p pair) sides() (old, new string) {
	old, new = "/dev/null", "/dev/null"
	if p.Old != nil {
		old = quoted("a/", p.Old.Path)
	}
	if p.New != nil {
		new = quoted("b/", p.New.Path)
	}
	return old, new
}

// tabbed is a name as it stands alone on a line: one with a space in it is ended
// by a tab, so that patch does not take what follows the space for a date.
func tabbed(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// quoted returns a path with what stands before it, in quotes and escaped as by
// git's default core.quotePath if it has bytes that need it.
func quoted(before, path string) string {
	path = before + strings.TrimPrefix(path, "/")
	plain := func(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }
	var w strings.Builder
	for _, c := range []byte(path) {
		if plain(c) {
			w.WriteByte(c)
		} else if i := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); i >= 0 {
			w.WriteByte('\\')
			w.WriteByte("abtnvfr\"\\"[i])
		} else {
			fmt.Fprintf(&w, "\\%03o", c)
		}
	}
	if w.Len() == len(path) {
		return path
	}
	return `"` + w.String() + `"`
}
