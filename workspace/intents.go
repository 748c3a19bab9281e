package workspace

import (
	"context"
	"errors"
)

// endCommit records how a commit ended: what was committed leaves the upper, or
// the intent is dropped.
func (w *Workspace) endCommit(ctx context.Context, in intent, landed bool) error {
	if err := w.live.lock(ctx); err != nil {
		return err
	}
	defer w.live.unlock()
	defer delete(w.live.inflight, in.key)
	plain := &Workspace{w.live, w.caller}
	plain.caller.Key, plain.caller.Grants = "", nil // the commit was allowed
	_, err := mutateLocked(ctx, plain, VerbCommit, func(ctx context.Context, s *Snapshot) (decision, Commit, error) {
		open, ok := s.State.Intents[in.key]
		if !ok {
			return decision{}, in.result, nil // somebody took us for dead and recorded it
		}
		d, err := s.endOf(ctx, open, landed)
		if landed {
			d.answered = &w.caller
		}
		return d, in.result, err
	})
	return err
}

// abandon leaves a commit of unknown outcome to whoever mutates next.
func (w *Workspace) abandon(ctx context.Context, key string) error {
	if err := w.live.lock(ctx); err != nil {
		return err
	}
	defer w.live.unlock()
	delete(w.live.inflight, key)
	return nil
}

// endOf returns the records that end an intent.
func (s *Snapshot) endOf(ctx context.Context, in Committing, landed bool) (decision, error) {
	if !landed {
		return decision{events: []Event{encode(WorkspaceCommitDrop, CommitDropped{in.Key})}}, nil
	}
	p := s.live.project
	done := Committed{Key: in.Key, Commit: in.Commit}
	for _, c := range in.Changes {
		if e, ok := s.State.Upper.Get(c.Path); ok {
			done.Changes = append(done.Changes, PathChange{Path: c.Path, Before: plain(e), After: after(c, e, in.Commit)})
		}
	}
	moved, err := s.rebased(ctx, in)
	if err != nil {
		return decision{}, err
	}
	done.Changes = append(done.Changes, moved...)
	made := p.stamp(Caller{}, encode(RepoCommitted, RepoCommit{
		Branch: in.Branch, Before: in.Parent, After: in.Commit, Workspace: s.live.id, Key: in.Key,
	}))
	return decision{
		events: []Event{encode(WorkspaceCommitted, done)},
		also:   []Batch{{Stream: p.stream(string(in.Repo)), Last: Any, Events: []Event{made}}},
	}, nil
}

// rebased gives a new base to the entries that were set below a directory while
// the commit replaced or deleted it: they were made from what the parent has
// there, and stand on what the commit has there now.
func (s *Snapshot) rebased(ctx context.Context, in Committing) ([]PathChange, error) {
	collected := map[Path]bool{}
	for _, c := range in.Changes {
		collected[c.Path] = true
	}
	var late []Path
	for _, c := range in.Changes {
		if c.Before == nil || !c.Before.Hides() {
			continue
		}
		for p, e := range s.State.Upper.Below(c.Path) {
			if e.Owner == c.Before.Owner && e.Hides() && !collected[p] {
				collected[p] = true
				late = append(late, p)
			}
		}
	}
	if len(late) == 0 {
		return nil, nil
	}
	source := s.live.project.published.Load().Repos[in.Repo].Source
	var nodes [2][]Node
	for i, commit := range [...]OID{in.Parent, in.Commit} {
		var err error
		if nodes[i], err = s.nodesAt(ctx, source, commit, in.Mount, late); err != nil {
			return nil, err
		}
	}
	var changes []PathChange
	for i, p := range late {
		was, is := nodes[0][i], nodes[1][i]
		e, _ := s.State.Upper.Get(p)
		if was == is || e.Base.Node != was {
			continue
		}
		moved := e
		moved.Base = Base{Node: is, Commit: in.Commit}
		changes = append(changes, PathChange{Path: p, Before: plain(e), After: plain(moved)})
	}
	return changes, nil
}

// nodesAt returns what a commit has at the paths of a mount, the zero Node for
// nothing.
func (s *Snapshot) nodesAt(ctx context.Context, source Source, commit OID, mount Path, paths []Path) ([]Node, error) {
	tree, err := s.live.host.cfg.Trees.Tree(ctx, source, commit)
	if err != nil {
		return nil, err
	}
	rels := make([]string, len(paths))
	for i, p := range paths {
		rels[i] = p.Rel(mount)
	}
	nodes, err := lookups(ctx, tree, rels)
	for i := range nodes {
		nodes[i].Mode = nodes[i].Mode.Canonical()
	}
	return nodes, err
}

// after is what stays of an entry now that a commit has landed: what the intent
// says if the entry is as it was collected; else the entry, on what was
// committed as its base.
func after(c PathChange, now Entry, commit OID) *Entry {
	if c.Before != nil && now.Same(*c.Before) {
		return c.After
	}
	now.Base = Base{Commit: commit}
	if c.Before != nil {
		now.Base.Node = c.Before.Node()
	}
	return plain(now)
}

// settle decides the commits whose processes are dead, and those that this one
// lost track of, and reports whether it did any. It runs in the chain. A
// repository that cannot be asked now leaves its commits open.
func (w *Workspace) settle(ctx context.Context, s *Snapshot) (settled bool, err error) {
	cfg := w.live.host.cfg
	for key, in := range s.State.Intents {
		if alive, err := w.tended(in); alive || err != nil {
			if err != nil {
				return settled, err
			}
			continue
		}
		repo, ok := w.live.project.published.Load().Repos[in.Repo]
		if !ok {
			continue
		}
		landed, err := cfg.Committer.Settle(ctx, repo.Source, in.Branch, in.Commit)
		if err != nil {
			cfg.Log.WarnContext(ctx, "commit left open", "workspace", w.live.id, "repo", in.Repo, "commit", in.Commit, "err", err)
			continue
		}
		if now, err := w.whole(ctx); err != nil {
			return settled, err
		} else if _, open := now.State.Intents[key]; !open {
			settled = true // another process was faster
			continue
		} else if err := w.end(ctx, now, in, landed); err != nil {
			return settled, err
		}
		settled = true
	}
	return settled, nil
}

// SettleCommits decides the commits that dead processes left under way in any
// project, so that the locks which they held on branches stop nobody.
func (h *Host) SettleCommits(ctx context.Context) error {
	seeker, ok := h.cfg.Store.(CommitSeeker)
	if !ok {
		return nil
	}
	streams, err := seeker.OpenCommits(ctx)
	if err != nil {
		return err
	}
	for _, id := range streams {
		p, err := h.Project(ctx, id.Project)
		if err != nil {
			return err
		}
		l, err := p.workspace(ctx, ID(id.Name))
		if err == nil {
			err = (&Workspace{live: l}).settleAlone(ctx)
		}
		if err != nil && !errors.Is(err, Closed) { // a deleted one has nowhere to record it
			return err
		}
	}
	return nil
}

// settleAlone is settle with the chain taken for it.
func (w *Workspace) settleAlone(ctx context.Context) error {
	if err := w.live.lock(ctx); err != nil {
		return err
	}
	defer w.live.unlock()
	s, err := w.whole(ctx)
	if err != nil {
		return err
	}
	_, err = w.settle(ctx, s)
	return err
}

// end records how another process's commit ended.
func (w *Workspace) end(ctx context.Context, s *Snapshot, in Committing, landed bool) error {
	d, err := s.endOf(ctx, in, landed)
	d.answered = &Caller{} // not whoever happens to be here
	if landed {
		d.answered.Key, d.answered.Request = in.Asked, in.Request
	}
	if err == nil {
		err = w.record(ctx, s, d, in.result())
	}
	if isAppendConflict(err) {
		return nil // another process was faster
	}
	return err
}

// result is what a commit answers, as far as its intent tells.
func (in Committing) result() Commit {
	c := Commit{Mount: in.Mount, Repo: in.Repo, Branch: in.Branch, Upstream: in.Upstream, Commit: in.Commit}
	for _, change := range in.Changes {
		c.Paths = append(c.Paths, change.Path)
	}
	return c
}

// tended reports whether somebody is still at work on a commit.
func (w *Workspace) tended(in Committing) (bool, error) {
	p := w.live.host.cfg.Processes
	if in.By == p.Self() {
		return w.live.inflight[in.Key], nil
	}
	return p.Alive(in.By)
}

// occupied reports whether another commit of the mount's repo is under way, and fails
// if one is that nobody can decide.
func (w *Workspace) occupied(s *Snapshot, mount Path) (bool, error) {
	m := s.Table.At(mount)
	for _, in := range s.State.Intents {
		if in.Mount != mount && (m == nil || in.Repo != m.Repo) {
			continue
		}
		alive, err := w.tended(in)
		if err == nil && !alive {
			err = Errorf(Unavailable, "a commit %s of another process is undecided, and the repository cannot be asked", in.Commit).
				At(string(mount)).Hinted("Make the repository readable and try again.")
		}
		return true, err
	}
	return false, nil
}
