package object

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// removal is the end of packs that are needless.
type removal struct {
	packs  string // their directory
	watch  *watch
	hidden map[string]string // packs by the new names of their indexes
}

// remove removes needless packs and returns how many. None goes while git walks
// all packs here: it would find one gone that it has listed. That is certain even
// for a git that starts now: see hide. What cannot be replaced is not needless.
func (v *survey) remove(c *Consolidation, w *watch) (removed int, err error) {
	r := &removal{packs: filepath.Join(v.Store.dir, "pack"), watch: w, hidden: map[string]string{}}
	r.removeHalves(v.dir)
	if len(v.needless) == 0 || v.claimed() {
		return 0, nil
	}
	if used, err := w.walked(v.Store.dir, v.dir.suffix); err != nil || used {
		return 0, nil // before anything is read, since this may last for hours
	}
	v.needless = slices.DeleteFunc(v.needless, func(n needless) bool { return n.by != nil && !v.replaces(n.by, n.ownPack) })
	todo := slices.DeleteFunc(slices.Clone(v.needless), func(n needless) bool { return n.by == nil })
	const tries = 10
	for range tries {
		if len(todo) == 0 || v.claimed() {
			break
		}
		// Who has listed the packs before is found among the processes, who does
		// later is told of.
		if _, err := w.listed(); err != nil {
			break
		}
		if used, err := w.walked(v.Store.dir, v.dir.suffix); err != nil || used {
			break
		}
		todo = r.hide(v.unclaimed(todo))
	}
	if len(r.hidden) == 0 {
		return 0, nil
	}
	if err := c.Hidden(); err != nil {
		return 0, err
	}
	for index, pack := range r.hidden {
		os.Remove(pack)
		os.Remove(index)
	}
	return len(r.hidden), nil
}

// replaces reports whether a pack is on disk and has each object of another one
// whole. It is made as new as that one: the time of a pack protects what no ref
// leads to from git prune.
func (v *survey) replaces(by, old *ownPack) bool {
	for _, id := range old.ids {
		offset, ok, err := by.find(id)
		if err != nil || !ok {
			return false
		}
		t, content, err := by.read(v.pool, offset)
		if err != nil || v.pool.Verify(id, t, content) != nil {
			return false
		}
	}
	if _, err := os.Stat(by.path); err != nil {
		return false
	}
	stays, err := os.Stat(packPath(by.path))
	if err != nil {
		return false
	}
	goes, err := os.Stat(packPath(old.path))
	if err == nil && goes.ModTime().After(stays.ModTime()) {
		err = os.Chtimes(packPath(by.path), goes.ModTime(), goes.ModTime())
	}
	return err == nil
}

// unclaimed returns those that are as needless as when they were looked at. A git
// may have been at work since and be gone: then an index of its own may lead to
// some, or what replaces one may not be there any more.
func (v *survey) unclaimed(packs []needless) []needless {
	named := v.namedByGit()
	var free []needless
	for _, n := range packs {
		_, err := os.Lstat(strings.TrimSuffix(packPath(n.path), ".pack") + ".keep")
		if errors.Is(err, fs.ErrNotExist) && !bytes.Contains(named, []byte(n.name)) && n.by.onDisk() {
			free = append(free, n)
		}
	}
	return free
}

// onDisk reports whether both files of a pack have their names.
func (o *ownPack) onDisk() bool {
	_, err := os.Stat(o.path)
	if err == nil {
		_, err = os.Stat(packPath(o.path))
	}
	return err == nil
}

// hide takes the names of indexes away, which is what makes packs known, until
// somebody lists the directory. Whoever did so before a name went has been told of
// after it went: then the name is put back, long before its turn to be opened
// comes. It returns the packs that are left.
func (r *removal) hide(todo []needless) (left []needless) {
	for i, o := range todo {
		away := filepath.Join(r.packs, hiddenPrefix+o.name)
		if os.Rename(o.path, away) != nil {
			continue // git has removed it, or nobody may
		}
		if listed, err := r.watch.listed(); listed || err != nil {
			os.Rename(away, o.path)
			return todo[i:]
		}
		r.hidden[away] = packPath(o.path)
	}
	return nil
}

// hiddenPrefix begins the names of indexes on their way out, and is one that git
// prune clears away.
const hiddenPrefix = "tmp_carrel_"

const (
	// abandoned is the age from which on git takes a lock of its maintenance for
	// left behind.
	abandoned = 12 * time.Hour
	// growing is the age of a temporary file that somebody still writes.
	growing = 10 * time.Minute
	// half is the age at which a pack without an index, or the reverse, is not
	// about to be completed or removed any more.
	half = time.Hour
)

// claimed reports whether git's maintenance says, by a file, that it is at work;
// this may be on another machine.
func (v *survey) claimed() bool {
	lock := filepath.Join(filepath.Dir(v.Store.dir), "gc.pid")
	if younger(lock, abandoned) {
		text, _ := os.ReadFile(lock)
		var pid int
		var host string
		fmt.Sscanf(string(text), "%d %s", &pid, &host)
		here, _ := os.Hostname()
		if host != here || syscall.Kill(pid, 0) != syscall.ESRCH {
			return true
		}
	}
	packs := filepath.Join(v.Store.dir, "pack")
	if younger(filepath.Join(v.Store.dir, "maintenance.lock"), abandoned) ||
		younger(filepath.Join(packs, "multi-pack-index.lock"), abandoned) {
		return true
	}
	dir, err := readPackDir(packs)
	if err != nil {
		return true
	}
	for _, name := range dir.names {
		writing := strings.HasPrefix(name, "tmp_pack_") || strings.HasPrefix(name, "tmp_idx_") || strings.HasPrefix(name, ".tmp-")
		if writing && younger(filepath.Join(packs, name), growing) {
			return true
		}
	}
	return false
}

// younger reports whether there is a file that was written less than an age ago.
func younger(name string, age time.Duration) bool {
	info, err := os.Lstat(name)
	return err == nil && time.Since(info.ModTime()) < age
}

// removeHalves removes own packs and indexes that have lost the other, and hidden
// indexes, which a crash leaves: nobody can see what is in them.
func (r *removal) removeHalves(dir *packDir) {
	for _, name := range dir.names {
		path := filepath.Join(r.packs, name)
		if strings.HasPrefix(name, hiddenPrefix) && !younger(path, half) {
			os.Remove(path)
		}
	}
	for name, suffixes := range dir.suffix {
		if len(suffixes) != 1 || len(name) != packNameSize {
			continue
		}
		path := filepath.Join(r.packs, name+suffixes[0])
		sum, err := packSum(path)
		if err == nil && isOwn(name, sum) && !younger(path, half) {
			os.Remove(path)
		}
	}
}

// packSum reads the checksum of a pack out of it or its index.
func packSum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at := info.Size() - int64(idSize)
	if filepath.Ext(path) == ".idx" {
		at -= int64(idSize)
	}
	sum := make([]byte, idSize)
	_, err = f.ReadAt(sum, at)
	return sum, err
}
