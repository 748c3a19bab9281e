package mounts

import (
	"context"

	"carrel.dev/mounts/checkout"
	"carrel.dev/workspace"
)

// Uncommitted implements workspace.Checkouts.
func (r *Repos) Uncommitted(ctx context.Context, s workspace.Source) (int, error) {
	repo, err := r.repo(s)
	if err != nil || repo.dir.Work == "" {
		return 0, err
	}
	head, err := checkout.Head(repo.dir, repo.refs)
	if err != nil {
		return 0, gone(err)
	}
	return checkout.Count(ctx, repo.dir, repo.objects, head)
}
