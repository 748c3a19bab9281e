package object

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"carrel.dev/workspace"
)

// The name of a pack that was written here is as long as git's and begins with
// as many random digits.
const (
	packPrefix   = "pack-"
	randomDigits = idSize
	packNameSize = len(packPrefix) + 2*idSize
)

// packName returns a name that no pack ever had, since by its name git removes a
// pack, and by which isOwn knows it again. sum is the pack's checksum.
func packName(sum []byte) string {
	var id [randomDigits / 2]byte
	rand.Read(id[:])
	random := hex.EncodeToString(id[:])
	return packPrefix + random + packMark(random, sum)
}

// packMark ends a pack's name.
func packMark(random string, sum []byte) string {
	mark := sha256.Sum256(append([]byte("carrel "+random+" "), sum...))
	return hex.EncodeToString(mark[:])[:2*idSize-randomDigits]
}

// isOwn reports whether a pack of a name and a checksum was written here, by
// whatever process.
func isOwn(name string, sum []byte) bool {
	if len(name) != packNameSize || !strings.HasPrefix(name, packPrefix) {
		return false
	}
	digits := name[len(packPrefix):]
	return digits[randomDigits:] == packMark(digits[:randomDigits], sum)
}

// isOwn reports whether the pack was written here.
func (p *pack) isOwn() (own bool, err error) {
	defer p.caught(debug.SetPanicOnFault(true), &err)
	return isOwn(packBase(p.path), p.index.sum), nil
}

// packBase is the name that the files of a pack have in common.
func packBase(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// ownPack is a pack that was written here and that no commit needs protected.
type ownPack struct {
	*pack
	name string // without a suffix
	born time.Time
	size int64
	ids  []workspace.OID
}

// packDir is what is in a directory of packs.
type packDir struct {
	names  []string            // all, sorted
	suffix map[string][]string // of the packs' files, by pack
}

func readPackDir(dir string) (*packDir, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	d := &packDir{suffix: map[string][]string{}}
	for _, e := range entries {
		d.names = append(d.names, e.Name())
		if ext := filepath.Ext(e.Name()); strings.HasPrefix(e.Name(), packPrefix) {
			name := strings.TrimSuffix(e.Name(), ext)
			d.suffix[name] = append(d.suffix[name], ext)
		}
	}
	return d, nil
}

// plain reports whether a pack has its two files and no other, such as a .keep.
func (d *packDir) plain(name string) bool {
	return slices.Equal(d.suffix[name], []string{".idx", ".pack"})
}

// ownPacks returns the own packs of a list, those with the fewest objects first.
// dir was read after the list was made: a pack that is complete in the one has its
// .keep file in the other if a commit needs it. Packs that the multi-pack index or
// info/packs names are git's by now.
func (s *Store) ownPacks(set *files, dir *packDir) []*ownPack {
	named := s.namedByGit()
	var own []*ownPack
	for _, p := range set.order {
		name := packBase(p.path)
		if filepath.Dir(p.path) != filepath.Join(s.dir, "pack") ||
			!dir.plain(name) || bytes.Contains(named, []byte(name)) {
			continue
		}
		if yes, err := p.isOwn(); err != nil || !yes {
			continue
		}
		o := &ownPack{pack: p, name: name, size: p.file.Size()}
		info, err := os.Stat(p.path)
		if err != nil || o.load() != nil {
			continue
		}
		o.born = info.ModTime() // of the index: to use an object touches the pack
		own = append(own, o)
	}
	slices.SortFunc(own, func(a, b *ownPack) int {
		return cmp.Or(cmp.Compare(len(a.ids), len(b.ids)), cmp.Compare(a.name, b.name))
	})
	return own
}

// namedByGit returns the texts in which git keeps names of packs.
func (s *Store) namedByGit() (text []byte) {
	for _, list := range []string{"pack/multi-pack-index", "info/packs"} {
		names, _ := os.ReadFile(filepath.Join(s.dir, list))
		text = append(text, names...)
	}
	return text
}

// load reads the ids.
func (o *ownPack) load() (err error) {
	defer o.caught(debug.SetPanicOnFault(true), &err)
	n, _ := o.index.count()
	o.ids = make([]workspace.OID, n)
	for i := range o.ids {
		end := (i + 1) * o.index.stride
		o.ids[i] = workspace.OID(o.index.names[end-idSize : end])
	}
	return nil
}

// covers reports whether a pack has all objects of another.
func (o *ownPack) covers(other *ownPack) bool {
	for _, id := range other.ids {
		if _, ok, err := o.find(id); err != nil || !ok {
			return false
		}
	}
	return true
}
