package workspace

import "sync"

// heldSnapshots is how many snapshots of a workspace wait for the next page of a
// list.
const heldSnapshots = 32

// held keeps the snapshots that lists are read from, so that a page continues in
// the one where the first began.
type held struct {
	mu     sync.Mutex
	tokens []string // the oldest first
	snaps  map[string]*Snapshot
}

// Hold keeps a snapshot for a while and returns the token to ask for it by.
func (w *Workspace) Hold(s *Snapshot) string {
	h := &w.live.held
	h.mu.Lock()
	defer h.mu.Unlock()
	for token, kept := range h.snaps {
		if kept == s {
			return token
		}
	}
	if h.snaps == nil {
		h.snaps = map[string]*Snapshot{}
	}
	token := w.live.host.cfg.NewID()
	h.snaps[token], h.tokens = s, append(h.tokens, token)
	if len(h.tokens) > heldSnapshots {
		delete(h.snaps, h.tokens[0])
		h.tokens = h.tokens[1:]
	}
	return token
}

// Held returns a snapshot that is still kept; Conflict if it is not.
func (w *Workspace) Held(token string) (*Snapshot, error) {
	h := &w.live.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.snaps[token]; s != nil && s.grants.sameRepos(w.caller.Grants) {
		return s, nil
	}
	return nil, Errorf(Conflict, "the list that the cursor belongs to is no longer kept").Hinted("Start again without a cursor.")
}

// drop lets go of all snapshots.
func (h *held) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens, h.snaps = nil, nil
}
