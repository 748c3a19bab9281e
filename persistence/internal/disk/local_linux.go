package disk

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// remoteMagic names the remote file systems by what statfs calls them
// (linux/magic.h and, for the last four, the sources of their drivers).
func remoteMagic(magic uint32) string {
	switch magic {
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "smb"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "afs"
	case unix.CODA_SUPER_MAGIC:
		return "coda"
	case unix.NCP_SUPER_MAGIC:
		return "ncp"
	case unix.CEPH_SUPER_MAGIC:
		return "ceph"
	case unix.OCFS2_SUPER_MAGIC:
		return "ocfs2"
	case 0x01161970:
		return "gfs2"
	case 0x0bd00bd0:
		return "lustre"
	case 0x19830326:
		return "beegfs"
	case 0x786f4256:
		return "vboxsf"
	}
	return ""
}

// remoteFUSE reports whether a type of mount is a FUSE driver of something that
// is elsewhere. To statfs all FUSE file systems are one.
func remoteFUSE(mount string) bool {
	sub, ok := strings.CutPrefix(mount, "fuse.")
	if !ok {
		return false
	}
	switch sub {
	case "sshfs", "s3fs", "goofys", "gcsfuse", "rclone", "davfs", "glusterfs",
		"ceph-fuse", "juicefs", "curlftpfs", "gvfsd-fuse", "vmhgfs-fuse":
		return true
	}
	return false
}

// remoteKind names the kind of a remote file system, "" for a local one.
func remoteKind(dir string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "", err
	}
	if uint32(fs.Type) != unix.FUSE_SUPER_MAGIC {
		return remoteMagic(uint32(fs.Type)), nil
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", err
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer mounts.Close()
	kind, err := mountType(mounts, unix.Major(st.Dev), unix.Minor(st.Dev))
	if err != nil || !remoteFUSE(kind) {
		return "", err
	}
	return kind, nil
}

// mountType finds the file system type of a device in the lines of
// proc_pid_mountinfo(5), "" if it is not there.
func mountType(mountinfo io.Reader, major, minor uint32) (string, error) {
	device := fmt.Sprintf("%d:%d", major, minor)
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if len(fields) > 2 && fields[2] == device && len(types) > 0 {
			return types[0], nil
		}
	}
	return "", lines.Err()
}
