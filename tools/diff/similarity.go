package diff

import (
	"cmp"
	"slices"
)

// fingerprint is the parts of a content: its lines, in pieces of at most 64
// bytes, as git's diffcore-delta takes them apart.
type fingerprint struct {
	size  int
	parts []part // sorted by hash, each hash once
}

// part is all the pieces with one hash.
type part struct {
	hash uint64
	size int // of all together
}

// newFingerprint takes a content apart. In text, CRLF counts as LF.
func newFingerprint(content []byte) *fingerprint {
	const (
		longest       = 64
		offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	)
	f := &fingerprint{size: len(content)}
	text := !isBinary(content)
	p := part{hash: offset}
	for i, c := range content {
		if text && c == '\r' && i+1 < len(content) && content[i+1] == '\n' {
			continue
		}
		p.hash = (p.hash ^ uint64(c)) * prime
		if p.size++; p.size == longest || c == '\n' {
			f.parts = append(f.parts, p)
			p = part{hash: offset}
		}
	}
	if p.size > 0 {
		f.parts = append(f.parts, p)
	}
	f.merge()
	return f
}

// merge sorts the parts and puts equal ones together.
func (f *fingerprint) merge() {
	slices.SortFunc(f.parts, func(a, b part) int { return cmp.Compare(a.hash, b.hash) })
	kept := f.parts[:0]
	for _, p := range f.parts {
		if last := len(kept) - 1; last >= 0 && kept[last].hash == p.hash {
			kept[last].size += p.size
		} else {
			kept = append(kept, p)
		}
	}
	f.parts = slices.Clip(kept)
}

// score returns how much of the larger of two contents is common to both, out of
// maxScore, or 0 if the sizes alone make it less than least.
func (f *fingerprint) score(g *fingerprint, least int) int {
	larger, smaller := max(f.size, g.size), min(f.size, g.size)
	if smaller == 0 || larger*(maxScore-least) < (larger-smaller)*maxScore {
		return 0
	}
	common, a, b := 0, f.parts, g.parts
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Compare(a[0].hash, b[0].hash); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			common += min(a[0].size, b[0].size)
			a, b = a[1:], b[1:]
		}
	}
	return common * maxScore / larger
}
