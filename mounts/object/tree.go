package object

import (
	"bytes"
	"iter"
	"sort"
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

// parseEntry decodes the entry at the start of text and says how long it is.
func parseEntry(text string) (e Entry, n int, ok bool) {
	mode, rest, ok := strings.Cut(text, " ")
	if !ok || len(mode) < 5 || len(mode) > 7 {
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
// directory as if its name ended in a slash. Equal names are not less.
func entryLess(a, b Entry) bool {
	n := min(len(a.Name), len(b.Name))
	if c := strings.Compare(a.Name[:n], b.Name[:n]); c != 0 {
		return c < 0
	}
	if len(a.Name) == len(b.Name) {
		return false
	}
	return sortByte(a, n) < sortByte(b, n)
}

// sortByte is the i-th byte of the name that an entry is sorted by.
func sortByte(e Entry, i int) byte {
	switch {
	case i < len(e.Name):
		return e.Name[i]
	case e.Mode == workspace.ModeDir:
		return '/'
	}
	return 0
}

// Len is the number of entries.
func (t *Tree) Len() int { return len(t.starts) }

// Entry returns the i-th entry in git's order.
func (t *Tree) Entry(i int) Entry {
	e, _, _ := parseEntry(t.text[t.starts[i]:])
	return e
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
	for _, mode := range [...]workspace.Mode{workspace.ModeFile, workspace.ModeDir} {
		want := Entry{Name: name, Mode: mode}
		i := sort.Search(len(t.starts), func(i int) bool { return !entryLess(t.Entry(i), want) })
		if i < len(t.starts) {
			if e := t.Entry(i); e.Name == name {
				return e, true
			}
		}
	}
	return Entry{}, false
}

// EncodeTree returns the content of the tree object with these entries, in
// whatever order they are given. Names are not checked.
func EncodeTree(entries []Entry) []byte {
	sorted := append([]Entry(nil), entries...)
	sort.Slice(sorted, func(i, j int) bool { return entryLess(sorted[i], sorted[j]) })
	var b bytes.Buffer
	for _, e := range sorted {
		b.WriteString(e.Raw)
		b.WriteByte(' ')
		b.WriteString(e.Name)
		b.WriteByte(0)
		b.Write(e.ID[:])
	}
	return b.Bytes()
}
