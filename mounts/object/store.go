package object

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
)

// Store is the objects of one repository. It is safe for concurrent use.
type Store struct {
	dir  string
	pool *Pool

	mu       sync.Mutex   // held while the files are listed
	listings atomic.Int64 // how many listings have begun
	set      atomic.Pointer[files]
	hit      atomic.Pointer[pack] // where the last object was, as git does
	// unmoved has the paths of packs that were written by this store, and whether
	// no ref was moved to them.
	unmoved sync.Map
}

// Open returns the objects below an objects directory. Its packs are found when
// they are first needed.
func Open(dir string, pool *Pool) *Store {
	return &Store{dir: dir, pool: pool}
}

// Read returns an object, verified. The content is shared: the caller does not
// modify it. NotExist if no file has the object, Corrupt if none has it whole,
// Limit if it is too large.
func (s *Store) Read(id workspace.OID) (t Type, content []byte, err error) {
	err = s.search(id, func(c candidate) error {
		t, content, err = c.read(s.pool)
		if err == nil && !c.isSound() {
			if err = s.pool.Verify(id, t, content); err == nil {
				c.setSound()
			}
		}
		return err
	})
	return t, content, err
}

// Stat returns an object's type and size without reading all of it. Neither is
// verified.
func (s *Store) Stat(id workspace.OID) (t Type, size int64, err error) {
	err = s.search(id, func(c candidate) error {
		var n uint64
		t, n, err = c.stat(s.pool)
		if err == nil && n > uint64(s.pool.maxObject) {
			err = tooLarge(n)
		}
		size = int64(n)
		return err
	})
	return t, size, err
}

// Has reports whether some file claims to have the object.
func (s *Store) Has(id workspace.OID) (bool, error) {
	err := s.search(id, candidate.present)
	if workspace.KindOf(err) == workspace.NotExist {
		return false, nil
	}
	return err == nil, err
}

// candidate is one copy of an object: in a pack, or in a file of its own.
type candidate struct {
	pack   *pack
	number int // of the object in the pack's index
	offset uint64
	loose  string
}

// isSound reports whether this copy was found to be what its id says. What is
// decompressed still has its own checksum.
func (c candidate) isSound() bool {
	return c.pack != nil && c.pack.sound[c.number/32].Load()&(1<<(c.number%32)) != 0
}

func (c candidate) setSound() {
	if c.pack != nil {
		c.pack.sound[c.number/32].Or(1 << (c.number % 32))
	}
}

func (c candidate) read(pool *Pool) (Type, []byte, error) {
	if c.pack != nil {
		return c.pack.read(pool, c.offset)
	}
	return readLoose(pool, c.loose)
}

func (c candidate) present() error {
	if c.pack != nil {
		return nil
	}
	_, err := os.Lstat(c.loose)
	return err
}

func (c candidate) stat(pool *Pool) (Type, uint64, error) {
	if c.pack != nil {
		return c.pack.stat(pool, c.offset)
	}
	return statLoose(pool, c.loose)
}

// search tries use on each copy of an object until one succeeds. If none does,
// the files are listed again, in case somebody repacked or fetched, until a list
// shows nothing new.
func (s *Store) search(id workspace.OID, use func(candidate) error) error {
	set, err := s.files()
	if err != nil {
		return err
	}
	for {
		err := s.searchIn(set, id, use)
		if err == nil || workspace.KindOf(err) == workspace.Limit {
			return err
		}
		fresh, listErr := s.relist()
		if listErr != nil {
			return listErr
		}
		if fresh == set {
			return err
		}
		set = fresh
	}
}

// searchIn is search in one list of files. The first failure of a copy is worth
// more than the absence of others.
func (s *Store) searchIn(set *files, id workspace.OID, use func(candidate) error) error {
	var failure error
	try := func(c candidate) bool {
		err := use(c)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && failure == nil {
			failure = classify(id, err)
		}
		return err == nil
	}
	if s.inPacks(set, id, try) {
		return nil
	}
	for _, dir := range set.dirs {
		if try(candidate{loose: loosePath(dir, id)}) {
			return nil
		}
	}
	switch {
	case failure != nil:
		return failure
	case len(set.damaged) > 0:
		return corruptf("object %s is not in the repository, of which %s is damaged", id, set.damaged[0])
	}
	return missing(id)
}

// inPacks tries each pack that has the object, the one that had the last first.
func (s *Store) inPacks(set *files, id workspace.OID, try func(candidate) bool) bool {
	in := func(p *pack) bool {
		c, ok, err := p.locate(id)
		if err != nil || !ok || !try(c) {
			return false
		}
		s.hit.Store(p)
		return true
	}
	first := s.hit.Load()
	if set.has(first) && in(first) {
		return true
	}
	for _, p := range set.order {
		if p != first && in(p) {
			return true
		}
	}
	return false
}

// classify gives the failure of one copy of an object its kind.
func classify(id workspace.OID, err error) error {
	var typed *workspace.Error
	switch {
	case errors.As(err, &typed):
		return err
	case errors.Is(err, errDeflate), errors.Is(err, errDelta), errors.Is(err, errPack):
		return corruptf("object %s: %w", id, err)
	}
	return unavailable(err)
}

// unavailable is a repository that cannot be read now. The cause may name a file
// of the host, and stays out of the message.
func unavailable(err error) error {
	return workspace.Errorf(workspace.Unavailable, "the repository's objects cannot be used: %w", durable.Cause(err)).
		Hinted("%s", durable.Hint(err))
}
