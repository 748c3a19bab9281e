package bench

import (
	"fmt"
	"slices"
	"strings"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func commitRows() []row {
	return []row{
		{"commit-1", "Commit one file", func(s *stage) { prepareCommit(s, 1, 30) }},
		{"commit-100", "Commit 100 files", func(s *stage) { prepareCommit(s, 100, 5) }},
	}
}

const (
	byCommit     = "Carrel: git.commit"
	byGitCommit  = "git add and git commit"
	byGitDurable = "git add and git commit, core.fsync=all"
)

// prepareCommit is for commits of n files. Each contestant has a repository of its
// own, and all make the same commits.
func prepareCommit(s *stage, n int, speedup float64) {
	r := usual().make(s)
	names := r.paths(s)
	s.about = "On top of what is in the repository. The files have been written before: only the commit counts. What Carrel says is " +
		"committed survives a power failure; git by default syncs the commit's own object at best, and with core.fsync=all everything."
	s.steps = sized(1, 5)
	chosen := func(t *turn) edits {
		e, d := edits{}, roll(7, uint64(t.round*s.steps+t.step))
		for len(e) < n {
			e[names[d.n(len(names))]] = fmt.Sprintf("// round %d, step %d\n%s", t.round, t.step, strings.Repeat(d.line()+"\n", 50))
		}
		return e
	}
	dir := copyOf(s, r)
	w := newCarrel(s, dir).workspace(s, "committer")
	s.add(byCommit, func(t *turn) error { return commitInWorkspace(t, w, dir, chosen(t)) })
	onDisk, durable := worktreeOf(s, r), worktreeOf(s, r)
	s.add(byGitCommit, func(t *turn) error { return commitOnDisk(t, onDisk, nil, chosen(t)) })
	s.add(byGitDurable, func(t *turn) error { return commitOnDisk(t, durable, []string{"-c", "core.fsync=all"}, chosen(t)) })
	s.hold(byCommit, byGitCommit, faster(speedup))
	s.hold(byCommit, byGitDurable, target{})
}

func commitInWorkspace(t *turn, w *workspace.Workspace, dir string, changes edits) error {
	if err := changes.inWorkspace(t, w); err != nil {
		return err
	}
	settle()
	err := t.time("", func() error {
		_, err := tools.GitCommit(t, w, tools.GitCommitIn{Message: "bench"})
		return err
	})
	if err != nil {
		return err
	}
	return sawTree(t, dir, "main")
}

// commitOnDisk has git commit, with a configuration.
func commitOnDisk(t *turn, dir string, config []string, changes edits) error {
	if err := changes.onDisk(dir); err != nil {
		return err
	}
	settle()
	paths := changes.paths()
	err := t.time("", func() error {
		if _, err := git(t, dir, slices.Concat(config, []string{"add", "--"}, paths)...); err != nil {
			return err
		}
		_, err := git(t, dir, slices.Concat(config, []string{"commit", "-q", "-m", "bench"})...)
		return err
	})
	if err != nil {
		return err
	}
	return sawTree(t, dir, "HEAD")
}

// sawTree notes the tree that was committed.
func sawTree(t *turn, dir, commit string) error {
	tree, err := git(t, dir, "rev-parse", commit+"^{tree}")
	t.saw("the tree of the commit", tree)
	return err
}
