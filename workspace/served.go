package workspace

import "sync"

// servedPaths is how many paths of a session are remembered at least.
const servedPaths = 10_000

// served remembers which version of a path each session of a workspace was last
// given. A first write takes that as its base, so that a write made from a stale
// read conflicts at commit. It is an observation, not state: a restart forgets
// it, and the lower of the moment takes its place.
type served struct {
	mu       sync.Mutex
	sessions map[string]*servedSession
}

// servedSession keeps two generations, so that forgetting needs no order.
type servedSession struct{ young, old map[Path]Base }

func (s *servedSession) get(p Path) (Base, bool) {
	b, ok := s.young[p]
	if !ok {
		b, ok = s.old[p]
	}
	return b, ok
}

func (s *servedSession) set(p Path, b Base) {
	if len(s.young) >= servedPaths {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[Path]Base{}
	}
	s.young[p] = b
}

func (s *servedSession) forget(within Path) {
	for _, m := range []map[Path]Base{s.young, s.old} {
		for p := range m {
			if within.Contains(p) {
				delete(m, p)
			}
		}
	}
}

// anySession stands for the whole workspace.
const anySession = ""

// last returns what a session was last given, else what anybody was.
func (s *served) last(session string, p Path) (Base, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{session, anySession} {
		if one := s.sessions[name]; one != nil {
			if b, ok := one.get(p); ok {
				return b, true
			}
		}
	}
	return Base{}, false
}

// below returns what a session was last given below a directory, else what
// anybody was.
func (s *served) below(session string, dir Path) map[Path]Base {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[Path]Base{}
	for _, name := range []string{anySession, session} { // the session's own last, to win
		if one := s.sessions[name]; one != nil {
			for _, generation := range []map[Path]Base{one.old, one.young} {
				for p, b := range generation {
					if p.Below(dir) {
						found[p] = b
					}
				}
			}
		}
	}
	return found
}

// note remembers what a session was given.
func (s *served) note(session string, p Path, b Base) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil {
		s.sessions = map[string]*servedSession{}
	}
	for _, name := range []string{session, anySession} {
		one := s.sessions[name]
		if one == nil {
			one = &servedSession{}
			s.sessions[name] = one
		}
		one.set(p, b)
	}
}

// forget drops what anybody was given at and below a path: after a revert the
// versions written here are nowhere.
func (s *served) forget(within Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.sessions {
		one.forget(within)
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
