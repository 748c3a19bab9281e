package gitdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/workspace"
)

// Head returns the ref that the HEAD of a git directory names, "" if it names a
// commit.
func Head(git string) (string, error) {
	name := filepath.Join(git, "HEAD")
	if target, err := os.Readlink(name); err == nil { // as git once wrote it
		return target, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", unreadable(err)
	}
	target, symbolic := strings.CutPrefix(firstLine(text), "ref:")
	if !symbolic {
		return "", nil
	}
	return strings.TrimSpace(target), nil
}

// Detached returns the commit that the HEAD of a git directory names. It is
// Corrupt if it names none.
func Detached(git string) (workspace.OID, error) {
	text, err := os.ReadFile(filepath.Join(git, "HEAD"))
	if err != nil {
		return workspace.OID{}, unreadable(err)
	}
	id, err := workspace.ParseOID(firstLine(text))
	if err != nil {
		return id, workspace.Errorf(workspace.Corrupt, "the repository's HEAD is malformed")
	}
	return id, nil
}

// CheckedOut finds a worktree that works on a ref: its HEAD names it, or a
// rebase or bisection there will return to it.
func (d *Dir) CheckedOut(ref string) (at Worktree, found bool, err error) {
	trees, err := d.Worktrees()
	if err != nil {
		return Worktree{}, false, err
	}
	for _, w := range trees {
		uses, err := w.uses(ref)
		if err != nil || uses {
			return w, uses, err
		}
	}
	return Worktree{}, false, nil
}

// uses reports whether the worktree works on a ref.
func (w Worktree) uses(ref string) (bool, error) {
	head, err := Head(w.Git)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // being made, or being removed
	}
	if err != nil || head == ref {
		return head == ref, err
	}
	for _, state := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
		text, err := os.ReadFile(filepath.Join(w.Git, state))
		line := firstLine(text)
		if err == nil && (line == ref || "refs/heads/"+line == ref) {
			return true, nil
		}
	}
	return false, nil
}
