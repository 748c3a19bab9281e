package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/mounts/gitdir"
	"carrel.dev/mounts/refs"
	"carrel.dev/workspace"
)

// RepoKind is how a repository lies on disk.
type RepoKind string

// The kinds of repository.
const (
	Bare     RepoKind = "bare"
	Checkout RepoKind = "checkout"
	Linked   RepoKind = "linked worktree"
)

// Found is a repository as it may be registered.
type Found struct {
	// Source names it by its real, absolute path: the top of the work tree, or
	// the git directory of a bare one.
	Source workspace.Source
	Kind   RepoKind
	// Branch is the one that was asked for, else the one that HEAD names.
	Branch string
	// Policy is what git.commit may do by default: commit-to-main or branch.
	Policy string
	// Name is a suggestion: the last segment of the path, without .git.
	Name string
}

// Default policies of Found. The words are those of package workspace.
const (
	policyCommit = "commit-to-main"
	policyBranch = "branch"
)

// Inspect looks at the repository at a path, a bare one or the top of a
// checkout. branch is the one to use, "" for that of HEAD; it need not exist if
// HEAD names it. NotExist or Invalid say what to do instead.
func Inspect(path, branch string) (Found, error) {
	d, err := gitdir.Open(path)
	if err != nil {
		return Found{}, err
	}
	return found(d, branch)
}

// Discover looks for the repository that a directory is in, from there upwards.
// NotExist or Invalid if it is in none that can be used.
func Discover(dir string) (Found, error) {
	d, err := gitdir.Discover(dir)
	if err != nil {
		return Found{}, err
	}
	return found(d, "")
}

func found(d *gitdir.Dir, branch string) (Found, error) {
	f := Found{Kind: Checkout, Policy: policyBranch}
	location := d.Work
	switch {
	case d.Linked():
		f.Kind = Linked
	case d.Work == "":
		f.Kind, f.Policy, location = Bare, policyCommit, d.Git
		if gated(d.Common) {
			f.Policy = policyBranch
		}
	}
	location, err := filepath.EvalSymlinks(location)
	if err != nil {
		return Found{}, workspace.Errorf(workspace.Unavailable, "the repository's work tree is not where it was").
			Hinted("If it is a linked worktree that was moved, run git worktree repair in it.")
	}
	f.Source = workspace.Source{Location: location}
	f.Name = strings.TrimSuffix(filepath.Base(location), ".git")
	if f.Name == "" { // a bare repository called .git
		f.Name = filepath.Base(filepath.Dir(location))
	}
	f.Branch, err = branchOf(d, branch)
	return f, err
}

// gated reports whether a repository has a hook that decides about pushes.
func gated(git string) bool {
	for _, hook := range []string{"pre-receive", "update"} {
		info, err := os.Stat(filepath.Join(git, "hooks", hook))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// branchOf returns the branch to use: the one that is asked for, if it is there,
// else the one that HEAD names.
func branchOf(d *gitdir.Dir, asked string) (string, error) {
	head, err := gitdir.Head(d.Git)
	if err != nil {
		return "", err
	}
	current, onBranch := strings.CutPrefix(head, "refs/heads/")
	if asked == "" {
		if !onBranch {
			return "", workspace.Errorf(workspace.Invalid, "the repository's HEAD is detached").
				Hinted("Name the branch to use, as NAME=PATH#BRANCH.")
		}
		asked = current
	}
	ref, err := refs.Branch(asked)
	if err != nil {
		return "", err
	}
	known := refs.Open(d.Common)
	_, _, err = known.Resolve(ref)
	if errors.Is(err, workspace.NotExist) && head == ref {
		err = unborn(known, asked)
	}
	if errors.Is(err, workspace.NotExist) {
		return "", workspace.Errorf(workspace.NotExist, "the repository has no branch %s", asked).
			Hinted("Name one that it has: git branch --all, in the repository, lists them.")
	}
	return asked, err
}
