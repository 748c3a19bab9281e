// Package datadir is the directory that everything durable of one installation
// lies in, and that its processes share:
//
//	id           the directory's name for itself, random, made once
//	carrel.db    events, checkpoints and small contents (package sqlite)
//	blobs/       larger contents (package dir)
//	repos/       managed repositories, NAME.git
//	processes/   one file a process, locked while it lives
//
// Locks do not hold between machines, so a directory on a network file system is
// refused.
package datadir

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Dir is an open data directory. All methods are safe for concurrent use.
type Dir struct {
	// ID names the data directory, the same in all processes.
	ID   string
	root string
	self string
	lock *os.File // held while the process lives
}

var _ workspace.Processes = (*Dir)(nil)

// Open opens a data directory, making it if need be.
func Open(ctx context.Context, root string) (*Dir, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, disk.Fault("find the data directory", err)
	}
	d := &Dir{root: root}
	if err := os.MkdirAll(d.processes(), 0o700); err != nil {
		return nil, disk.Fault("make the data directory", err)
	}
	if err := disk.CheckLocal(root); err != nil {
		return nil, err
	}
	guard, err := disk.Lock(ctx, filepath.Join(root, "lock"))
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	if d.ID, err = d.identify(); err != nil {
		return nil, err
	}
	return d, d.register()
}

// Database is the path of the database.
func (d *Dir) Database() string { return filepath.Join(d.root, "carrel.db") }

// Blobs is the path of the larger contents.
func (d *Dir) Blobs() string { return filepath.Join(d.root, "blobs") }

// Repos is the path of the managed repositories.
func (d *Dir) Repos() string { return filepath.Join(d.root, "repos") }

// Path is the directory itself.
func (d *Dir) Path() string { return d.root }

func (d *Dir) processes() string { return filepath.Join(d.root, "processes") }

// identify reads the directory's id, making it the first time. The caller holds
// the directory's lock.
func (d *Dir) identify() (string, error) {
	path := filepath.Join(d.root, "id")
	b, err := os.ReadFile(path)
	if err == nil && len(bytes.TrimSpace(b)) > 0 {
		return string(bytes.TrimSpace(b)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", disk.Fault("read the data directory's id", err)
	}
	id := rand.Text()[:12]
	return id, disk.WriteFile(path, []byte(id+"\n"))
}

// register makes this process's file and holds its lock, and takes away those of
// the dead. The caller holds the directory's lock, so that nobody finds a file
// that is made and not locked yet.
func (d *Dir) register() error {
	if err := d.sweep(); err != nil {
		return err
	}
	d.self = rand.Text()
	f, err := os.OpenFile(filepath.Join(d.processes(), d.self), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return disk.Fault("register the process", err)
	}
	if held, err := disk.TryLock(f); !held {
		f.Close()
		return errors.Join(err, workspace.Errorf(workspace.Internal, "the process's own lock is taken"))
	}
	d.lock = f
	return nil
}

// sweep takes away the files of dead processes.
func (d *Dir) sweep() error {
	entries, err := os.ReadDir(d.processes())
	if err != nil {
		return disk.Fault("list the processes", err)
	}
	for _, e := range entries {
		alive, err := d.Alive(e.Name())
		if err != nil {
			return err
		}
		if !alive {
			os.Remove(filepath.Join(d.processes(), e.Name()))
		}
	}
	return nil
}

// Self implements workspace.Processes.
func (d *Dir) Self() string { return d.self }

// Alive implements workspace.Processes. A process without a file is dead.
func (d *Dir) Alive(name string) (bool, error) {
	if name == d.self && d.lock != nil {
		return true, nil
	}
	f, err := os.Open(filepath.Join(d.processes(), filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, disk.Fault("look for a process", err)
	}
	defer f.Close()
	return disk.Probe(f)
}

// Close ends the registration of the process.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	os.Remove(d.lock.Name())
	return d.lock.Close()
}

// Default is where the data directory lies unless it is named: $CARREL_DATA,
// else carrel in $XDG_DATA_HOME, else ~/.local/share/carrel.
func Default() (string, error) {
	if dir := os.Getenv("CARREL_DATA"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "carrel"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", workspace.Errorf(workspace.Invalid, "there is no home directory").Hinted("Name a data directory with --data or CARREL_DATA.")
	}
	return filepath.Join(home, ".local", "share", "carrel"), nil
}
