package object

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Consolidation says how Consolidate treats the packs that Write has made. The
// zero value of a number means its default. Its Writer has no Keep.
type Consolidation struct {
	*Writer
	// From is how many packs make it worth while to fold them.
	From int
	// Grace is how long a pack whose objects another one has stays beside it.
	Grace time.Duration
	// Hidden is called when packs are about to be removed and have no index any
	// more, as Writer.Written is.
	Hidden func() error
}

// Defaults of Consolidation.
const (
	DefaultFrom  = 50
	DefaultGrace = 5 * time.Second
)

// smallPack is the size in bytes from which on a pack is not folded again.
const smallPack = 64 << 20

// Consolidated is what a call of Consolidate did, in numbers of packs.
type Consolidated struct {
	Folded, Removed int
	// Waiting are those that another one makes needless and that were not yet
	// removed, and Again is when to try, zero if there are none.
	Waiting int
	Again   time.Duration
}

// Consolidate folds the small packs that commits have left into one, once there
// are many, since whoever looks for an object looks into each. It loses nothing:
// a pack is removed when another one, on disk for the grace, is found to have each
// of its objects whole.
//
// It touches only packs that were written here and that neither a commit in
// progress nor git has a claim on. It leaves the packs that commits have written
// in the meantime to the next call, and does nothing if another process is at it.
// Where it cannot be known who uses packs, as on other systems than Linux, it does
// nothing either, and returns errors.ErrUnsupported.
func (s *Store) Consolidate(ctx context.Context, c *Consolidation) (done Consolidated, err error) {
	packs := filepath.Join(s.dir, "pack")
	w, err := newWatch(packs)
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil
	}
	if err != nil {
		return done, err
	}
	defer w.close()
	lock, err := os.Open(packs)
	if err != nil {
		return done, unavailable(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = nil
		}
		return done, err
	}
	v, err := s.survey(cmp.Or(c.Grace, DefaultGrace))
	if err != nil {
		return done, err
	}
	if done.Removed, err = v.remove(c, w); err != nil {
		return done, err
	}
	if fold := v.fold(cmp.Or(c.From, DefaultFrom)); len(fold) > 0 {
		if done.Folded, err = s.fold(ctx, c.Writer, fold); err != nil {
			return done, err
		}
	}
	if done.Waiting = len(v.needless) - done.Removed + done.Folded; done.Waiting > 0 {
		done.Again = max(v.grace, 10*time.Millisecond)
	}
	if done.Removed+done.Folded > 0 {
		_, err = s.relist() // lets go of what was removed
	}
	return done, err
}

// survey is what there is to consolidate.
type survey struct {
	*Store
	grace    time.Duration
	dir      *packDir
	needless []needless
	needed   []*ownPack // the others, the smallest first
}

// needless is a pack whose objects another one has.
type needless struct {
	*ownPack
	by *ownPack // nil if none has had them for the grace
}

func (s *Store) survey(grace time.Duration) (*survey, error) {
	set, err := s.relist()
	if err != nil {
		return nil, err
	}
	v := &survey{Store: s, grace: grace}
	if v.dir, err = readPackDir(filepath.Join(s.dir, "pack")); err != nil {
		return nil, unavailable(err)
	}
	own := s.ownPacks(set, v.dir)
	now := time.Now()
	for i, o := range own {
		// The largest first: if what covers this pack is needless as well, then
		// because of one that covers both.
		covered := false
		var by *ownPack
		for j := len(own) - 1; j > i && by == nil; j-- {
			if covered && now.Sub(own[j].born) < grace || !own[j].covers(o) {
				continue
			}
			covered = true
			if now.Sub(own[j].born) >= grace {
				by = own[j]
			}
		}
		if covered {
			v.needless = append(v.needless, needless{o, by})
		} else {
			v.needed = append(v.needed, o)
		}
	}
	return v, nil
}

// fold returns the packs to fold now.
func (v *survey) fold(from int) []*ownPack {
	var small []*ownPack
	for _, o := range v.needed {
		if o.size < smallPack {
			small = append(small, o)
		}
	}
	if len(small) < from {
		return nil
	}
	slices.SortFunc(small, func(a, b *ownPack) int { return cmp.Compare(a.size, b.size) })
	sizes := make([]int64, len(small))
	for i, o := range small {
		sizes[i] = o.size
	}
	return small[:foldable(sizes)]
}

// foldable returns how many of packs of these sizes, the smallest first, are to be
// folded so that each of the others is larger than all smaller ones together, as
// git repack --geometric has it: then a byte is copied as often as the whole
// doubles.
func foldable(sizes []int64) (n int) {
	var sum int64
	for i, size := range sizes {
		if size <= sum {
			n = i + 1
		}
		sum += size
	}
	return n
}

// Packs returns how many packs there were when they were last listed.
func (s *Store) Packs() int {
	if set := s.set.Load(); set != nil {
		return len(set.order)
	}
	return 0
}
