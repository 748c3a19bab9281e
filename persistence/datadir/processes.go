package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// A process is alive while it holds the exclusive lock of a file of its own,
// which the kernel drops with the process, however that ends. The file's name
// is the process id, for people, and 16 random digits, so that no two processes
// ever have the same.
//
// Files are made and locked, and those of the dead removed, under the
// directory's lock only: a file without a lock is then one whose process is
// dead, not one whose process has just made it.

func (d *Dir) processes() string { return filepath.Join(d.root, "processes") }

// valid reports whether a name is one that register makes.
func valid(name string) bool {
	ok, err := regexp.MatchString(`^[0-9]+-[0-9a-f]{16}$`, name)
	return ok && err == nil
}

// register makes and locks this process's file. The caller has the lock.
func (d *Dir) register() error {
	d.self = fmt.Sprintf("%d-%s", os.Getpid(), random(8))
	f, err := os.OpenFile(filepath.Join(d.processes(), d.self), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return disk.Fault("register this process", err)
	}
	held, err := disk.TryLock(f)
	if err == nil && !held {
		err = workspace.Errorf(workspace.Unavailable, "another process holds the lock of this one").
			Hinted("Start Carrel again.")
	}
	if err != nil {
		f.Close()
		return err
	}
	d.alive = f
	return nil
}

// Dead names the processes that died and left their files.
func (d *Dir) Dead(ctx context.Context) ([]string, error) {
	lock, err := d.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	return d.dead()
}

// Clean removes the files of dead processes and returns how many those were.
func (d *Dir) Clean(ctx context.Context) (removed int, err error) {
	lock, err := d.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	return d.clean()
}

// dead is Dead for a holder of the lock. A file that goes meanwhile is that of a
// process which closes right now.
func (d *Dir) dead() ([]string, error) {
	entries, err := os.ReadDir(d.processes())
	if err != nil {
		return nil, disk.Fault("look for dead processes", err)
	}
	var names []string
	for _, e := range entries {
		if !valid(e.Name()) {
			continue
		}
		alive, err := d.Alive(e.Name())
		if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(filepath.Join(d.processes(), e.Name())); !alive && err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// clean is Clean for a holder of the lock.
func (d *Dir) clean() (removed int, err error) {
	names, err := d.dead()
	for _, name := range names {
		err := os.Remove(filepath.Join(d.processes(), name))
		switch {
		case err == nil:
			removed++
		case !errors.Is(err, fs.ErrNotExist):
			return removed, disk.Fault("remove a dead process", err)
		}
	}
	return removed, err
}

// Self implements workspace.Processes.
func (d *Dir) Self() string { return d.self }

// Alive implements workspace.Processes. A name that no Dir has ever had is
// Invalid: whoever asks would take its owner for dead.
func (d *Dir) Alive(name string) (bool, error) {
	if !valid(name) {
		return false, workspace.Errorf(workspace.Invalid, "%q is not the name of a process of this data directory", name)
	}
	f, err := os.Open(filepath.Join(d.processes(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, disk.Fault("look for a process", err)
	}
	defer f.Close()
	return disk.Probe(f)
}

// Close ends the use of the directory; others see this process as dead.
func (d *Dir) Close() error {
	// Removed while it is locked, it is never seen without its lock.
	err := os.Remove(d.alive.Name())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	return disk.Fault("unregister this process", errors.Join(err, d.alive.Close()))
}
