package disk

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRemoteMagic(t *testing.T) {
	for magic, want := range map[uint32]string{
		unix.NFS_SUPER_MAGIC: "nfs", unix.CIFS_SUPER_MAGIC: "smb", unix.SMB2_SUPER_MAGIC: "smb", unix.V9FS_MAGIC: "9p",
		unix.EXT4_SUPER_MAGIC: "", unix.XFS_SUPER_MAGIC: "", unix.BTRFS_SUPER_MAGIC: "", unix.TMPFS_MAGIC: "", unix.OVERLAYFS_SUPER_MAGIC: "",
	} {
		if got := remoteMagic(magic); got != want {
			t.Errorf("magic %#x: got %q, want %q", magic, got, want)
		}
	}
}

func TestMountType(t *testing.T) {
	const mountinfo = `22 27 0:21 / /proc rw,nosuid shared:5 - proc proc rw
60 27 0:53 / /mnt/far rw,nosuid,nodev shared:100 - fuse.sshfs ann@far:/ rw,user_id=1000
61 27 0:54 / /mnt/near\040disk rw master:1 propagate_from:2 - fuseblk /dev/sdb1 rw
garbled
`
	for _, test := range []struct {
		minor  uint32
		want   string
		remote bool
	}{{53, "fuse.sshfs", true}, {54, "fuseblk", false}, {21, "proc", false}, {99, "", false}} {
		got, err := mountType(strings.NewReader(mountinfo), 0, test.minor)
		if got != test.want || err != nil || remoteFUSE(got) != test.remote {
			t.Errorf("device 0:%d: got %q, %v, remote %v, want %q", test.minor, got, err, remoteFUSE(got), test.want)
		}
	}
	if kind := remoteFUSE("fuse.gocryptfs"); kind {
		t.Error("a local FUSE file system is taken for a remote one")
	}
}
