package model

import "maps"

// served is which version of a path each session of a process was last given; the
// session "" is all of them.
type served map[string]map[place]version

// place is a path as it belongs to an owner: what another mount has there is another.
type place struct {
	path  string
	owner owner
}

// version is what was given. A draft was the upper's, and is no base for a write
// once it has been taken away without being committed.
type version struct {
	node  node
	draft bool
}

func (s served) note(session string, p place, v version) {
	for _, name := range []string{session, ""} {
		if s[name] == nil {
			s[name] = map[place]version{}
		}
		s[name][p] = v
	}
}

func (s served) last(session string, p place) (node, bool) {
	if v, ok := s[session][p]; ok {
		return v.node, true
	}
	v, ok := s[""][p]
	return v.node, ok
}

// known is what a session was last given, else what anybody was.
func (s served) known(session string) map[place]version {
	all := map[place]version{}
	maps.Copy(all, s[""])
	maps.Copy(all, s[session])
	return all
}

// forget drops the drafts at and below a path, or everything.
func (s served) forget(top string, everything bool) {
	for _, one := range s {
		maps.DeleteFunc(one, func(p place, v version) bool { return within(p.path, top) && (v.draft || everything) })
	}
}

// committed makes a draft that was committed a version like others.
func (s served) committed(p place, n node) {
	for _, one := range s {
		if v, ok := one[p]; ok && v.node == n {
			one[p] = version{node: n}
		}
	}
}

// sessions is what those of a workspace were served.
func (h *host) sessions(s *space) served {
	if h.served[s.id] == nil {
		h.served[s.id] = served{}
	}
	return h.served[s.id]
}

// forget drops what anybody was served at and below a path: what was never
// committed, or came from another mount, is no base for a write.
func (w *world) forget(s *space, p string, everything bool) {
	for _, h := range w.hosts {
		h.sessions(s).forget(p, everything)
	}
}
