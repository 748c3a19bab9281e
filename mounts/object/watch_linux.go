package object

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// watch tells who lists a directory of packs, and who has.
type watch struct {
	fd  int // of inotify
	buf [64 << 10]byte
}

func newWatch(packs string) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	if _, err := unix.InotifyAddWatch(fd, packs, unix.IN_OPEN|unix.IN_ONLYDIR); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("inotify_add_watch", err)
	}
	return &watch{fd: fd}, nil
}

func (w *watch) close() { unix.Close(w.fd) }

// listed reports whether a process of this machine, also this one, has opened the
// directory itself since the last call. The kernel notes it before the process
// can read a name.
func (w *watch) listed() (yes bool, err error) {
	for {
		n, err := unix.Read(w.fd, w.buf[:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return yes, nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, err
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			mask := binary.NativeEndian.Uint32(w.buf[at+4:])
			// What else may come says that the directory is not what it was, or
			// that too much was to be told.
			if mask&unix.IN_OPEN == 0 || mask&unix.IN_ISDIR != 0 {
				yes = true
			}
			at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(w.buf[at+12:]))
		}
	}
}

// walked reports whether a git is running that goes through all packs it has
// listed, and may have listed those of this repository. It looks up what others
// do in /proc. A process that it may not look into counts.
func (w *watch) walked(objects string, packs map[string][]string) (bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, err
	}
	h := newHome(objects, packs)
	seen := false
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		seen = seen || pid == os.Getpid()
		dir := filepath.Join("/proc", e.Name())
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		if !strings.HasPrefix(string(name), "git") {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(line) == 0 && begins(dir) {
			return true, nil // what it will do is not to be seen yet
		}
		args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if walksPacks(args) && h.uses(dir, args) {
			return true, nil
		}
	}
	if !seen {
		return false, errors.New("/proc does not show processes")
	}
	return false, nil
}

// begins reports whether a process that shows no arguments is about to have some;
// one that has ended, and that nobody has asked how, has not.
func begins(proc string) bool {
	_, err := os.Readlink(filepath.Join(proc, "exe"))
	return err == nil
}

// walksPacks reports whether a git command goes through packs one by one, or
// through their directory, and fails if one goes. All others look for objects, and
// list the packs again if they do not find one.
func walksPacks(args []string) bool {
	for i, arg := range args {
		if i == 0 {
			arg = strings.TrimPrefix(filepath.Base(arg), "git-")
		}
		switch arg {
		case "gc", "repack", "prune", "fsck", "fsck-objects", "maintenance", "multi-pack-index", "pack-redundant", "verify-pack", "commit-graph", "clone":
			return true
		case "pack-objects":
			return !slices.Contains(args, "--stdout")
		case "cat-file":
			return slices.Contains(args, "--batch-all-objects")
		}
	}
	return false
}

// home is how a process at work in a repository is known.
type home struct {
	git   fs.FileInfo
	trees []string // its directory and those of its worktrees
	packs map[string][]string
}

func newHome(objects string, packs map[string][]string) *home {
	git := filepath.Dir(objects)
	if real, err := filepath.EvalSymlinks(git); err == nil {
		git = real
	}
	h := &home{trees: []string{git}, packs: packs}
	h.git, _ = os.Stat(git)
	if filepath.Base(git) == ".git" {
		h.trees = append(h.trees, filepath.Dir(git))
	}
	links, _ := filepath.Glob(filepath.Join(git, "worktrees", "*", "gitdir"))
	for _, link := range links {
		if text, err := os.ReadFile(link); err == nil {
			h.trees = append(h.trees, filepath.Dir(strings.TrimSpace(string(text))))
		}
	}
	return h
}

// uses reports whether a git process may be at work here: it is in one of the
// directories, it was told the repository's, or it has one of the packs mapped.
func (h *home) uses(proc string, args []string) bool {
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH)
	}
	for _, tree := range h.trees {
		if cwd == tree || strings.HasPrefix(cwd, tree+"/") {
			return true
		}
	}
	env, _ := os.ReadFile(filepath.Join(proc, "environ"))
	for _, e := range strings.Split(string(env), "\x00") {
		if dir, ok := strings.CutPrefix(e, "GIT_DIR="); ok {
			args = append(args, dir)
		}
	}
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok {
			arg = value
		}
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(cwd, arg)
		}
		if h.is(arg) || h.is(arg+"/.git") || h.is(arg+".git") {
			return true
		}
	}
	maps, err := os.ReadFile(filepath.Join(proc, "maps"))
	return err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) || h.mapped(string(maps))
}

func (h *home) is(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && h.git != nil && os.SameFile(info, h.git)
}

// mapped reports whether one of the packs, which names tell wherever the directory
// is mounted, is among the mappings of a process.
func (h *home) mapped(maps string) bool {
	for line := range strings.SplitSeq(maps, "\n") {
		if i := strings.LastIndex(line, "/"+packPrefix); i >= 0 {
			name, _, _ := strings.Cut(line[i+1:], ".")
			if h.packs[name] != nil {
				return true
			}
		}
	}
	return false
}
