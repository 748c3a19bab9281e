package workspace

import (
	"slices"
	"sync"
)

// watchers are whoever wants to know of records. A host without any pays for a
// look at an empty map.
type watchers struct {
	mu  sync.Mutex // guards all; held while a watcher is told
	all map[*watcher]struct{}
}

type watcher struct {
	seen     func(Record)
	appended func()
}

// Watch has seen called with every record that the host takes in, whoever
// appended it, in the store's order, before what it does to a workspace can be
// seen; after a failure some come again, and the zero Record stands for any number
// that could not be read. A record is taken in by whoever asks for anything of a
// project next, and appended is called when this process has appended some. Neither
// may block, or ask the host for anything. They are not called once stop has
// returned.
func (h *Host) Watch(seen func(Record), appended func()) (stop func()) {
	w := &watcher{seen, appended}
	h.watchers.mu.Lock()
	defer h.watchers.mu.Unlock()
	if h.watchers.all == nil {
		h.watchers.all = map[*watcher]struct{}{}
	}
	h.watchers.all[w] = struct{}{}
	return func() {
		h.watchers.mu.Lock()
		defer h.watchers.mu.Unlock()
		delete(h.watchers.all, w)
	}
}

// tell hands a record to all watchers.
func (w *watchers) tell(r Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		one.seen(r)
	}
}

// wake tells all watchers that there is something to take in.
func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		one.appended()
	}
}

// Touches reports whether a record changes what a workspace's upper has at, above or
// below a path, also if it sets what was there before: of what comes and goes, one
// of the records does. Callers whose grants do not have every repo are touched by
// nothing but what names one that they have. A record that cannot be read here may
// change anything.
func (r Record) Touches(p Path, g *Grants) bool {
	if r.Type != WorkspaceChanged {
		return false
	}
	if !r.PayloadBody.IsZero() && len(r.Payload) == 0 {
		return !g.limitsRepos()
	}
	effect, err := decodeEffect(r)
	if err != nil {
		return false // it changes nothing
	}
	near := func(q Path) bool { return q.Contains(p) || q.Below(p) }
	if !g.limitsRepos() && slices.ContainsFunc(effect.Drop, near) {
		return true
	}
	return slices.ContainsFunc(effect.Changes, func(c PathChange) bool {
		switch {
		case !near(c.Path):
			return false
		case !g.limitsRepos():
			return true
		case c.After == nil:
			return false
		}
		_, granted := g.Repo(c.After.Owner.Repo)
		return granted || c.After.Owner == Owner{}
	})
}
