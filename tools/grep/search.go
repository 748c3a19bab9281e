package grep

import (
	"bytes"
	"context"
)

// hit is a line that matches: content[start:end] without its ending, where the
// match starts, or -1 if that is not known yet, and where the next line starts.
type hit struct{ start, end, from, next int }

// search is one pass over one content.
type search struct {
	m       *Matcher
	content []byte
	finder  *finder // nil if there is nothing to look for first
	dfa     *dfa
}

func (m *Matcher) begin(content []byte) *search {
	s, _ := m.pool.Get().(*search)
	if s == nil {
		s = &search{m: m, dfa: newDFA(m.program)}
	}
	s.content = content
	if m.needed != nil && !m.needed.confusedBy(content) {
		if s.finder == nil {
			s.finder = newFinder(m.needed)
		}
		s.finder.reset(content)
	} else {
		s.finder = nil
	}
	return s
}

func (s *search) end() {
	s.content = nil
	if s.finder != nil {
		s.finder.reset(nil)
	}
	s.m.pool.Put(s)
}

// next returns the first matching line at or after the one that starts at pos.
func (s *search) next(ctx context.Context, pos int) (h hit, ok bool, err error) {
	if s.finder == nil {
		at, err := s.dfa.find(ctx, s.content, pos)
		if at < 0 {
			return hit{}, false, err
		}
		return s.line(at), true, ctx.Err()
	}
	for pos < len(s.content) && ctx.Err() == nil {
		at := s.finder.find(pos)
		if at < 0 {
			return hit{}, false, nil
		}
		h := s.line(at)
		if ok, err := s.verify(ctx, &h, at); ok || err != nil {
			return h, ok, err
		}
		pos = h.next
	}
	return hit{}, false, ctx.Err()
}

// verify decides whether a line that has a needle matches.
func (s *search) verify(ctx context.Context, h *hit, at int) (bool, error) {
	if s.m.whole {
		h.from = at
		return at+len(s.m.needed.list[0]) <= h.end, nil
	}
	found, err := s.dfa.find(ctx, s.content[h.start:h.end], 0)
	return found >= 0, err
}

// locate returns where in its line a hit's match starts.
func (s *search) locate(h hit) int {
	if h.from < 0 {
		h.from = h.start + s.m.re.FindIndex(s.content[h.start:h.end])[0]
	}
	return h.from - h.start
}

// line returns the line around a position, which may be that of its ending.
func (s *search) line(at int) hit {
	h := hit{start: bytes.LastIndexByte(s.content[:at], '\n') + 1, end: len(s.content), from: -1, next: len(s.content)}
	if n := bytes.IndexByte(s.content[at:], '\n'); n >= 0 {
		h.end, h.next = at+n, at+n+1
		if h.end > h.start && s.content[h.end-1] == '\r' {
			h.end--
		}
	}
	return h
}
