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

	"carrel.dev/mounts/gitconfig"
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

// Config is the part of a repository's configuration that matters here.
type Config struct {
	bare       *bool
	worktree   string
	perWorkDir bool // extensions.worktreeConfig
	// LogAllRefUpdates is the value in lower case, "" if unset.
	LogAllRefUpdates string
	// NoFileMode says that the file system does not know what is executable.
	NoFileMode bool
	// Shared is the value of core.sharedRepository in lower case.
	Shared string
}

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
	d := &Dir{Git: git, Common: git}
	if text, err := os.ReadFile(filepath.Join(git, "commondir")); err == nil {
		d.Common = resolve(git, firstLine(text))
	}
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
	head, err := os.Readlink(filepath.Join(dir, "HEAD"))
	if err != nil {
		text, err := os.ReadFile(filepath.Join(dir, "HEAD"))
		if err != nil {
			return false
		}
		var symbolic bool
		head, symbolic = strings.CutPrefix(firstLine(text), "ref:")
		if _, err := workspace.ParseOID(firstLine(text)); err == nil {
			head = "refs/"
		} else if !symbolic && len(firstLine(text)) != 64 { // a SHA-256 id: refused later, by name
			return false
		}
	}
	if head = strings.TrimSpace(head); !strings.HasPrefix(head, "refs/") && len(head) != 64 {
		return false
	}
	common := dir
	if text, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		common = resolve(dir, firstLine(text))
	}
	return isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs"))
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

// Logs reports whether git would start a reflog for a branch that has none.
func (d *Dir) Logs() bool {
	switch d.Config.LogAllRefUpdates {
	case "":
		return !d.Bare
	case "always":
		return true
	}
	return gitconfig.Entry{Value: d.Config.LogAllRefUpdates}.Bool()
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

// readConfig reads the configuration and refuses what is not understood.
func (d *Dir) readConfig() error {
	config, err := readConfigFile(filepath.Join(d.Common, "config"))
	if err != nil {
		return err
	}
	if config.perWorkDir {
		more, err := readConfigFile(filepath.Join(d.Common, "config.worktree"))
		if err != nil {
			return err
		}
		if more.bare != nil {
			config.bare = more.bare
		}
		if more.worktree != "" {
			config.worktree = more.worktree
		}
	}
	d.Config = config
	return nil
}

func readConfigFile(name string) (c Config, err error) {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, unreadable(err)
	}
	entries, err := gitconfig.Parse(text)
	if err != nil {
		return c, workspace.Errorf(workspace.Invalid, "the repository's configuration is malformed").
			Hinted("Ask git config --list, in the repository, which line it means.")
	}
	for _, e := range entries {
		if err := understood(e); err != nil {
			return c, err
		}
		switch e.Name {
		case "core.bare":
			bare := e.Bool()
			c.bare = &bare
		case "core.filemode":
			c.NoFileMode = !e.Bool()
		case "core.worktree":
			c.worktree = e.Value
		case "core.logallrefupdates":
			c.LogAllRefUpdates = strings.ToLower(e.Value)
			if e.Bare {
				c.LogAllRefUpdates = "true"
			}
		case "core.sharedrepository":
			c.Shared = strings.ToLower(e.Value)
			if e.Bare {
				c.Shared = "true"
			}
		case "extensions.worktreeconfig":
			c.perWorkDir = e.Bool()
		}
	}
	return c, nil
}

// understood refuses a configuration entry that changes what the repository's
// files mean in a way that is not known here.
func understood(e gitconfig.Entry) error {
	section, remote, key := e.Split()
	switch {
	case section == "core" && key == "repositoryformatversion":
		if e.Value != "0" && e.Value != "1" {
			return refused("its format version is %q", e.Value)
		}
		return nil
	case section == "remote" && remote != "" && key == "promisor" && e.Bool():
		return partial()
	case section != "extensions":
		return nil
	}
	switch value := strings.ToLower(e.Value); key {
	case "noop", "noop-v1", "preciousobjects", "worktreeconfig", "relativeworktrees":
		return nil
	case "partialclone":
		return partial()
	case "objectformat":
		if value == "sha1" {
			return nil
		}
		return refused("its object format is %s", value)
	case "refstorage":
		if value == "files" {
			return nil
		}
		return refused("its refs are stored as %s", value)
	}
	return refused("it uses the extension %s", key)
}

func refused(format string, args ...any) error {
	return workspace.Errorf(workspace.Invalid, "the repository cannot be used: "+format, args...).
		Hinted("Repositories in the format that git init makes by default are understood: SHA-1 objects, refs as files. Make a clone of it in that format.")
}

func partial() error {
	return workspace.Errorf(workspace.Invalid, "the repository cannot be used: it is a partial clone").
		Hinted("A partial clone lacks objects that git would fetch when it needs them. Make a clone without --filter.")
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
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return workspace.Errorf(kind, "the repository cannot be read: %w", err).
		Hinted("Check that it is where it was and that this process may read it.")
}
