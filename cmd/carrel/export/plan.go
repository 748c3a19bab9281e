package export

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// plan is what has to happen so that the directory holds the view.
type plan struct {
	root *os.Root
	old  *manifest
	what What
	want map[string]workspace.Found // by relative path
	disk map[string]fs.FileInfo

	writes  []string // files and links, sorted
	mkdirs  []string // sorted
	removes []string // files and links
	// rmdirs are directories that give way; the ones that the view does not need
	// the place of stay if somebody keeps files in them.
	rmdirs []string
	// kept are the files and links that are as the view wants them.
	kept map[string]entry
	// clashes are the paths where somebody else's work stands in the way, sorted.
	// The plan is made as if it did not matter.
	clashes []string
}

// compare holds the directory against the view and the manifest.
func (p *plan) compare() error {
	if err := p.look(); err != nil {
		return err
	}
	p.kept = map[string]entry{}
	for _, name := range slices.Sorted(maps.Keys(p.disk)) {
		if p.disk[name].IsDir() {
			p.compareDir(name)
		} else if err := p.compareFile(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.want)) {
		info, there := p.disk[name]
		switch wanted := nodeOf(p.want[name]); {
		case wanted.isDir() && !(there && info.IsDir()):
			p.mkdirs = append(p.mkdirs, name)
		case !wanted.isDir() && (!there || info.IsDir()):
			p.writes = append(p.writes, name)
		}
	}
	slices.Sort(p.writes)
	return nil
}

// look lists the directory. Links in it are not followed.
func (p *plan) look() error {
	p.disk = map[string]fs.FileInfo{}
	return fs.WalkDir(p.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." || name == Manifest {
			return err
		}
		if p.disk[name], err = d.Info(); err != nil {
			return err
		}
		return nil
	})
}

// compareDir judges a directory on disk.
func (p *plan) compareDir(name string) {
	f, wanted := p.want[name]
	switch {
	case wanted && nodeOf(f).isDir():
	case wanted, p.old.Entries[name].isDir(), p.inTheWay(name):
		p.rmdirs = append(p.rmdirs, name)
	}
}

// compareFile judges a file, a link or something special on disk.
func (p *plan) compareFile(name string) error {
	e, known := p.old.Entries[name]
	f, wanted := p.want[name]
	wanted = wanted && !nodeOf(f).isDir()
	leftover := strings.HasPrefix(path.Base(name), tempPrefix) && !wanted && !known
	switch {
	case leftover:
		p.removes = append(p.removes, name)
		return nil
	case !wanted && !known && !p.inTheWay(name):
		return nil // somebody else's, and in nobody's way
	}
	is, err := p.node(name, e)
	if err != nil {
		return err
	}
	switch {
	case wanted && is == nodeOf(f):
		p.kept[name] = p.entry(is, p.disk[name])
		return nil
	case !e.ours(is):
		p.clashes = append(p.clashes, name)
	}
	if wanted {
		p.writes = append(p.writes, name)
	} else {
		p.removes = append(p.removes, name)
	}
	return nil
}

// inTheWay reports whether something of the view belongs where name stands: a
// directory at it, or a file above it.
func (p *plan) inTheWay(name string) bool {
	if _, wanted := p.want[name]; wanted {
		return true
	}
	for d := range above(name) {
		if f, wanted := p.want[d]; wanted {
			return !nodeOf(f).isDir()
		}
	}
	return false
}

// special is the mode of what git does not know.
const special = ^workspace.Mode(0)

// node returns what stands at a path, hashing it if the manifest does not tell.
func (p *plan) node(name string, e entry) (node, error) {
	info := p.disk[name]
	if p.old.untouched(e, info) {
		return e.node, nil
	}
	n := node{Mode: special}
	var content []byte
	var err error
	switch {
	case info.Mode().IsRegular():
		n.Mode = fileMode(info)
		content, err = p.root.ReadFile(name)
	case info.Mode()&fs.ModeSymlink != 0:
		n.Mode = workspace.ModeSymlink
		var target string
		target, err = p.root.Readlink(name)
		content = []byte(target)
	default:
		return n, nil
	}
	if err == nil {
		n.OID, err = workspace.BlobID(content)
	}
	return n, err
}

// entry is what the manifest notes of a path as it is on disk.
func (p *plan) entry(n node, info fs.FileInfo) entry {
	if !info.Mode().IsRegular() {
		return entry{node: n}
	}
	return entry{node: n, Size: info.Size(), Modified: info.ModTime().UTC()}
}
