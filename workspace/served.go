package workspace

import (
	"maps"
	"sync"
	"unique"
)

// servedPaths is how many paths of a session are remembered at least.
const servedPaths = 10_000

// served remembers which version of a path each session of a workspace was last
// given. A first write takes that as its base, so that a write made from a stale
// read conflicts at commit. It is an observation, not state: a restart forgets
// it, and the lower of the moment takes its place.
type served struct {
	mu sync.Mutex
	// sessions by their names. What anybody was given is what the first one was, and
	// kept once, until there is another.
	sessions map[string]*servedSession
}

// servedSession keeps two generations, so that forgetting needs no order.
type servedSession struct{ young, old map[place]version }

// place is a path as it belongs to an owner. What somebody else has mounted there, or
// is granted there, is another one, and says nothing of this.
type place struct {
	path  Path
	owner unique.Handle[Owner] // of few owners there are many places
}

func placeOf(p Path, o Owner) place { return place{p, unique.Make(o)} }

// version is what a session was given of a path.
type version struct {
	Node
	// draft says that it was the upper's: it is no base for a write once it has
	// been taken away without being committed.
	draft bool
}

func (s *servedSession) get(p place) (version, bool) {
	b, ok := s.young[p]
	if !ok {
		b, ok = s.old[p]
	}
	return b, ok
}

func (s *servedSession) set(p place, v version) {
	if len(s.young) >= servedPaths {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[place]version{}
	}
	s.young[p] = v
}

// forget drops the drafts at and below a path.
func (s *servedSession) forget(within Path) {
	for _, m := range []map[place]version{s.young, s.old} {
		for p, v := range m {
			if v.draft && within.Contains(p.path) {
				delete(m, p)
			}
		}
	}
}

// committed makes a draft that was committed a version like others.
func (s *servedSession) committed(p place, n Node) {
	for _, m := range []map[place]version{s.young, s.old} {
		if v, ok := m[p]; ok && v.Node == n {
			m[p] = version{Node: n}
		}
	}
}

// anySession stands for the whole workspace.
const anySession = ""

// has reports whether anybody was given anything, and a session that goes on.
func (s *served) has() (anybody, sessions bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	anybody = s.sessions[anySession] != nil
	return anybody, len(s.sessions) > 1 || len(s.sessions) == 1 && !anybody
}

// last returns what a session was last given, else what anybody was.
func (s *served) last(session string, p place) (version, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{session, anySession} {
		if one := s.sessions[name]; one != nil {
			if b, ok := one.get(p); ok {
				return b, true
			}
		}
	}
	return version{}, false
}

// below returns what a session was last given of an owner below a directory, else
// what anybody was.
func (s *served) below(session string, dir place) map[Path]version {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[Path]version{}
	for _, name := range []string{anySession, session} { // the session's own last, to win
		if one := s.sessions[name]; one != nil {
			for _, generation := range []map[place]version{one.old, one.young} {
				for p, b := range generation {
					if p.owner == dir.owner && p.path.Below(dir.path) {
						found[p.path] = b
					}
				}
			}
		}
	}
	return found
}

// note remembers what a session was given.
func (s *served) note(session string, p place, v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, anybody := s.enter(session)
	anybody.set(p, v)
	if own != anybody {
		own.set(p, v)
	}
}

// enter returns what a session was given, and what anybody was, of which both are
// known from now on.
func (s *served) enter(session string) (own, anybody *servedSession) {
	anybody = s.sessions[anySession]
	if anybody == nil {
		anybody = &servedSession{}
		s.sessions = map[string]*servedSession{anySession: anybody, session: anybody}
	}
	if own = s.sessions[session]; own == nil || session == anySession {
		for name, first := range s.sessions {
			if first == anybody && name != anySession {
				s.sessions[name] = &servedSession{maps.Clone(first.young), maps.Clone(first.old)}
			}
		}
	}
	if own == nil {
		own = &servedSession{}
		s.sessions[session] = own
	}
	return own, anybody
}

// forget drops the drafts that anybody was given at and below a path: after a
// revert they are nowhere.
func (s *served) forget(within Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		one.forget(within)
	}
}

// committed notes that a commit has what was a draft.
func (s *served) committed(p place, n Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		one.committed(p, n)
	}
}

// forgetAll drops everything that anybody was given at and below a path.
func (s *served) forgetAll(within Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		for _, m := range []map[place]version{one.young, one.old} {
			maps.DeleteFunc(m, func(p place, _ version) bool { return within.Contains(p.path) })
		}
	}
}

// end drops a session.
func (s *served) end(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session != anySession {
		delete(s.sessions, session)
	}
}
