package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// repos examines the repositories of a project, and the commits and refs in them
// that its workspaces need.
func (f *examination) repos(ctx context.Context, h *home, streams []*replay) error {
	for _, path := range slices.Sorted(maps.Keys(h.catalog.Repos)) {
		repo := h.catalog.Repos[path]
		f.o.Progress.tell("looking at repositories", int64(f.report.Repos), 0)
		e := &repoExamination{examination: f, project: h.id.Project, repo: repo}
		if !repo.Removed {
			f.report.Repos++
			readable, err := e.head(ctx)
			if err != nil {
				return err
			}
			if !readable {
				continue
			}
		}
		for _, s := range streams {
			if s.state.Born && !s.state.Deleted && s.whole {
				if err := e.workspace(ctx, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// repoExamination is what is held against one repository.
type repoExamination struct {
	*examination
	project string
	repo    Repo
}

func (e *repoExamination) report(x Finding) {
	x.Project, x.Repo = e.project, e.repo.Path
	e.found(x)
}

// head examines the branch that the repo is read at, and reports whether the
// repository can be read.
func (e *repoExamination) head(ctx context.Context) (readable bool, err error) {
	trees := e.host.cfg.Trees
	head, err := trees.Head(ctx, e.repo.Source, e.repo.Branch)
	ref := "refs/heads/" + e.repo.Branch
	switch {
	case ctx.Err() != nil:
		return false, err
	case errors.Is(err, NotExist):
		e.report(Finding{Kind: BranchMissing, Severity: Fault, Ref: ref, Text: "the repository has no branch " + e.repo.Branch,
			Hint: "Make the branch again, or name another one with `carrel repo configure`."})
	case err != nil:
		e.report(Finding{Kind: RepoUnreadable, Severity: Loss, Ref: ref, Text: plainText(err), Hint: hintRepo})
		return false, nil
	default:
		if err := e.commit(ctx, Finding{Ref: ref}, head, "the branch"); err != nil {
			return false, err
		}
	}
	e.sources = append(e.sources, e.repo.Source)
	return true, nil
}

// commit examines a commit that something points at, which x names.
func (e *repoExamination) commit(ctx context.Context, x Finding, id OID, what string) error {
	_, err := e.host.cfg.Trees.Tree(ctx, e.repo.Source, id)
	switch {
	case err == nil:
		e.examination.report.Refs++
	case ctx.Err() != nil:
		return err
	default:
		x.Kind, x.Severity, x.ID = CommitMissing, Loss, id.String()
		x.Text = fmt.Sprintf("%s points at a commit that cannot be read: %s", what, plainText(err))
		x.Hint = "Run git fsck in the repository, and fetch the commit from where it was pushed to."
		e.report(x)
	}
	return nil
}

// workspace examines what a workspace needs of the repository: the commits that
// mounts are pinned at, and its work branch.
func (e *repoExamination) workspace(ctx context.Context, s *replay) error {
	for _, point := range slices.Sorted(maps.Keys(s.state.Deviations)) {
		d := s.state.Deviations[point]
		repo := d.Repo
		if repo == "" {
			repo = RepoPath(point)
		}
		if repo == e.repo.Path && !d.Pin.IsZero() {
			if err := e.commit(ctx, Finding{Stream: s.id.Name, Path: point}, d.Pin, "the pin of a mount"); err != nil {
				return err
			}
		}
	}
	work, ok := s.state.Work[e.repo.Path]
	keeper, can := e.host.cfg.Trees.(RefKeeper)
	if !ok || !can || e.host.cfg.DataID == "" {
		return nil
	}
	w := &workExamination{e, keeper, s, work}
	err := w.run(ctx)
	if err != nil && ctx.Err() == nil {
		e.report(Finding{Kind: RepoUnreadable, Severity: Loss, Stream: s.id.Name, Text: plainText(err), Hint: hintRepo})
		return nil
	}
	return err
}

// workExamination looks at the work branch that a workspace has in a repository.
type workExamination struct {
	*repoExamination
	keeper RefKeeper
	replay *replay
	work   Work
}

// at is a finding about a ref of the workspace.
func (w *workExamination) at(ref string) Finding { return Finding{Stream: w.replay.id.Name, Ref: ref} }

// has reports whether a commit has the last one that was made on the work branch
// in its history. One that cannot be read has not.
func (w *workExamination) has(ctx context.Context, tip OID) (bool, error) {
	has, err := contains(ctx, w.host.cfg, w.repo.Source, tip, w.work.Commit)
	if k := KindOf(err); k == Corrupt || k == NotExist {
		return false, nil
	}
	return has, err
}

// run examines the ref that holds the last commit, and the branch. The ref moves
// before the branch does, and that before the record is made: what the record
// says is in the history of both.
func (w *workExamination) run(ctx context.Context) error {
	cfg, ref := w.host.cfg, keepRef(w.host.cfg.DataID, w.work.Branch)
	refs, err := w.keeper.Refs(ctx, w.repo.Source, strings.TrimSuffix(keepRef(cfg.DataID, ""), "/"))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(refs, func(r Ref) bool { return r.Name == ref })
	kept := false
	if at >= 0 {
		if err := w.commit(ctx, w.at(ref), refs[at].ID, "the ref that holds the last commit of a work branch"); err != nil {
			return err
		}
		if kept, err = w.has(ctx, refs[at].ID); err != nil {
			return err
		}
	}
	if !kept {
		if gone, err := w.deletedSince(ctx, w.replay); gone || err != nil {
			return err
		}
		if err := w.notKept(ctx, ref); err != nil {
			return err
		}
	}
	return w.branch(ctx)
}

// notKept reports that nothing of ours holds the last commit of a work branch.
func (w *workExamination) notKept(ctx context.Context, ref string) error {
	x := w.at(ref)
	x.Kind, x.Severity, x.ID = KeepMissing, Fault, w.work.Commit.String()
	x.Text = "the ref that holds the last commit of a work branch is not there, or elsewhere"
	x.Hint = fmt.Sprintf("Set it in the repository: git update-ref %s %s", ref, w.work.Commit)
	reached, err := w.keeper.Reached(ctx, w.repo.Source, w.work.Commit)
	if err != nil && KindOf(err) != Corrupt {
		return err
	}
	if !reached {
		x.Severity = Loss
		x.Text += ", and no branch has that commit"
	}
	w.report(x)
	return nil
}

// branch examines the work branch itself. People may remove one, and the
// workspace says so; it is reported for whoever wonders.
func (w *workExamination) branch(ctx context.Context) error {
	cfg := w.host.cfg
	head, err := headOrNone(ctx, cfg, w.repo.Source, w.work.Branch)
	if err != nil {
		return err
	}
	if !head.IsZero() {
		if err := w.commit(ctx, w.at("refs/heads/"+w.work.Branch), head, "a work branch"); err != nil {
			return err
		}
	}
	up, err := headOrNone(ctx, cfg, w.repo.Source, w.work.Upstream)
	if err != nil {
		return err
	}
	for _, tip := range []OID{head, up} {
		if has, err := w.has(ctx, tip); has || err != nil {
			return err
		}
	}
	if gone, err := w.deletedSince(ctx, w.replay); gone || err != nil {
		return err
	}
	x := w.at("refs/heads/" + w.work.Branch)
	x.Kind, x.Severity, x.ID = BranchLost, Fault, w.work.Commit.String()
	x.Text = "somebody removed or rewrote the work branch, and its upstream has not merged it"
	x.Hint = fmt.Sprintf("Put it back in the repository: git branch -f %s %s", w.work.Branch, w.work.Commit)
	w.report(x)
	return nil
}

// leftRefs reports the refs by which workspaces that are no more held commits.
func (f *examination) leftRefs(ctx context.Context) error {
	keeper, ok := f.host.cfg.Trees.(RefKeeper)
	if !ok || f.host.cfg.DataID == "" {
		return nil
	}
	slices.SortFunc(f.sources, func(a, b Source) int { return strings.Compare(a.Location, b.Location) })
	refs := map[Source][]Ref{}
	folder := keepRef(f.host.cfg.DataID, "")
	for _, s := range slices.Compact(f.sources) {
		kept, err := keeper.Refs(ctx, s, strings.TrimSuffix(folder, "/"))
		if ctx.Err() != nil {
			return err
		}
		if err == nil { // else it was reported
			refs[s] = kept
		}
	}
	// The streams come after the refs: who made one has its stream by then.
	streams, err := f.store.Streams(ctx)
	if err != nil {
		return err
	}
	owners := map[string]StreamID{}
	for _, id := range streams {
		owners[keepRef(f.host.cfg.DataID, workBranch(f.host.cfg.DataID, id.Project, ID(id.Name)))] = id
	}
	for _, kept := range refs {
		for _, ref := range kept {
			f.report.Refs++
			f.leftRef(ref, owners)
		}
	}
	return nil
}

func (f *examination) leftRef(ref Ref, owners map[string]StreamID) {
	x := Finding{Kind: RefLeft, Severity: Leftover, Ref: ref.Name, ID: ref.ID.String()}
	id, known := owners[ref.Name]
	w := f.census.workspaces[id]
	switch {
	case !known:
		x.Text = "no workspace of this data directory has made the ref"
		x.Hint = "If nobody needs its commit, remove it in the repository: git update-ref -d " + ref.Name
	case w != nil && !w.deletedAt.IsZero():
		x.Project, x.Stream = id.Project, id.Name
		x.Text, x.Hint = "a ref of a workspace that was deleted", hintGC
	default:
		return
	}
	f.found(x)
}
