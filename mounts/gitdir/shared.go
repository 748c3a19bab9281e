package gitdir

import (
	"io/fs"
	"os"
	"strconv"
)

// Share gives a new file or directory the permissions that core.sharedRepository
// asks for, by git's rules.
func (d *Dir) Share(path string) error {
	tweak, exact, ok := sharedBits(d.Config.Shared)
	if !ok {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	old := info.Mode() & (fs.ModePerm | fs.ModeSetgid)
	mode := sharedMode(old, info.IsDir(), tweak, exact)
	if mode == old {
		return nil
	}
	return os.Chmod(path, mode)
}

// sharedBits reads a value of core.sharedRepository: the permissions to add, or
// exactly those to have. Not ok means that the umask decides.
func sharedBits(value string) (bits fs.FileMode, exact, ok bool) {
	const group, everybody = 0o660, 0o664
	switch value {
	case "group", "true", "yes", "on", "1":
		return group, false, true
	case "all", "world", "everybody", "2":
		return everybody, false, true
	}
	n, err := strconv.ParseUint(value, 8, 16)
	if err != nil || n&0o600 != 0o600 {
		return 0, false, false
	}
	return fs.FileMode(n & 0o666), true, true
}

func sharedMode(old fs.FileMode, dir bool, tweak fs.FileMode, exact bool) fs.FileMode {
	if old&0o200 == 0 {
		tweak &^= 0o222
	}
	if old&0o100 != 0 || dir {
		tweak |= tweak & 0o444 >> 2
	}
	mode := old | tweak
	if exact {
		mode = old&^fs.ModePerm | tweak
	}
	if dir && mode&0o060 != 0 {
		mode |= fs.ModeSetgid
	}
	return mode
}
