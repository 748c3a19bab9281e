package mounts

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/mounts/durable"
	"carrel.dev/workspace"
	"golang.org/x/sys/unix"
)

// DefaultBranch is the branch of a repository that Create makes.
const DefaultBranch = "main"

// checkManaged reports whether a name may be that of a managed repository: path
// segments that no file system reads in a special way.
func checkManaged(name string) error {
	ok := name != "" && len(name) <= workspace.MaxIdentity && filepath.IsLocal(name) && filepath.Clean(name) == name
	for part := range strings.SplitSeq(name, "/") {
		ok = ok && part != "" && part[0] != '.' && !strings.HasSuffix(part, ".git") && len(part) < workspace.MaxSegment-len(".git") &&
			!strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == ':' })
	}
	if !ok {
		return workspace.Errorf(workspace.Invalid, "%q cannot be the name of a managed repository", name).
			Hinted("Use letters, digits, hyphens and dots, not a dot first, and no .git at the end.")
	}
	return nil
}

// Create makes an empty managed repository: bare, its HEAD the unborn branch
// main. It is there as a whole or not at all, and durable on return. Exist if
// there is one of that name.
func (r *Repos) Create(ctx context.Context, name string) (workspace.Source, error) {
	s := workspace.Source{Location: name, Managed: true}
	path, err := r.path(s)
	if err != nil {
		return s, err
	}
	if err := alive(ctx); err != nil {
		return s, err
	}
	err = r.create(path)
	switch {
	case isStopped(err):
		return s, err
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, fs.ErrExist):
		return s, workspace.Errorf(workspace.Exist, "a managed repository %q exists", name)
	case err != nil:
		return s, workspace.Errorf(workspace.Unavailable, "the repository %q cannot be made: %w", name, errors.Unwrap(err)).
			Hinted("Check that the data directory is writable and has room.")
	}
	return s, nil
}

// newPrefix begins the name of a repository that is being made.
const newPrefix = ".new-"

// create makes the repository under a name that nobody looks at, then renames.
func (r *Repos) create(path string) (err error) {
	parent := filepath.Dir(path)
	if err := durable.MkdirAll(parent, 0o777, nil); err != nil {
		return err
	}
	temp := filepath.Join(parent, newPrefix+rand.Text())
	defer func() {
		if err != nil && !isStopped(err) {
			os.RemoveAll(temp)
		}
	}()
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := durable.MkdirAll(filepath.Join(temp, filepath.FromSlash(dir)), 0o777, nil); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/" + DefaultBranch + "\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
	} {
		if err := durable.WriteFile(filepath.Join(temp, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	if err := durable.Sync(temp); err != nil {
		return err
	}
	if err := r.fault(RepoWritten); err != nil {
		return err
	}
	// A directory replaces an empty one at most, so nothing that exists is lost.
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return durable.Sync(parent)
}
