package mounts

import (
	"context"
	"sync"

	"carrel.dev/workspace"
)

var _ workspace.Ancestry = (*Repos)(nil)

// Contains implements workspace.Ancestry. The answer for two commits never
// changes and may take a walk through the whole history, so it is kept.
func (r *Repos) Contains(ctx context.Context, s workspace.Source, tip, commit workspace.OID) (bool, error) {
	repo, err := r.repo(s)
	if err != nil {
		return false, err
	}
	if known, ok := repo.ancestry.get(tip, commit); ok {
		return known, nil
	}
	contains, err := repo.reachable(ctx, commit, tip)
	if err == nil {
		repo.ancestry.put(tip, commit, contains)
	}
	return contains, err
}

// maxAncestry is how many answers a repository keeps.
const maxAncestry = 1024

// ancestry remembers which commits build on which.
type ancestry struct {
	mu    sync.Mutex
	known map[[2]workspace.OID]bool
}

func (a *ancestry) get(tip, commit workspace.OID) (contains, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	contains, known = a.known[[2]workspace.OID{tip, commit}]
	return contains, known
}

func (a *ancestry) put(tip, commit workspace.OID, contains bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxAncestry {
		a.known = map[[2]workspace.OID]bool{}
	}
	a.known[[2]workspace.OID{tip, commit}] = contains
}
