package object

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"carrel.dev/workspace"
	"github.com/klauspost/compress/zlib"
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
		trees:     newLRU[workspace.OID, *Tree](cache/4, byID),
		flats:     newLRU[flatKey, *Flat](cache/4, func(k flatKey) uint8 { return byID(k.id) }),
		blobs:     newLRU[workspace.OID, []byte](cache/4, byID),
		commits:   newLRU[commitKey, *Commit](cache/16, func(k commitKey) uint8 { return byID(k.id) }),
		bases:     newLRU[baseKey, base](cache*3/16, func(k baseKey) uint8 { return uint8(k.offset ^ k.offset>>8) }),
		maxObject: maxObject,
	}
}

// inflater is a zlib reader with its source, to be used again.
type inflater struct {
	src bytes.Reader
	z   io.ReadCloser
}

// reset points the inflater at a zlib stream.
func (f *inflater) reset(src []byte) (err error) {
	f.src.Reset(src)
	if f.z == nil {
		f.z, err = zlib.NewReader(&f.src)
		return err
	}
	return f.z.(zlib.Resetter).Reset(&f.src, nil)
}

func (p *Pool) inflater() *inflater {
	if f, ok := p.inflaters.Get().(*inflater); ok {
		return f
	}
	return &inflater{}
}

// errDeflate is a zlib stream that does not hold what its header says.
var errDeflate = errors.New("compressed data is damaged")

// deflateRatio is how far deflate can shrink data at most: a header that
// promises more than this of what follows it lies.
const deflateRatio = 1032

// inflate returns the size bytes that the zlib stream at the start of src holds,
// neither more nor less.
func (p *Pool) inflate(src []byte, size uint64) ([]byte, error) {
	if size > deflateRatio*uint64(len(src)) {
		return nil, errDeflate
	}
	if size > uint64(p.maxObject) {
		return nil, tooLarge(size)
	}
	f := p.inflater()
	defer p.inflaters.Put(f)
	if err := f.reset(src); err != nil {
		return nil, errDeflate
	}
	return readExactly(f.z, nil, size)
}

// readExactly reads what is left of a content of size bytes of which it has the
// beginning. It takes memory as data arrives, so that a lying size costs little.
func readExactly(r io.Reader, beginning []byte, size uint64) ([]byte, error) {
	const step = 1 << 20
	buf := make([]byte, len(beginning), max(min(size, step), uint64(len(beginning)))+1)
	copy(buf, beginning)
	for {
		// One byte of room more than size: the end must come where it belongs.
		room := buf[len(buf):min(uint64(cap(buf)), size+1)]
		n, err := r.Read(room)
		buf = buf[:len(buf)+n]
		switch {
		case uint64(len(buf)) > size, err != nil && err != io.EOF:
			return nil, errDeflate
		case err == io.EOF && uint64(len(buf)) < size:
			return nil, errDeflate
		case err == io.EOF:
			return buf[:size:size], nil
		case len(buf) == cap(buf):
			grown := make([]byte, len(buf), min(uint64(2*cap(buf)), size+1))
			copy(grown, buf)
			buf = grown
		}
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
