package crash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"carrel.dev/conformance"
)

// mounted puts a file system of so many MiB on a directory, until the test ends.
func (p *place) mounted(dir string, mebibytes int) {
	t := p.t
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=755", mebibytes))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skipf("no file system can be mounted here (%v); TestWriteLimit and TestFailingParts need none", err)
	}
	must(t, err)
	p.ends = append(p.ends, func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// filler is a file that takes up all of a file system but a little.
type filler struct {
	t    *testing.T
	path string
}

// fill leaves room for so many bytes.
func (f filler) fill(room int64) {
	f.t.Helper()
	var fs unix.Statfs_t
	must(f.t, unix.Statfs(filepath.Dir(f.path), &fs))
	file, err := os.Create(f.path)
	must(f.t, err)
	defer file.Close()
	if size := int64(fs.Bavail)*fs.Bsize - room; size > 0 {
		must(f.t, unix.Fallocate(int(file.Fd()), 0, 0, size))
	}
}

func (f filler) remove() {
	f.t.Helper()
	must(f.t, os.Remove(f.path))
}

// TestFullDisk fills the disk of the data directory, of a repository, and of its
// objects alone.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		dir  func(p *place) string
		room int64 // that is left at most, in pages
	}{
		{"data", func(p *place) string { return p.data }, 64},
		{"repository", func(p *place) string { return filepath.Join(p.git.Dir, "app.git") }, 4},
		{"objects", func(p *place) string { return filepath.Join(p.git.Dir, "app.git", "objects") }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			dir := c.dir(p)
			p.mounted(dir, 64)
			h := newHunger(t, p)
			h.says = "full"
			f := filler{t, filepath.Join(dir, "filler")}
			h.take = func() { f.fill(h.desk.random.Int64N(c.room) << 12) }
			h.give = f.remove
			h.rounds(sized(4, 100))
		})
	}
}

// TestWriteLimit bounds the size of files that the process may write, so that
// writes end short and fail as they do on a disk that is broken.
func TestWriteLimit(t *testing.T) {
	t.Parallel()
	h := newHunger(t, newPlace(t))
	pid := h.session.(*conformance.Pipe).PID()
	limit := func(bytes uint64) {
		must(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil))
	}
	h.take = func() { limit(1 + h.desk.random.Uint64N(1<<20)) }
	h.give = func() { limit(unix.RLIM_INFINITY) }
	h.rounds(sized(5, 200))
}

// TestReadOnlyRepository takes the right to write in a repository away.
func TestReadOnlyRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := filepath.Join(p.git.Dir, "app.git")
	p.mounted(dir, 64)
	h := newHunger(t, p)
	h.take = func() { must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")) }
	h.give = func() { must(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "")) }
	h.rounds(sized(2, 50))
}
