package tools

import (
	"context"
	"fmt"
	"strings"

	"carrel.dev/workspace"
)

// GitCommitIn are the arguments of git.commit.
type GitCommitIn struct {
	Message        string   `json:"message" req:"true"`
	Scope          string   `json:"scope,omitempty" doc:"mount; needed if several have changes"`
	Paths          []string `json:"paths,omitempty" doc:"only these; default all of the mount"`
	Author         *Author  `json:"author,omitempty"`
	Force          bool     `json:"force,omitempty" doc:"ignored files too, if in paths"`
	AllowEmptyTree bool     `json:"allowEmptyTree,omitempty"`
}

// Author is who a commit is by.
type Author struct {
	Name  string `json:"name" req:"true"`
	Email string `json:"email" req:"true"`
}

// GitCommitOut is the result of git.commit.
type GitCommitOut struct {
	Workspace    string   `json:"workspace"`
	Mount        string   `json:"mount"`
	RepoPath     string   `json:"repoPath"`
	Branch       string   `json:"branch"`
	Commit       string   `json:"commit"`
	ChangedPaths []string `json:"changedPaths"`
	More         int      `json:"more,omitempty"` // changed paths that are not listed

	upstream  string
	displaced int // changes of the mount that could not be committed with it
}

// Render says what was committed and, on a work branch, how it goes on.
func (o GitCommitOut) Render() Rendering {
	var b strings.Builder
	fmt.Fprintf(&b, "committed %s to %s of %s: %s", o.Commit, o.Branch, o.RepoPath, plural(len(o.ChangedPaths)+o.More, "path"))
	for _, p := range o.ChangedPaths {
		b.WriteString("\n  " + shown(p))
	}
	if o.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", o.More)
	}
	if o.upstream != "" {
		fmt.Fprintf(&b, "\nThis is a work branch. In the repository, on %s: git diff HEAD...%s shows it, git merge %s takes it.", o.upstream, o.Branch, o.Branch)
	}
	left := ""
	if o.displaced > 0 {
		left = fmt.Sprintf("[left out, since another mount is at their paths: %s, which `git.status` lists as displaced]", plural(o.displaced, "change"))
	}
	return Rendering{Text: b.String(), Notes: notes(left)}
}

func gitCommit() *Tool {
	return onWorkspace(Tool{
		Name: "git.commit", Core: true, needs: workspace.VerbCommit,
		Description: "Commit one mount's changes to its repository, as one commit on top of what is there now. " +
			"If somebody else changed the same path since, nothing is committed and the conflicts are listed.",
	}, GitCommit)
}

// GitCommit makes one commit of one mount's changes.
func GitCommit(ctx context.Context, w *workspace.Workspace, in GitCommitIn) (GitCommitOut, error) {
	s, err := w.Snapshot(ctx)
	if err != nil {
		return GitCommitOut{}, err
	}
	r := workspace.CommitRequest{Message: in.Message, Force: in.Force, AllowEmptyTree: in.AllowEmptyTree}
	answered, err := w.Answered(ctx)
	if err != nil {
		return GitCommitOut{}, err
	}
	if !answered { // a repeat has nothing left to commit, and is given the stored answer
		m, err := committable(ctx, s, in)
		if err != nil {
			return GitCommitOut{}, err
		}
		r.Mount = m.Point
		if r.Paths, err = pathsIn(m, in.Paths); err != nil {
			return GitCommitOut{}, err
		}
	}
	if in.Author != nil {
		r.Author = workspace.Signature{Name: in.Author.Name, Email: in.Author.Email}
	}
	c, err := w.Commit(ctx, r)
	if err != nil {
		return GitCommitOut{}, err
	}
	out := newGitCommitOut(w, c)
	for _, p := range s.Displaced() {
		if e, _ := s.State.Upper.Get(p); e.Owner.Mount == c.Mount {
			out.displaced++
		}
	}
	return out, nil
}

func newGitCommitOut(w *workspace.Workspace, c workspace.Commit) GitCommitOut {
	out := GitCommitOut{
		Workspace: string(w.ID()), Mount: c.Mount.String(), RepoPath: string(c.Repo), Branch: c.Branch, Commit: c.Commit.String(),
		ChangedPaths: []string{}, upstream: c.Upstream,
	}
	room := pageRoom(w, 0)
	for _, p := range c.Paths {
		if room.take(len(p) + 8) {
			out.ChangedPaths = append(out.ChangedPaths, p.String())
		} else {
			out.More++
		}
	}
	return out
}

// committable returns the mount to commit: the one that the scope names, or the
// paths lie in, or the only one with changes.
func committable(ctx context.Context, s *workspace.Snapshot, in GitCommitIn) (*workspace.Mount, error) {
	if in.Scope != "" {
		mounts, err := inScope(s, in.Scope)
		if err != nil {
			return nil, err
		}
		return mounts[0], nil
	}
	if len(in.Paths) > 0 && strings.HasPrefix(in.Paths[0], "/") {
		p, err := workspace.ParsePath(in.Paths[0])
		if err != nil {
			return nil, err
		}
		if m := s.Table.Route(p); m != nil {
			return m, nil
		}
		return nil, workspace.Errorf(workspace.Invalid, "is in no mount").At(p.String()).Hinted("The mounts are: %s.", points(s.Table.Mounts))
	}
	dirty, err := dirtyMounts(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case len(dirty) == 0:
		return nil, workspace.Errorf(workspace.Invalid, "nothing to commit")
	case len(dirty) > 1:
		return nil, workspace.Errorf(workspace.Invalid, "the changes span %d mounts: %s", len(dirty), points(dirty)).
			Hinted("Commit one after the other, each with its scope.")
	}
	return dirty[0], nil
}

// dirtyMounts returns the mounts that have something to commit. One with ignored
// files only is no candidate.
func dirtyMounts(ctx context.Context, s *workspace.Snapshot) ([]*workspace.Mount, error) {
	var dirty []*workspace.Mount
	for _, m := range s.Table.Mounts {
		changes, err := s.Changes(ctx, m)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if !c.Ignored {
				dirty = append(dirty, m)
				break
			}
		}
	}
	return dirty, nil
}

// pathsIn resolves the paths of a commit, which all lie in its mount.
func pathsIn(m *workspace.Mount, spellings []string) ([]workspace.Path, error) {
	var paths []workspace.Path
	for _, spelling := range spellings {
		p, err := workspace.ParsePath(spelling)
		if err != nil {
			return nil, err
		}
		if !m.Point.Contains(p) {
			e := workspace.Errorf(workspace.Invalid, "is not in the mount %s", m.Point).At(p.String())
			if !strings.HasPrefix(spelling, "/") && workspace.Scratch.Contains(p) {
				e = e.Hinted("Did you mean %s? Relative paths are below %s.", m.Point.Join(p.Rel(workspace.Scratch)), workspace.Scratch)
			}
			return nil, e
		}
		paths = append(paths, p)
	}
	return paths, nil
}
