package bench

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncData has a file's content reach the disk, and no more than that.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// fileSystem is the kind of file system that a directory is on.
func fileSystem(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	kinds := map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
		unix.TMPFS_MAGIC: "tmpfs, which is no disk", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	}
	if kind, ok := kinds[int64(s.Type)]; ok {
		return kind
	}
	return fmt.Sprintf("type %#x", s.Type)
}
