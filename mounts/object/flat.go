package object

import (
	"errors"
	"sort"
	"strings"

	"carrel.dev/workspace"
)

// Flat is the files, symlinks and submodules below a tree in one piece: their
// paths in the order of their bytes, which is that of a walk in git's order. It
// is immutable.
type Flat struct {
	text  string // the paths, one after the other
	files []flatFile
	nodes []workspace.Node
}

// flatFile is where in a text the last segment of a path begins, and where the
// path ends.
type flatFile struct{ name, end uint32 }

// maxFlat is how many files a Flat has at most, and directories. When one of them changes, so
// many are listed again.
const maxFlat = 1024

// Len is the number of files.
func (f *Flat) Len() int { return len(f.files) }

// Path is the path of the i-th file. It shares the memory of all.
func (f *Flat) Path(i int) string {
	start := uint32(0)
	if i > 0 {
		start = f.files[i-1].end
	}
	return f.text[start:f.files[i].end]
}

// Name is the last segment of the i-th file's path.
func (f *Flat) Name(i int) string { return f.text[f.files[i].name:f.files[i].end] }

// Node is the i-th file without its path.
func (f *Flat) Node(i int) workspace.Node { return f.nodes[i] }

// After is the number of the first file whose path comes after another.
func (f *Flat) After(path string) int {
	return sort.Search(f.Len(), func(i int) bool { return f.Path(i) > path })
}

// flatKey names a Flat: the tree and what its paths begin with.
type flatKey struct {
	id     workspace.OID
	prefix string
}

// Flat returns the files below a tree, with prefix in front of each path; nil if
// they are too many for one piece, so that its entries have to be walked.
func (s *Store) Flat(id workspace.OID, prefix string) (*Flat, error) {
	key := flatKey{id, prefix}
	if f, ok := s.pool.flats.get(key); ok {
		return f, nil
	}
	var b flattener
	err := b.add(s, id, prefix)
	if err != nil && !errors.Is(err, errMany) {
		return nil, err
	}
	const overhead, perFile = 250, 32
	var f *Flat
	cost := int64(overhead + len(prefix))
	if err == nil {
		f = &Flat{b.text.String(), b.files, b.nodes}
		cost += int64(len(f.text) + perFile*f.Len())
	}
	s.pool.flats.add(key, f, cost)
	return f, nil
}

// errMany is more files than a Flat has.
var errMany = errors.New("too many files")

// flattener collects the files of a Flat.
type flattener struct {
	text  strings.Builder
	files []flatFile
	nodes []workspace.Node
	trees int // walked, which may be many without a file
}

func (b *flattener) add(s *Store, id workspace.OID, prefix string) error {
	if f, ok := s.pool.flats.get(flatKey{id, prefix}); ok {
		return b.addFlat(f)
	}
	t, err := s.Tree(id)
	if err != nil {
		return err
	}
	if b.trees++; t.Len() > maxFlat || b.trees > maxFlat {
		return errMany
	}
	for e := range t.All() {
		if e.Mode == workspace.ModeDir {
			if err := b.add(s, e.ID, prefix+e.Name+"/"); err != nil {
				return err
			}
			continue
		}
		if len(b.files) == maxFlat {
			return errMany
		}
		b.text.WriteString(prefix)
		name := uint32(b.text.Len())
		b.text.WriteString(e.Name)
		b.files = append(b.files, flatFile{name, uint32(b.text.Len())})
		b.nodes = append(b.nodes, e.Node())
	}
	return nil
}

// addFlat adds what is known already, nil for too much.
func (b *flattener) addFlat(f *Flat) error {
	if f == nil || len(b.files)+f.Len() > maxFlat {
		return errMany
	}
	start := uint32(b.text.Len())
	b.text.WriteString(f.text)
	for _, at := range f.files {
		b.files = append(b.files, flatFile{start + at.name, start + at.end})
	}
	b.nodes = append(b.nodes, f.nodes...)
	return nil
}
