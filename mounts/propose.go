package mounts

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"carrel.dev/mounts/fsck"
	"carrel.dev/mounts/object"
	"carrel.dev/mounts/refs"
	"carrel.dev/workspace"
)

// proposal is a commit that nothing is stored of yet.
type proposal struct {
	repos  *Repos
	repo   *repo
	change workspace.Change
	ref    string

	tree, commit workspace.OID
	moved        atomic.Bool // a Land has moved the branch, or may have
	// objects are those that the repository may lack, the commit last.
	objects []object.Pending
}

var _ workspace.Proposal = (*proposal)(nil)

func (p *proposal) Commit() workspace.OID { return p.commit }
func (p *proposal) Tree() workspace.OID   { return p.tree }

// Propose implements workspace.Committer.
//
// An edit that sets a path replaces whatever stands there, and whatever stands
// above it that is no directory; one that removes a path where nothing stands
// changes nothing. A directory without entries disappears. Modes and names of
// what no edit touches are kept byte for byte. The message is ended with a
// newline, as git ends one.
func (r *Repos) Propose(ctx context.Context, c workspace.Change) (workspace.Proposal, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	if c.Committer == (workspace.Signature{}) {
		c.Committer = r.config.Committer
	}
	if err := checkChange(&c); err != nil {
		return nil, err
	}
	repo, err := r.repo(c.Source)
	if err != nil {
		return nil, err
	}
	p := &proposal{repos: r, repo: repo, change: c}
	if p.ref, err = refs.Branch(c.Branch); err != nil {
		return nil, err
	}
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// checkChange refuses, all but its edits, what git fsck would complain about.
func checkChange(c *workspace.Change) error {
	if err := fsck.Identity("author", c.Author); err != nil {
		return err
	}
	if err := fsck.Identity("committer", c.Committer); err != nil {
		return err
	}
	if err := fsck.Message(c.Message); err != nil {
		return err
	}
	if !utf8.ValidString(c.Message + c.Author.Name + c.Author.Email + c.Committer.Name + c.Committer.Email) {
		return workspace.Errorf(workspace.Invalid, "the message or a name is not UTF-8")
	}
	if c.When.Unix() < 0 {
		return workspace.Errorf(workspace.Invalid, "the commit's time is before 1970")
	}
	if c.Keep == "" {
		return nil
	}
	if err := refs.Check(c.Keep); err != nil {
		return err
	}
	if strings.HasPrefix(c.Keep, "refs/heads/") {
		return workspace.Errorf(workspace.Invalid, "%s is a branch, which cannot keep a commit", c.Keep)
	}
	return nil
}

// build computes the trees and the commit.
func (p *proposal) build(ctx context.Context) error {
	top := &object.Tree{}
	p.tree = object.EmptyTree()
	var parents []workspace.OID
	if parent := p.change.Parent; !parent.IsZero() {
		c, err := p.repo.objects.Commit(parent)
		if err != nil {
			return err
		}
		if top, err = p.repo.objects.Tree(c.Tree); err != nil {
			return err
		}
		p.tree, parents = c.Tree, []workspace.OID{parent}
	}
	edits, err := plan(p.change.Edits)
	if err != nil {
		return err
	}
	b := &builder{proposal: p}
	id, changed, err := b.apply(ctx, top, edits)
	if err != nil {
		return err
	}
	if changed {
		p.tree = id
	}
	if p.tree == object.EmptyTree() {
		b.add(object.TypeTree, nil) // git has it everywhere, but other programs may not
	}
	message := p.change.Message
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	p.commit, err = b.add(object.TypeCommit, object.EncodeCommit(&object.Commit{
		Tree: p.tree, Parents: parents, Message: message,
		Author: p.change.Author, AuthorTime: p.change.When,
		Committer: p.change.Committer, CommitTime: p.change.When,
	}))
	return err
}

// content returns a blob that an edit names: from whoever made the change, or
// else from the repository.
func (p *proposal) content(ctx context.Context, blob workspace.OID) ([]byte, error) {
	var openErr error = workspace.NotExist
	if p.change.Open != nil {
		var content []byte
		if content, openErr = p.change.Open(ctx, blob); openErr == nil {
			return content, nil
		}
	}
	content, err := p.repo.objects.BlobIfPresent(blob)
	switch {
	case !errors.Is(err, workspace.NotExist):
		return content, err
	case !errors.Is(openErr, workspace.NotExist):
		return nil, openErr
	}
	return nil, workspace.Errorf(workspace.Corrupt, "blob %s is neither in the repository nor in the change", blob)
}
