package object

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"

	"carrel.dev/workspace"
)

// span is where in a pack an object is, header and compressed content.
type span struct {
	id          workspace.OID
	offset, end uint64
}

// spans returns the objects in the order in which they lie in the pack.
func (o *ownPack) spans() (all []span, err error) {
	defer o.caught(debug.SetPanicOnFault(true), &err)
	for i, id := range o.ids {
		all = append(all, span{id: id, offset: o.index.offset(i)})
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.offset, b.offset) })
	end := uint64(len(o.data))
	for i := len(all) - 1; i >= 0; i-- {
		all[i].end, end = end, all[i].offset
	}
	return all, nil
}

// use calls a function with what a span holds, which it does not keep.
func (p *pack) use(s span, f func(raw []byte) error) (err error) {
	defer p.caught(debug.SetPanicOnFault(true), &err)
	if s.offset >= s.end || s.end > uint64(len(p.data)) {
		return errPack
	}
	return f(p.data[s.offset:s.end])
}

// check fails unless a span holds the object of its id, whole and nothing else.
func (p *pack) check(pool *Pool, s span) error {
	return p.use(s, func(raw []byte) error {
		e, err := p.entry(s.offset)
		if err != nil {
			return err
		}
		head := len(p.data) - len(e.body) - int(s.offset)
		if head > len(raw) || e.typ == ofsDelta || e.typ == refDelta {
			return errPack
		}
		body := raw[head:]
		content, taken, err := pool.measured(body, e.size)
		if err == nil && taken < len(body) {
			err = errDeflate
		}
		if err != nil {
			return err
		}
		return pool.Verify(s.id, e.typ, content)
	})
}

// found is an object to copy.
type found struct {
	*pack
	span
}

// collect returns the objects of packs that can be read, each once, and how many
// packs have no others.
func (s *Store) collect(ctx context.Context, packs []*ownPack) (objects []found, whole int, err error) {
	seen := map[workspace.OID]bool{}
	for _, p := range packs {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		spans, err := p.spans()
		for _, sp := range spans {
			if seen[sp.id] {
				continue
			}
			if e := p.check(s.pool, sp); e != nil {
				err = e
				continue
			}
			seen[sp.id] = true
			objects = append(objects, found{p.pack, sp})
		}
		if err == nil {
			whole++
		}
	}
	return objects, whole, nil
}

// fold writes a pack of all objects of others, as these have them, compressed.
// Nothing is written unless it takes the place of at least two. An object that is
// damaged stays where it is, and so does its pack.
func (s *Store) fold(ctx context.Context, w *Writer, packs []*ownPack) (done int, err error) {
	objects, whole, err := s.collect(ctx, packs)
	if err != nil || whole < 2 {
		return 0, err
	}
	b := s.newBatch(w)
	if err := b.copy(objects); err != nil {
		if !w.Stopped(err) {
			b.discard()
		}
		return 0, err
	}
	return whole, nil
}

// copy writes the objects as one pack.
func (b *batch) copy(objects []found) error {
	w, err := b.startPack(len(objects))
	if err != nil {
		return err
	}
	defer b.store.pool.release(w.deflater)
	for _, o := range objects {
		err := o.use(o.span, func(raw []byte) error { return w.copy(o.id, raw) })
		if err != nil {
			return unavailable(err)
		}
	}
	return b.endPack(w)
}
