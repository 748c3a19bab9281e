package mounts

import (
	"context"
	"errors"
	"strings"

	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/object"
	"carrel.dev/mounts/refs"
	"carrel.dev/workspace"
)

// landing is one attempt to land a proposal.
type landing struct {
	*proposal
	dir  *gitdir.Dir // as it is configured now
	lock *refs.Lock
}

// Land implements workspace.Proposal. A branch that has the commit already, also
// below others, is a success: an earlier attempt got that far.
func (p *proposal) Land(ctx context.Context) error {
	err := p.land(ctx)
	if p.moved.Load() {
		err = unknown(err)
	}
	return err
}

func (p *proposal) land(ctx context.Context) error {
	leave, err := p.repo.lanes.enter(ctx, p.ref)
	if err != nil {
		return err
	}
	defer leave()
	l := &landing{proposal: p}
	if l.dir, err = gitdir.Open(p.repo.path); err != nil {
		return gone(err)
	}
	if err := p.repos.fault(LaneEntered); err != nil {
		return err
	}
	landed, err := l.look(ctx)
	if err != nil || landed {
		return err
	}
	release, err := l.write(ctx)
	if err == nil {
		err = l.move(ctx)
	}
	if release != nil && !isStopped(err) {
		release(err == nil)
	}
	if err == nil {
		p.repos.keepUp(l)
	}
	return err
}

// look finds out early, before anything is written, what would be found out
// under the lock as well.
func (l *landing) look(ctx context.Context) (landed bool, err error) {
	head, err := l.repo.refs.Direct(l.ref)
	if err != nil {
		return false, err
	}
	if landed, err = l.compare(ctx, head); err != nil {
		return false, err
	}
	if landed {
		return true, l.repo.refs.Sync(l.ref)
	}
	return false, l.allowed()
}

// compare decides by what the branch points at: the commit can land, has landed,
// or is in Conflict.
func (l *landing) compare(ctx context.Context, head workspace.OID) (landed bool, err error) {
	switch {
	case head == l.commit:
		return true, nil
	case head == l.change.Expect:
		return false, nil
	case head.IsZero():
		return false, workspace.Errorf(workspace.Conflict, "branch %s does not exist any more", l.change.Branch)
	}
	landed, err = l.repo.reachable(ctx, l.commit, head)
	if err == nil && !landed {
		err = elsewhere(l.change, head)
	}
	return landed, unknown(err)
}

// unknown is an error that must not promise, as Unavailable does, that the
// branch has not moved.
func unknown(err error) error {
	if errors.Is(err, workspace.Unavailable) {
		return workspace.Errorf(workspace.Internal, "whether the branch has moved is not known: %v", err)
	}
	return err
}

func elsewhere(c workspace.Change, head workspace.OID) error {
	if c.Expect.IsZero() {
		return workspace.Errorf(workspace.Conflict, "branch %s exists already, at %s", c.Branch, head.Short())
	}
	return workspace.Errorf(workspace.Conflict, "branch %s has moved from %s to %s", c.Branch, c.Expect.Short(), head.Short())
}

// allowed refuses a branch that somebody works on in a worktree: its files would
// silently disagree with it.
func (l *landing) allowed() error {
	at, used, err := l.dir.CheckedOut(l.ref)
	if err != nil || !used {
		return gone(err)
	}
	return workspace.Errorf(workspace.Permission, "branch %s is checked out", l.change.Branch).
		Hinted("The worktree at %s has it checked out. Check out another branch there, or commit to another branch here.", at.Path)
}

// write makes the objects durable.
func (l *landing) write(ctx context.Context) (release func(moved bool), err error) {
	release, err = l.repo.objects.Write(ctx, l.objects, l.writer(l.repos.fault))
	if err == nil {
		err = l.repos.fault(ObjectsDurable)
	}
	return release, err
}

func (l *landing) writer(fault func(point string) error) *object.Writer {
	return &object.Writer{
		Keep:    keepText(l.commit),
		Share:   l.dir.Share,
		Written: func() error { return fault(ObjectsWritten) },
		Named:   func() error { return fault(ObjectsNamed) },
		Stopped: isStopped,
	}
}

// keepText is what a pack's .keep file says while its commit is landing.
func keepText(commit workspace.OID) string { return "carrel " + commit.String() }

// move moves the branch, under its lock.
func (l *landing) move(ctx context.Context) (err error) {
	l.lock, err = l.repo.refs.Lock(ctx, l.ref, l.commit, l.repos.config.LockWait, l.dir.Share)
	if err != nil {
		return err
	}
	defer func() {
		if !isStopped(err) {
			l.lock.Release()
		}
	}()
	if err := l.repos.fault(BranchLocked); err != nil {
		return err
	}
	head, err := l.lock.Current()
	if err != nil {
		return err
	}
	landed, err := l.compare(ctx, head)
	if err != nil {
		return err
	}
	if landed {
		return l.repo.refs.Sync(l.ref)
	}
	if err := l.allowed(); err != nil {
		return err
	}
	if head.IsZero() {
		if err := l.lock.Free(); err != nil {
			return err
		}
	}
	if err := l.keep(ctx); err != nil {
		return err
	}
	if err := l.repos.fault(BranchAllowed); err != nil {
		return err
	}
	l.log(head)
	return l.lock.Commit(func() error {
		l.moved.Store(true)
		return l.repos.fault(BranchMoved)
	})
}

// keep moves the ref that is to hold the commit, wherever it was.
func (l *landing) keep(ctx context.Context) (err error) {
	if l.change.Keep == "" {
		return nil
	}
	lock, err := l.repo.refs.Lock(ctx, l.change.Keep, l.commit, l.repos.config.LockWait, l.dir.Share)
	if err != nil {
		return err
	}
	defer func() {
		if !isStopped(err) {
			lock.Release()
		}
	}()
	if err := l.repos.fault(KeepLocked); err != nil {
		return err
	}
	held, err := lock.Current()
	if err != nil {
		return err
	}
	if held.IsZero() {
		if err := lock.Free(); err != nil {
			return err
		}
	}
	return lock.Commit(func() error { return l.repos.fault(KeepMoved) })
}

// log writes the reflogs that git would write: of the branch, and of a bare
// repository's HEAD if it names the branch.
func (l *landing) log(head workspace.OID) {
	m := refs.Move{
		Old: head, New: l.commit, Why: "commit (carrel): " + subject(l.change.Message),
		Who: object.FormatSignature(l.change.Committer, l.change.When),
	}
	create := l.dir.Logs()
	l.repo.refs.Log(l.ref, m, create, l.dir.Share)
	if at, err := gitdir.Head(l.dir.Common); err == nil && at == l.ref {
		l.repo.refs.Log("HEAD", m, create, l.dir.Share)
	}
}

// keeps is where the refs are that Change.Keep names.
const keeps = "refs/carrel"

// Settle implements workspace.Committer.
func (r *Repos) Settle(ctx context.Context, s workspace.Source, branch string, commit workspace.OID) (landed bool, err error) {
	ref, err := refs.Branch(branch)
	if err != nil {
		return false, err
	}
	repo, err := r.repo(s)
	if err != nil {
		return false, err
	}
	leave, err := repo.lanes.enter(ctx, ref)
	if err != nil {
		return false, err
	}
	defer leave()
	if err := repo.refs.RemoveAbandoned(ref, keeps, commit); err != nil {
		return false, err
	}
	defer repo.objects.RemoveKeep(keepText(commit)) // after the answer is known
	head, final, err := repo.refs.Resolve(ref)
	if errors.Is(err, workspace.NotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	landed, err = repo.reachable(ctx, commit, head)
	if err != nil || !landed {
		return false, err
	}
	return true, repo.refs.Sync(final)
}

// subject is the first line of a message.
func subject(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return line
}
