package object

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// pack is a pack file with its index, both mapped. Its methods are safe for
// concurrent use. What they return never refers to the mapping.
type pack struct {
	number uint64 // unique in the process
	path   string // of the index
	file   fs.FileInfo
	data   []byte // without the checksum at the end
	index  *index
	// sound has a bit for each object, by its number in the index, that was read
	// and was what its id says. A pack never changes.
	sound []atomic.Uint32
}

// errPack is a pack that cannot be used as a whole, or an entry of one that
// cannot be read.
var errPack = errors.New("pack is damaged")

// maxChain bounds how many deltas an object may be made of; git writes at most
// 4,095. It ends cycles that a damaged pack may have.
const maxChain = 1 << 14

// openPack maps the pack of an .idx file. A fs.ErrNotExist means that git is
// about to complete or has just removed it.
func openPack(idxPath string, number uint64) (p *pack, err error) {
	p = &pack{number: number, path: idxPath}
	idx, _, err := mapFile(idxPath)
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(p, unmap, idx)
	data, info, err := mapFile(packPath(idxPath))
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(p, unmap, data)
	defer p.caught(debug.SetPanicOnFault(true), &err)
	if p.index, err = parseIndex(idx); err != nil {
		return nil, err
	}
	const head = 12
	if len(data) < head+idSize || string(data[:4]) != "PACK" {
		return nil, errPack
	}
	end := len(data) - idSize
	version := binary.BigEndian.Uint32(data[4:])
	n, _ := p.index.count()
	if version != 2 && version != 3 || int(binary.BigEndian.Uint32(data[8:])) != n ||
		string(data[end:]) != string(p.index.sum) {
		return nil, errPack
	}
	p.file, p.data = info, data[:end]
	p.sound = make([]atomic.Uint32, n/32+1)
	return p, nil
}

func packPath(index string) string { return strings.TrimSuffix(index, ".idx") + ".pack" }
func indexPath(pack string) string { return strings.TrimSuffix(pack, ".pack") + ".idx" }

// mapFile maps a file for reading. An empty one is errPack.
func mapFile(name string) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 || int64(int(info.Size())) != info.Size() {
		return nil, nil, errPack
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	return b, info, err
}

func unmap(b []byte) { unix.Munmap(b) }

// caught ends a method that touches the mapping. It turns a fault into an error,
// puts the goroutine's setting back, and keeps the mapping until here.
func (p *pack) caught(old bool, err *error) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		fault, ok := r.(interface {
			error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		*err = &workspace.Error{Kind: workspace.Unavailable, Err: fault,
			Hint: "A pack file was cut short, or its disk fails: run git fsck in the repository."}
	}
	runtime.KeepAlive(p)
}

// find returns where the object is.
func (p *pack) find(id workspace.OID) (offset uint64, ok bool, err error) {
	c, ok, err := p.locate(id)
	return c.offset, ok, err
}

// locate returns the pack's copy of an object.
func (p *pack) locate(id workspace.OID) (c candidate, ok bool, err error) {
	defer p.caught(debug.SetPanicOnFault(true), &err)
	i, ok := p.index.search(id)
	if ok {
		c = candidate{pack: p, number: i, offset: p.index.offset(i)}
	}
	return c, ok, nil
}

// entry is the header of an object in a pack.
type entry struct {
	typ  Type
	size uint64 // of what body inflates to
	base uint64 // for a delta, where its base is
	body []byte // compressed, followed by the rest of the pack
}

// entry decodes the header at an offset. The caller holds p.
func (p *pack) entry(offset uint64) (e entry, err error) {
	if offset >= uint64(len(p.data)) {
		return e, errPack
	}
	b := p.data[offset:]
	const typeBits, sizeBits = 4, 4
	first := b[0]
	e.typ = Type(first >> typeBits & 7)
	e.size = uint64(first & (1<<sizeBits - 1))
	n := 1
	for shift, c := sizeBits, first; c&0x80 != 0; shift += 7 {
		if n >= len(b) || shift > 60 {
			return e, errPack
		}
		c = b[n]
		e.size |= uint64(c&0x7f) << shift
		n++
	}
	e.body = b[n:]
	switch e.typ {
	case TypeCommit, TypeTree, TypeBlob, TypeTag:
		return e, nil
	case ofsDelta:
		return e, e.ofsBase(offset)
	case refDelta:
		return e, e.refBase(p.index)
	}
	return e, errPack
}

// ofsBase decodes a base that is named by its distance.
func (e *entry) ofsBase(offset uint64) error {
	var distance uint64
	for i, c := range e.body {
		if i > 8 {
			break
		}
		if i > 0 {
			distance++
		}
		distance = distance<<7 | uint64(c&0x7f)
		if c&0x80 != 0 {
			continue
		}
		if distance == 0 || distance > offset {
			break
		}
		e.base, e.body = offset-distance, e.body[i+1:]
		return nil
	}
	return errPack
}

// refBase decodes a base that is named by its id, which the same pack has.
func (e *entry) refBase(x *index) error {
	if len(e.body) < idSize {
		return errPack
	}
	base, ok := x.find(workspace.OID(e.body[:idSize]))
	if !ok {
		return errPack
	}
	e.base, e.body = base, e.body[idSize:]
	return nil
}

// read returns the object at an offset, not verified. The content may be shared.
func (p *pack) read(pool *Pool, offset uint64) (t Type, content []byte, err error) {
	defer p.caught(debug.SetPanicOnFault(true), &err)
	type link struct {
		offset uint64
		entry
	}
	var chain []link // the deltas on the way down
	var found base
	for at := offset; ; {
		if b, ok := pool.bases.get(baseKey{p.number, at}); ok {
			found = b
			break
		}
		e, err := p.entry(at)
		if err != nil || len(chain) > maxChain {
			return 0, nil, errPack
		}
		if e.typ == ofsDelta || e.typ == refDelta {
			chain = append(chain, link{at, e})
			at = e.base
			continue
		}
		found.typ = e.typ
		if found.content, err = pool.inflate(e.body, e.size); err != nil {
			return 0, nil, err
		}
		if len(chain) > 0 {
			pool.bases.add(baseKey{p.number, at}, found, int64(len(found.content)))
		}
		break
	}
	for i := len(chain) - 1; i >= 0; i-- {
		err := pool.inflateFor(chain[i].body, chain[i].size, func(delta []byte) error {
			if _, to, _, err := deltaSizes(delta); err == nil && to > uint64(pool.maxObject) {
				return tooLarge(to)
			}
			var err error
			found.content, err = applyDelta(found.content, delta)
			return err
		})
		if err != nil {
			return 0, nil, err
		}
		if i > 0 {
			pool.bases.add(baseKey{p.number, chain[i].offset}, found, int64(len(found.content)))
		}
	}
	return found.typ, found.content, nil
}

// stat returns the type and size of the object at an offset from headers alone.
func (p *pack) stat(pool *Pool, offset uint64) (t Type, size uint64, err error) {
	defer p.caught(debug.SetPanicOnFault(true), &err)
	e, err := p.entry(offset)
	if err != nil {
		return 0, 0, err
	}
	size = e.size
	if e.typ == ofsDelta || e.typ == refDelta {
		if size, err = pool.deltaResult(e.body); err != nil {
			return 0, 0, err
		}
	}
	for range maxChain {
		if e.typ != ofsDelta && e.typ != refDelta {
			return e.typ, size, nil
		}
		if e, err = p.entry(e.base); err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, errPack
}

// deltaResult returns the size of what a compressed delta makes.
func (p *Pool) deltaResult(body []byte) (uint64, error) {
	var start [2 * binary.MaxVarintLen64]byte
	_, to, _, err := deltaSizes(start[:p.inflateStart(start[:], body)])
	return to, err
}
