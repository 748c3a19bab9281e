package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"time"
)

// CommitRequest asks for one mount's changes to become one commit.
type CommitRequest struct {
	Mount   Path
	Message string
	// Paths are the files and directories to commit; nil means all of the mount.
	Paths  []Path
	Author Signature // zero: the caller
	// Force takes ignored files that Paths name.
	Force bool
	// AllowEmptyTree takes a commit after which the repo has no files.
	AllowEmptyTree bool
}

// Commit is a commit that was made.
type Commit struct {
	Mount    Path
	Repo     RepoPath
	Branch   string
	Upstream string // the branch that a work branch started from; empty otherwise
	Commit   OID
	Paths    []Path // the changed paths, sorted
}

// How often a commit starts again because the branch moved, and how long it
// waits between looks at another process's commit of the same mount.
const (
	maxLandings = 50
	laneWait    = 20 * time.Millisecond
)

// Commit makes one commit of one mount's changes. What the branch got meanwhile
// stays: a path that somebody else changed is Conflict and nothing is committed,
// disjoint work lands on top. Once the intent is recorded the commit is seen
// through even if ctx ends.
func (w *Workspace) Commit(ctx context.Context, r CommitRequest) (Commit, error) {
	if strings.TrimSpace(r.Message) == "" {
		return Commit{}, Errorf(Invalid, "the message is blank").Hinted("Say in a line what the commit does.")
	}
	settled := false
	for range maxLandings {
		c, moved, err := w.commitOnce(ctx, r)
		if errors.Is(err, Unavailable) && !settled {
			// The branch may be locked by a process of ours that died.
			settled = true
			if w.live.host.SettleCommits(ctx) == nil {
				continue
			}
		}
		if err != nil || !moved {
			return c, err
		}
	}
	return Commit{}, Errorf(Conflict, "the branch moved %d times while the commit was made", maxLandings).
		At(string(r.Mount)).Hinted("Try again.")
}

// commitOnce records an intent, lands it and records the end. moved says that
// somebody else's commit came first and nothing is left of this one.
func (w *Workspace) commitOnce(ctx context.Context, r CommitRequest) (c Commit, moved bool, err error) {
	in, err := w.intend(ctx, r)
	if err != nil || in.proposal == nil {
		return in.result, false, err
	}
	ctx = context.WithoutCancel(ctx)
	err = w.land(ctx, in)
	switch KindOf(err) {
	case "":
		if err := w.endCommit(ctx, in, true); err != nil {
			// It has landed, whatever the store says: whoever mutates next records it.
			w.live.host.cfg.Log.ErrorContext(ctx, "a commit is not recorded yet", "workspace", w.live.id, "commit", in.result.Commit, "err", err)
		}
		return in.result, false, nil
	case Conflict:
		moved = w.branchMoved(ctx, in)
	case Permission, Unavailable, Invalid:
	default:
		// The outcome is unknown: whoever mutates next asks the repository.
		return Commit{}, false, errors.Join(err, w.abandon(ctx, in.key))
	}
	if dropped := w.endCommit(ctx, in, false); dropped != nil {
		return Commit{}, false, dropped
	}
	if moved {
		err = nil
	}
	return Commit{}, moved, err
}

// land makes a commit durable and moves the branch.
func (w *Workspace) land(ctx context.Context, in intent) error {
	fault := w.live.host.cfg.Fault
	if err := fault("intent appended"); err != nil {
		return err
	}
	if err := in.proposal.Land(ctx); err != nil {
		return err
	}
	return fault("landed")
}

// branchMoved reports whether a refused commit would fit on another parent:
// somebody moved the branch, rather than that its name cannot be had.
func (w *Workspace) branchMoved(ctx context.Context, in intent) bool {
	head, err := w.live.host.cfg.Trees.Head(ctx, in.change.Source, in.change.Branch)
	return err == nil && head != in.change.Expect
}

// intent is a commit on its way.
type intent struct {
	key      string
	proposal Proposal // nil if there is nothing to land: the result is an answer to a repeat
	change   Change
	result   Commit
}

// intend collects the changes, computes the commit and appends the intent, in
// the chain. It waits for another commit of the mount to end.
func (w *Workspace) intend(ctx context.Context, r CommitRequest) (intent, error) {
	for {
		in, busy, err := w.tryIntend(ctx, r)
		if err != nil || !busy {
			return in, err
		}
		select {
		case <-ctx.Done():
			return intent{}, Errorf(Unavailable, "another commit of the mount is under way").At(string(r.Mount)).Hinted("Try again.")
		case <-time.After(laneWait):
		}
	}
}

func (w *Workspace) tryIntend(ctx context.Context, r CommitRequest) (in intent, busy bool, err error) {
	if err := w.live.lock(ctx); err != nil {
		return in, false, err
	}
	defer w.live.unlock()
	// The key of the request belongs to the record that says how it ended.
	plain := &Workspace{w.live, w.caller}
	plain.caller.Key = ""
	in.key = w.live.host.cfg.NewID()
	_, err = mutateLocked(ctx, plain, VerbCommit, func(ctx context.Context, s *Snapshot) (decision, bool, error) {
		delete(w.live.inflight, in.key) // of an attempt that conflicted
		in = intent{key: in.key}
		if answer, known, err := repeated[Commit](w, s.State); known || err != nil {
			in.result = answer
			return decision{}, false, err
		}
		if busy, err = w.occupied(s, r.Mount); busy || err != nil {
			return decision{}, false, err
		}
		event, err := w.decideCommit(ctx, s, r, &in)
		if err != nil {
			return decision{}, false, err
		}
		w.live.inflight[in.key] = true
		return decision{events: []Event{event}}, true, nil
	})
	if err != nil {
		delete(w.live.inflight, in.key)
	}
	return in, busy, err
}

// decideCommit computes the commit and its intent.
func (w *Workspace) decideCommit(ctx context.Context, s *Snapshot, r CommitRequest, in *intent) (Event, error) {
	m := s.Table.At(r.Mount)
	if m == nil {
		return Event{}, Errorf(Invalid, "no mount at %s", r.Mount)
	}
	change, err := w.change(ctx, s, m, r)
	if err != nil {
		return Event{}, err
	}
	c, err := s.collect(ctx, m)
	if err != nil {
		return Event{}, err
	}
	chosen, err := choose(c, r)
	if err == nil {
		err = c.checkHistory(change, chosen)
	}
	if err != nil {
		return Event{}, err
	}
	meter := MeterOf(ctx)
	for _, fc := range chosen {
		if fc.Ours.present() {
			meter.Expect(1)
		}
		change.Edits = append(change.Edits, TreeEdit{Path: fc.Path.Rel(m.Point), Node: fc.Ours})
	}
	change.Open = func(ctx context.Context, id OID) ([]byte, error) {
		meter.Step()
		b, err := s.live.host.content(ctx, id)
		for _, fc := range chosen {
			if err != nil && fc.Ours.OID == id {
				return nil, lostAt(fc.Path, err)
			}
		}
		return b, err
	}
	p, err := s.live.host.cfg.Committer.Propose(ctx, change)
	if err != nil {
		return Event{}, err
	}
	if p.Tree() == emptyTree && !r.AllowEmptyTree {
		return Event{}, Errorf(Invalid, "the commit would leave the repo without files").At(string(m.Point)).
			Hinted("Pass allowEmptyTree: true if that is meant.")
	}
	in.proposal, in.change = p, change
	in.result = Commit{Mount: m.Point, Repo: m.Repo, Branch: change.Branch, Commit: p.Commit()}
	if m.Policy == WorkBranch {
		in.result.Upstream = m.Upstream
	}
	for _, fc := range chosen {
		in.result.Paths = append(in.result.Paths, fc.Path)
	}
	return encode(WorkspaceCommitting, Committing{
		Key: in.key, Mount: m.Point, Repo: m.Repo, Branch: change.Branch, Upstream: in.result.Upstream,
		Parent: change.Parent, Commit: p.Commit(), By: s.live.host.cfg.Processes.Self(),
		Asked: w.caller.key(), Request: w.caller.Request,
		Changes: leaving(chosen, c, p.Commit()),
	}), nil
}

// emptyTree is the id of the tree without entries.
var emptyTree = OID{0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb, 0xee, 0x49, 0x04}

// change says where the commit goes and who makes it.
func (w *Workspace) change(ctx context.Context, s *Snapshot, m *Mount, r CommitRequest) (Change, error) {
	v, err := s.view(ctx, m)
	if err != nil {
		return Change{}, err
	}
	cfg := s.live.host.cfg
	author, err := checkAuthor(r.Author, w.caller.Actor)
	if err != nil {
		return Change{}, err
	}
	c := Change{
		Source: m.Source, Branch: m.Branch, Expect: v.base, Parent: v.base,
		Author: author, Committer: cfg.Identity, Message: withTrailer(r.Message, w.live.id), When: cfg.Now().UTC(),
	}
	switch {
	case m.Removed:
		return c, Errorf(Permission, "the project no longer has the repo %s", m.Repo).At(string(m.Point)).
			Hinted("Copy what you need to another place, or `revert` it.")
	case m.Policy == ReadOnly:
		return c, Errorf(Permission, "the mount is read-only").At(string(m.Point)).
			Hinted("The changes stay private to this workspace.")
	case v.lost:
		return c, Errorf(Conflict, "somebody removed or rewrote the work branch %s", m.Branch).At(string(m.Point)).
			Hinted("Put it back with `git branch -f %s %s` in the repository, or merge that commit; until then the work stays here.", m.Branch, v.base)
	case m.Policy == WorkBranch:
		return c, w.onWorkBranch(ctx, s, v, &c)
	}
	return c, nil
}

// onWorkBranch directs a commit to the workspace's branch in the repo, which the
// first one makes.
func (w *Workspace) onWorkBranch(ctx context.Context, s *Snapshot, v *view, c *Change) error {
	cfg, m := s.live.host.cfg, v.mount
	branch := w.workBranch()
	c.Keep = keepRef(cfg.DataID, branch)
	if !m.Work.IsZero() {
		c.Expect = v.work // behind Parent if the upstream has merged it, none if it was removed then
		return nil
	}
	if other, taken := s.State.Work[m.Repo]; taken {
		return Errorf(Conflict, "the work branch %s started from %s, not from %s", other.Branch, other.Upstream, m.Upstream).At(string(m.Point)).
			Hinted("Commit to another branch from another workspace.")
	}
	_, err := cfg.Trees.Head(ctx, m.Source, branch)
	if err == nil {
		return Errorf(Conflict, "the repo has a branch %s that this workspace did not make", branch).At(string(m.Point)).
			Hinted("Rename that branch in the repository.")
	}
	if !errors.Is(err, NotExist) {
		return err
	}
	c.Branch, c.Expect = branch, OID{}
	return nil
}

var notInBranch = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// workBranch names the branch that the workspace commits to where it may not
// commit to the mount's own.
func (w *Workspace) workBranch() string {
	return workBranch(w.live.host.cfg.DataID, w.live.project.name, w.live.id)
}

func workBranch(dataID, project string, id ID) string {
	sum := sha256.Sum256([]byte(dataID + "\x00" + project + "\x00" + string(id)))
	return "carrel/" + notInBranch.ReplaceAllString(id.Name(), "-") + "-" + hex.EncodeToString(sum[:4])
}

// keepRef is the ref that holds the last commit of a work branch, whatever
// becomes of the branch.
func keepRef(dataID, branch string) string {
	return "refs/carrel/" + dataID + "/" + strings.TrimPrefix(branch, "carrel/")
}
