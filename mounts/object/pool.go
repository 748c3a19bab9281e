package object

import (
	"sync"
	"sync/atomic"

	"carrel.dev/workspace"
	"github.com/pjbgf/sha1cd"
)

// Pool is what the stores of one process share. It is safe for concurrent use.
type Pool struct {
	trees   *lru[workspace.OID, *Tree]
	flats   *lru[flatKey, *Flat]
	blobs   *lru[workspace.OID, []byte]
	commits *lru[commitKey, *Commit]
	bases   *lru[baseKey, base]

	maxObject int64
	inflaters sync.Pool     // of *inflater
	deflaters sync.Pool     // of *deflater
	hashers   sync.Pool     // of sha1cd.CollisionResistantHash
	packs     atomic.Uint64 // the number of the newest pack
}

// Commits are cached for the store that has them, unlike trees and blobs: to
// have a commit is to have it in this repository.
type commitKey struct {
	store *Store
	id    workspace.OID
}

// A base is an object that deltas build on, by its place in a pack.
type baseKey struct {
	pack   uint64
	offset uint64
}

type base struct {
	typ     Type
	content []byte
}

// Defaults of NewPool.
const (
	DefaultCache     = 128 << 20
	DefaultMaxObject = 1 << 30
)

// NewPool makes a pool whose caches hold about cache bytes and whose stores
// refuse, as Limit, to read an object larger than maxObject bytes. Zero means
// the default.
func NewPool(cache, maxObject int64) *Pool {
	if cache == 0 {
		cache = DefaultCache
	}
	if maxObject == 0 {
		maxObject = DefaultMaxObject
	}
	byID := func(id workspace.OID) uint8 { return id[len(id)-1] }
	return &Pool{
		trees:     newLRU[workspace.OID, *Tree](cache*2/16, byID),
		flats:     newLRU[flatKey, *Flat](cache*3/16, func(k flatKey) uint8 { return byID(k.id) }),
		blobs:     newLRU[workspace.OID, []byte](cache*5/16, byID),
		bases:     newLRU[baseKey, base](cache*5/16, func(k baseKey) uint8 { return uint8(k.offset ^ k.offset>>8) }),
		commits:   newLRU[commitKey, *Commit](cache*1/16, func(k commitKey) uint8 { return byID(k.id) }),
		maxObject: maxObject,
	}
}

func tooLarge(size uint64) error {
	return workspace.Errorf(workspace.Limit, "an object of %d bytes is larger than this server reads", size)
}

// ID returns the id of an object, or Invalid if the content carries a SHA-1
// collision attack.
func (p *Pool) ID(t Type, content []byte) (workspace.OID, error) {
	h, ok := p.hashers.Get().(sha1cd.CollisionResistantHash)
	if !ok {
		h = sha1cd.New().(sha1cd.CollisionResistantHash)
	}
	defer p.hashers.Put(h)
	h.Reset()
	h.Write(header(t, len(content)))
	h.Write(content)
	var id workspace.OID
	sum, collision := h.CollisionResistantSum(nil)
	if collision {
		return id, workspace.Errorf(workspace.Invalid, "the %s carries a SHA-1 collision attack", t)
	}
	copy(id[:], sum)
	return id, nil
}

// Verify reports, as Corrupt, content that is not the object of an id.
func (p *Pool) Verify(id workspace.OID, t Type, content []byte) error {
	got, err := p.ID(t, content)
	if err != nil {
		return err
	}
	if got != id {
		return corruptf("%s %s has other content, of id %s", t, id, got)
	}
	return nil
}
