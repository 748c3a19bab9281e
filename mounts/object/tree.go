package object

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"carrel.dev/workspace"
)

// Entry is one entry of a tree.
type Entry struct {
	Name string
	// Mode is one of those that git writes today, Raw the digits in the tree,
	// which may be those of an old version of git.
	Mode workspace.Mode
	Raw  string
	ID   workspace.OID
}

// NewEntry is an entry as git writes it today.
func NewEntry(name string, n workspace.Node) Entry {
	return Entry{Name: name, Mode: n.Mode, Raw: strconv.FormatUint(uint64(n.Mode), 8), ID: n.OID}
}

// Node is the entry without its name.
func (e Entry) Node() workspace.Node { return workspace.Node{Mode: e.Mode, OID: e.ID} }

// Tree is a parsed tree object. It is immutable.
type Tree struct {
	text   string
	starts []uint32 // where in text each entry begins
}

// ParseTree checks the content of a tree object: the encoding, that every mode
// is of a known kind, that no name is empty, "." or ".." or has a slash, and
// that the entries are sorted as git sorts them, without a name occurring
// twice. Anything else is Corrupt.
func ParseTree(content []byte) (*Tree, error) {
	const least = len("40000 x\x00") + idSize
	t := &Tree{text: string(content), starts: make([]uint32, 0, len(content)/(least+8))}
	var last Entry
	var files map[string]bool // that a directory of the same name may still follow
	for at := 0; at < len(t.text); {
		e, n, ok := parseEntry(t.text[at:])
		if !ok || at > 0 && !entryLess(last, e) {
			return nil, corruptf("a tree object is malformed")
		}
		if at > 0 && last.Mode != workspace.ModeDir && strings.HasPrefix(e.Name, last.Name) {
			if files == nil {
				files = map[string]bool{}
			}
			files[last.Name] = true
		}
		if e.Mode == workspace.ModeDir && files[e.Name] {
			return nil, corruptf("a tree object has the name %q twice", e.Name)
		}
		t.starts = append(t.starts, uint32(at))
		last = e
		at += n
	}
	return t, nil
}

// leastMode is how many digits a mode has at least.
const leastMode = 5

// parseEntry decodes the entry at the start of text and says how long it is.
func parseEntry(text string) (e Entry, n int, ok bool) {
	mode, rest, ok := strings.Cut(text, " ")
	if !ok || len(mode) < leastMode || len(mode) > 7 {
		return e, 0, false
	}
	var bits workspace.Mode
	for _, c := range []byte(mode) {
		if c < '0' || c > '7' {
			return e, 0, false
		}
		bits = bits<<3 | workspace.Mode(c-'0')
	}
	name, rest, ok := strings.Cut(rest, "\x00")
	if !ok || len(rest) < idSize || !fileBits(bits) {
		return e, 0, false
	}
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, '/') >= 0 {
		return e, 0, false
	}
	e = Entry{Name: name, Mode: bits.Canonical(), Raw: mode}
	copy(e.ID[:], rest)
	return e, len(mode) + 1 + len(name) + 1 + idSize, true
}

// fileBits reports whether a mode is of a kind that git knows.
func fileBits(m workspace.Mode) bool {
	switch m &^ 0o7777 {
	case workspace.ModeDir, workspace.ModeSymlink, workspace.ModeSubmodule, workspace.ModeFile &^ 0o7777:
		return true
	}
	return false
}

// entryLess reports whether a stands before b in a tree: by name as bytes, a
// directory as if its name ended in a slash.
func entryLess(a, b Entry) bool { return compareEntries(a, b) < 0 }

// compareKeys compares two names of which each is sorted as if a byte followed
// it, or nothing for 0.
func compareKeys(a string, lastA byte, b string, lastB byte) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	next := func(s string, last byte) byte {
		if len(s) > n {
			return s[n]
		}
		return last
	}
	if c := int(next(a, lastA)) - int(next(b, lastB)); c != 0 {
		return c
	}
	return len(a) - len(b)
}

// lastByte is what the name of an entry with a mode is sorted with.
func lastByte(digits string) byte {
	if digits = strings.TrimLeft(digits, "0"); len(digits) == leastMode && digits[0] == '4' {
		return '/'
	}
	return 0
}

// Len is the number of entries.
func (t *Tree) Len() int { return len(t.starts) }

// Entry returns the i-th entry in git's order.
func (t *Tree) Entry(i int) Entry {
	digits, name := t.modeAndName(i)
	var bits workspace.Mode
	for _, c := range []byte(digits) {
		bits = bits<<3 | workspace.Mode(c-'0')
	}
	e := Entry{Name: name, Mode: bits.Canonical(), Raw: digits}
	copy(e.ID[:], t.text[t.end(i)-idSize:])
	return e
}

// start is where the i-th entry begins, or where the last one ends.
func (t *Tree) start(i int) int {
	if i < len(t.starts) {
		return int(t.starts[i])
	}
	return len(t.text)
}

// end is where the i-th entry ends.
func (t *Tree) end(i int) int { return t.start(i + 1) }

// modeAndName returns how the i-th entry is spelled. ParseTree has checked it,
// so that nothing is searched but the end of the mode.
func (t *Tree) modeAndName(i int) (digits, name string) {
	e := t.text[t.starts[i] : t.end(i)-idSize-1]
	n := leastMode
	for e[n] != ' ' {
		n++
	}
	return e[:n], e[n+1:]
}

// All yields the entries in git's order.
func (t *Tree) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range t.starts {
			if !yield(t.Entry(i)) {
				return
			}
		}
	}
}

// Find returns the entry of a name.
func (t *Tree) Find(name string) (Entry, bool) {
	i, ok := t.Index(name)
	if !ok {
		return Entry{}, false
	}
	return t.Entry(i), true
}

// Index returns the number of the entry of a name.
func (t *Tree) Index(name string) (i int, ok bool) {
	if i, ok = t.search(name, 0); !ok {
		i, ok = t.search(name, '/')
	}
	return i, ok
}

// Dir returns the id of the directory of a name.
func (t *Tree) Dir(name string) (workspace.OID, bool) {
	i, ok := t.search(name, '/')
	if !ok {
		return workspace.OID{}, false
	}
	end := t.end(i)
	return workspace.OID([]byte(t.text[end-idSize : end])), true
}

// search finds the entry of a name whose sort key ends in a byte: a directory's
// in a slash, any other's in nothing. If there is none, i is where it would be.
func (t *Tree) search(name string, last byte) (i int, ok bool) {
	lo, hi := 0, len(t.starts)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		digits, at := t.modeAndName(mid)
		switch c := compareKeys(at, lastByte(digits), name, last); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// Splice returns the content of the tree object that is t without the entries of
// some numbers, in increasing order, and with others, whose names it does not
// have. Names are not checked.
func (t *Tree) Splice(gone []int, added []Entry) []byte {
	added = slices.SortedFunc(slices.Values(added), compareEntries)
	b := make([]byte, 0, len(t.text)+64*len(added))
	next := 0 // the first entry of t that is still to be judged
	keep := func(end int) {
		for len(gone) > 0 && gone[0] < end {
			b = append(b, t.text[t.start(next):t.start(gone[0])]...)
			next, gone = gone[0]+1, gone[1:]
		}
		b = append(b, t.text[t.start(next):t.start(end)]...)
		next = end
	}
	for _, e := range added {
		at, _ := t.search(e.Name, lastByte(e.Raw))
		keep(at)
		b = appendEntry(b, e)
	}
	keep(t.Len())
	return b
}

// EncodeTree returns the content of the tree object with these entries, in
// whatever order they are given. Names are not checked.
func EncodeTree(entries []Entry) []byte { return (&Tree{}).Splice(nil, entries) }

func compareEntries(a, b Entry) int {
	return compareKeys(a.Name, lastByte(a.Raw), b.Name, lastByte(b.Raw))
}

// appendEntry encodes an entry.
func appendEntry(b []byte, e Entry) []byte {
	b = append(append(b, e.Raw...), ' ')
	b = append(append(b, e.Name...), 0)
	return append(b, e.ID[:]...)
}
