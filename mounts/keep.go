package mounts

import (
	"context"
	"errors"
	"strings"

	"carrel.dev/workspace"
)

var _ workspace.RefKeeper = (*Repos)(nil)

// Refs implements workspace.RefKeeper.
func (r *Repos) Refs(ctx context.Context, s workspace.Source, folder string) ([]workspace.Ref, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	repo, err := r.repo(s)
	if err != nil {
		return nil, err
	}
	return repo.refs.List(folder)
}

// holders are the folders of the refs that people and git hold commits by.
var holders = [...]string{"refs/heads", "refs/remotes", "refs/tags"}

// Reached implements workspace.RefKeeper, with one walk from all refs. Tags with
// a message, and refs whose commits are not there, reach nothing.
func (r *Repos) Reached(ctx context.Context, s workspace.Source, commit workspace.OID) (bool, error) {
	repo, err := r.repo(s)
	if err != nil {
		return false, err
	}
	w, err := repo.newWalk()
	if err != nil {
		return false, err
	}
	for _, folder := range holders {
		all, err := repo.refs.List(folder)
		if err != nil {
			return false, err
		}
		for _, ref := range all {
			if err := w.add(ref.ID); err != nil && !isNoCommit(err) {
				return false, err
			}
		}
	}
	for !w.reached(commit) {
		v, err := w.next(ctx)
		if err != nil || v == nil {
			return false, err
		}
		if err := w.addParents(v); err != nil {
			return false, err
		}
	}
	return true, nil
}

// reached reports whether the walk has come to a commit, and not only to its id.
func (w *walk) reached(commit workspace.OID) bool {
	if !w.seen[commit] {
		return false
	}
	_, err := w.objects.Commit(commit)
	return err == nil
}

// isNoCommit reports whether an error says that an object is none, or not there.
func isNoCommit(err error) bool {
	return errors.Is(err, workspace.NotExist) || errors.Is(err, workspace.Invalid) || errors.Is(err, workspace.Corrupt)
}

// RemoveRef implements workspace.RefKeeper.
func (r *Repos) RemoveRef(ctx context.Context, s workspace.Source, ref string, at workspace.OID) error {
	if strings.HasPrefix(ref, "refs/heads/") {
		return workspace.Errorf(workspace.Invalid, "%s is a branch, which is not ours to remove", ref)
	}
	repo, err := r.repo(s)
	if err != nil {
		return err
	}
	return repo.refs.Remove(ctx, ref, at, r.config.LockWait, repo.dir.Share)
}
