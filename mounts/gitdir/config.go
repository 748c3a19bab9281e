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
