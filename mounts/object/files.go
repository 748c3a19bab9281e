package object

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// files lists where a repository's objects are. It is immutable.
type files struct {
	dirs    []string         // objects directories: the repository's own, then alternates
	order   []*pack          // the newest first, own before alternates
	byPath  map[string]*pack // by the path of the index
	damaged []string         // names of packs that cannot be used
}

// has reports whether a pack is one of the list.
func (f *files) has(p *pack) bool { return p != nil && f.byPath[p.path] == p }

// maxAlternates is how deep alternates may refer to alternates, as in git.
const maxAlternates = 5

// files returns the list, made at the first call.
func (s *Store) files() (*files, error) {
	if set := s.set.Load(); set != nil {
		return set, nil
	}
	return s.relist()
}

// relist returns a list that was made after the call began. Packs that are still
// there stay open, and if nothing changed the list is the one that was.
func (s *Store) relist() (*files, error) {
	begun := s.listings.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listings.Load() > begun { // somebody made one while this call waited
		if set := s.set.Load(); set != nil {
			return set, nil
		}
	}
	s.listings.Add(1)
	dirs, err := objectDirs(s.dir)
	if err != nil {
		return nil, unavailable(err)
	}
	old := s.set.Load()
	set, err := s.list(dirs, old)
	if err != nil {
		return nil, err
	}
	if old != nil && slices.Equal(set.dirs, old.dirs) && maps.Equal(set.byPath, old.byPath) && slices.Equal(set.damaged, old.damaged) {
		return old, nil
	}
	s.set.Store(set)
	return set, nil
}

// list makes a list. A directory that changes while it is read may show neither
// the old pack nor the new one, so that it is read until it does not.
func (s *Store) list(dirs []string, old *files) (*files, error) {
	const most = 20 // then what there is has to do: somebody repacks without end
	names, err := indexNames(dirs)
	if err != nil {
		return nil, unavailable(err)
	}
	for range most {
		set := s.openPacks(dirs, names, old)
		again, err := indexNames(dirs)
		if err != nil {
			return nil, unavailable(err)
		}
		if slices.Equal(names, again) {
			return set, nil
		}
		names, old = again, set
	}
	return s.openPacks(dirs, names, old), nil
}

// indexNames returns the paths of all pack indexes, sorted within a directory.
func indexNames(dirs []string) ([]string, error) {
	var names []string
	for _, dir := range dirs {
		dir = filepath.Join(dir, "pack")
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "pack-") && strings.HasSuffix(e.Name(), ".idx") {
				names = append(names, filepath.Join(dir, e.Name()))
			}
		}
	}
	return names, nil
}

// openPacks opens the packs of index files, but for those that have gone.
func (s *Store) openPacks(dirs, names []string, old *files) *files {
	set := &files{dirs: dirs, byPath: map[string]*pack{}}
	for _, path := range names {
		p, err := s.openPack(old, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			set.damaged = append(set.damaged, filepath.Base(packPath(path)))
		default:
			set.byPath[path] = p
			set.order = append(set.order, p)
		}
	}
	own := filepath.Join(dirs[0], "pack") + string(filepath.Separator)
	slices.SortStableFunc(set.order, func(a, b *pack) int {
		if x, y := strings.HasPrefix(a.path, own), strings.HasPrefix(b.path, own); x != y {
			if x {
				return -1
			}
			return 1
		}
		return b.file.ModTime().Compare(a.file.ModTime())
	})
	return set
}

// openPack returns the pack of an index file, the one that is open if its file is
// still the same.
func (s *Store) openPack(old *files, idxPath string) (*pack, error) {
	if old != nil {
		if p := old.byPath[idxPath]; p != nil {
			info, err := os.Stat(packPath(idxPath))
			if err != nil {
				return nil, err
			}
			if os.SameFile(info, p.file) && info.Size() == p.file.Size() {
				return p, nil
			}
		}
	}
	return openPack(idxPath, s.pool.packs.Add(1))
}

// objectDirs returns an objects directory and its alternates, each once.
func objectDirs(dir string) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	dirs := []string{dir}
	level := dirs
	for range maxAlternates {
		var next []string
		for _, d := range level {
			more, err := alternates(d)
			if err != nil {
				return nil, err
			}
			for _, m := range more {
				if _, err := os.Stat(m); err == nil && !slices.Contains(dirs, m) {
					dirs, next = append(dirs, m), append(next, m)
				}
			}
		}
		level = next
	}
	return dirs, nil
}

// alternates reads info/alternates: one directory a line, relative to dir, with
// comments and quoted names.
func alternates(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var dirs []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '"' {
			if unquoted, err := strconv.Unquote(line); err == nil {
				line = unquoted
			}
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(dir, line)
		}
		dirs = append(dirs, filepath.Clean(line))
	}
	return dirs, nil
}
