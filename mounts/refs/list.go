package refs

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// List returns the refs below a folder such as refs/heads, sorted by name,
// without the symbolic ones. A file that is no ref is Corrupt.
func (s *Store) List(folder string) ([]workspace.Ref, error) {
	if err := Check(folder); err != nil {
		return nil, err
	}
	found := map[string]workspace.OID{}
	// The files come first: a ref that is packed meanwhile is seen once packed.
	loose, err := s.looseNames(folder)
	if err != nil {
		return nil, err
	}
	p, err := s.packedRefs()
	if err != nil {
		return nil, err
	}
	for name, id := range p.below(folder + "/") {
		found[name] = id
	}
	for _, name := range loose {
		v, err := s.Read(name)
		switch {
		case errors.Is(err, workspace.NotExist):
			delete(found, name) // removed meanwhile
		case err != nil:
			return nil, err
		case v.Target != "":
			delete(found, name)
		default:
			found[name] = v.ID
		}
	}
	all := make([]workspace.Ref, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, workspace.Ref{Name: name, ID: found[name]})
	}
	return all, nil
}

// looseNames lists the refs below a folder that have files of their own.
func (s *Store) looseNames(folder string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(filepath.Join(s.dir, folder), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		name := filepath.ToSlash(rel)
		if err == nil && strings.HasPrefix(name, folder+"/") && wellFormed(name) { // a lock's name is not
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return names, nil
}

// below returns the refs whose names begin with a prefix.
func (p packed) below(prefix string) map[string]workspace.OID {
	found := map[string]workspace.OID{}
	for line := range strings.Lines(string(p.text)) {
		hex, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !strings.HasPrefix(name, prefix) {
			continue
		}
		if id, err := workspace.ParseOID(hex); err == nil && wellFormed(name) {
			found[name] = id
		}
	}
	return found
}
