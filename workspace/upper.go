package workspace

import (
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// Upper is a workspace's private layer: entries by path, in the order of their
// bytes, so that what lies below a directory is one range. An Upper never
// changes: With and Without return another that shares what is equal. The zero
// value is empty.
//
// All methods are safe for concurrent use.
type Upper struct {
	copying sync.Mutex // a copy marks the tree that it is made of
	entries btree.Map[Path, Entry]
	bytes   int64
}

// Len is the number of entries.
func (u *Upper) Len() int { return u.entries.Len() }

// Bytes is the size of all contents together.
func (u *Upper) Bytes() int64 { return u.bytes }

// Get returns the entry at exactly a path.
func (u *Upper) Get(p Path) (Entry, bool) { return u.entries.Get(p) }

// Below yields the entries strictly below a directory, in order.
func (u *Upper) Below(dir Path) iter.Seq2[Path, Entry] {
	prefix := string(dir)
	if dir != Root {
		prefix += "/"
	}
	return func(yield func(Path, Entry) bool) {
		u.entries.Ascend(Path(prefix), func(p Path, e Entry) bool {
			return strings.HasPrefix(string(p), prefix) && yield(p, e)
		})
	}
}

// Within yields the entry at a path and those below it.
func (u *Upper) Within(p Path) iter.Seq2[Path, Entry] {
	return func(yield func(Path, Entry) bool) {
		if e, ok := u.Get(p); ok && !yield(p, e) {
			return
		}
		u.Below(p)(yield)
	}
}

// With returns an Upper that has e at p.
func (u *Upper) With(p Path, e Entry) *Upper {
	next := u.copy()
	next.set(p, e)
	return next
}

// Without returns an Upper that has nothing at p.
func (u *Upper) Without(p Path) *Upper {
	next := u.copy()
	next.remove(p)
	return next
}

// WithoutTree returns an Upper that has nothing at and below p. What Carrel
// keeps for itself in scratch stays, unless p names it.
func (u *Upper) WithoutTree(p Path) *Upper {
	next := u.copy()
	next.removeTree(p)
	return next
}

func (u *Upper) copy() *Upper {
	u.copying.Lock()
	defer u.copying.Unlock()
	return &Upper{entries: *u.entries.Copy(), bytes: u.bytes}
}

func (u *Upper) set(p Path, e Entry) {
	old, _ := u.entries.Set(p, e)
	u.bytes += e.Size - old.Size
}

func (u *Upper) remove(p Path) {
	if old, ok := u.entries.Delete(p); ok {
		u.bytes -= old.Size
	}
}

func (u *Upper) removeTree(p Path) {
	for _, q := range u.droppable(p) {
		u.remove(q)
	}
}

// droppable lists what WithoutTree takes away.
func (u *Upper) droppable(p Path) []Path {
	var gone []Path
	for q := range u.Within(p) {
		if !Private.Contains(q) || Private.Contains(p) {
			gone = append(gone, q)
		}
	}
	return gone
}
