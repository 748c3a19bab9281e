package disk

import "golang.org/x/sys/unix"

// remoteKind names the kind of a remote file system, "" for a local one.
func remoteKind(dir string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "", err
	}
	if fs.Flags&unix.MNT_LOCAL != 0 {
		return "", nil
	}
	return unix.ByteSliceToString(fs.Fstypename[:]), nil
}
