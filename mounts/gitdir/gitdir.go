// Package gitdir finds out what a path on disk is to git: a bare repository, a
// checkout, a linked worktree or a submodule's checkout, and where its parts
// are.
package gitdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
)

// Dir is a repository on disk. All paths are absolute.
type Dir struct {
	// Git has HEAD and the index, Common has objects, refs and configuration.
	// They differ in a linked worktree.
	Git, Common string
	// Work is the top of the work tree that goes with Git, "" if there is none.
	Work string
	// Bare says that the repository has no main work tree.
	Bare bool
	// Config is what the repository says about itself.
	Config Config
}

// Linked reports whether the directory is a linked worktree.
func (d *Dir) Linked() bool { return d.Git != d.Common }

// Open reads what stands at a path: a git directory or the top of a work tree.
// It is NotExist if there is nothing, Invalid if what is there is no repository
// or uses something that this program does not understand, else Unavailable.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, unreadable(err)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, unreadable(err)
	}
	git := path
	if !isGitDir(path) {
		if git, err = dotGit(path); err != nil {
			return nil, err
		}
	}
	d := &Dir{Git: git, Common: commonDir(git)}
	if err := d.readConfig(); err != nil {
		return nil, err
	}
	d.locateWork(path)
	return d, nil
}

// Discover walks up from a directory to the repository that contains it.
func Discover(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, unreadable(err)
	}
	for at := path; ; at = filepath.Dir(at) {
		d, err := Open(at)
		if !errors.Is(err, errNoRepository) && !errors.Is(err, workspace.NotExist) {
			return d, err
		}
		if at == filepath.Dir(at) {
			return nil, notRepository()
		}
	}
}

// dotGit follows the .git of a work tree: a directory, or a file that names one.
func dotGit(work string) (string, error) {
	dot := filepath.Join(work, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && !isDir(work):
		return "", notRepository()
	case err != nil:
		return "", unreadable(err)
	case !info.IsDir():
		text, err := os.ReadFile(dot)
		if err != nil {
			return "", unreadable(err)
		}
		target, ok := strings.CutPrefix(firstLine(text), "gitdir: ")
		if !ok {
			return "", notRepository()
		}
		dot = resolve(work, target)
	}
	if !isGitDir(dot) {
		return "", notRepository()
	}
	return dot, nil
}

// isGitDir applies git's own test: a HEAD that is one, with objects and refs.
func isGitDir(dir string) bool {
	if !validHead(filepath.Join(dir, "HEAD")) {
		return false
	}
	common := commonDir(dir)
	return isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs"))
}

// validHead reports whether a file names a ref or a commit, also one of a
// SHA-256 repository, so that this can be refused by name.
func validHead(name string) bool {
	if target, err := os.Readlink(name); err == nil {
		return strings.HasPrefix(target, "refs/")
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	line := firstLine(text)
	if target, symbolic := strings.CutPrefix(line, "ref:"); symbolic {
		return strings.HasPrefix(strings.TrimSpace(target), "refs/")
	}
	return (len(line) == 40 || len(line) == 64) && strings.Trim(line, "0123456789abcdef") == ""
}

// commonDir is what a git directory shares with others, itself if nothing.
func commonDir(git string) string {
	text, err := os.ReadFile(filepath.Join(git, "commondir"))
	if err != nil {
		return git
	}
	return resolve(git, firstLine(text))
}

// locateWork finds the work tree. The configuration's core.bare and
// core.worktree speak of the main one only.
func (d *Dir) locateWork(opened string) {
	named := filepath.Base(d.Common) == ".git"
	d.Bare = !named && d.Config.worktree == ""
	if d.Config.bare != nil {
		d.Bare = *d.Config.bare
	}
	switch {
	case d.Linked():
		d.Work = d.worktreePath(d.Git)
	case d.Bare:
	case d.Config.worktree != "":
		d.Work = resolve(d.Common, d.Config.worktree)
	case named:
		d.Work = filepath.Dir(d.Common)
	case opened != d.Git:
		d.Work = opened // a .git file led here
	}
}

// Worktree is one place where a branch may be checked out.
type Worktree struct {
	Git  string // its git directory
	Path string // its top
}

// Worktrees lists the main work tree, unless the repository is bare, and the
// linked ones, those whose directory is gone included.
func (d *Dir) Worktrees() ([]Worktree, error) {
	var all []Worktree
	if !d.Bare {
		main := *d
		main.Git = main.Common
		main.locateWork(main.Common)
		all = append(all, Worktree{Git: d.Common, Path: main.Work})
	}
	linked, err := os.ReadDir(filepath.Join(d.Common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(err)
	}
	for _, e := range linked {
		git := filepath.Join(d.Common, "worktrees", e.Name())
		all = append(all, Worktree{Git: git, Path: d.worktreePath(git)})
	}
	return all, nil
}

// worktreePath is the top of the linked worktree of a git directory, "" if it
// does not say.
func (d *Dir) worktreePath(git string) string {
	text, err := os.ReadFile(filepath.Join(git, "gitdir"))
	if err != nil {
		return ""
	}
	return filepath.Dir(resolve(git, firstLine(text)))
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSuffix(line, "\r")
}

// resolve makes a path absolute that is relative to dir.
func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// errNoRepository marks the error of a path that is no repository.
var errNoRepository = errors.New("not a git repository")

func notRepository() error {
	return (&workspace.Error{Kind: workspace.Invalid, Err: errNoRepository}).
		Hinted("Name a bare repository or the top of a checkout, or make one there with git init.")
}

// unreadable gives the error of a file system call its kind. Its path is that of
// the host and stays out of the message.
func unreadable(err error) error {
	kind := workspace.Unavailable
	if errors.Is(err, fs.ErrNotExist) {
		kind = workspace.NotExist
	}
	return workspace.Errorf(kind, "the repository cannot be read: %w", durable.Cause(err)).
		Hinted("Check that it is where it was and that this process may read it.")
}
