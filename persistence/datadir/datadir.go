// Package datadir is the directory in which everything of Carrel on one machine
// survives: the database, the larger contents, the managed repositories, and the
// locks by which the processes that share it know of each other.
package datadir

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// Dir is a data directory that is in use. Whoever opened it keeps it until
// Close: it holds the lock by which others see that this process is alive.
type Dir struct {
	root  string
	id    string
	self  string
	alive *os.File // holds the lock
	moves movement // of the contents, as it was recorded when it was opened
}

var _ workspace.Processes = (*Dir)(nil)

// The versions of what a data directory holds, written beside the id: layout has
// a record of where contents are, without which a program would miss those that
// are elsewhere; plainLayout has none, and older programs know no other.
const (
	plainLayout = 1
	layout      = 2
)

// Default is where the data directory is when nobody says otherwise:
// $CARREL_DATA, else carrel below $XDG_DATA_HOME, else ~/.local/share/carrel.
// See the XDG Base Directory Specification, which has relative paths ignored.
func Default(getenv func(string) string) (string, error) {
	if p := getenv("CARREL_DATA"); p != "" {
		return p, nil
	}
	if p := getenv("XDG_DATA_HOME"); filepath.IsAbs(p) {
		return filepath.Join(p, "carrel"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "carrel"), nil
	}
	return "", workspace.Errorf(workspace.Invalid, "no data directory: neither CARREL_DATA nor XDG_DATA_HOME nor HOME is set").
		Hinted("Name a data directory with --data.")
}

// Open opens a data directory, and makes it, for its owner only, if need be. A
// directory on a network file system, or one that a newer program laid out, is
// Unavailable; one whose id cannot be read is Corrupt. It removes what dead
// processes have left.
func Open(ctx context.Context, path string) (*Dir, error) { return OpenWith(ctx, path, &Config{}) }

// Config says how a data directory is used; the zero value is the default.
type Config struct {
	// AsIs removes nothing and makes no new directory, see OpenAsIs.
	AsIs bool
	// Elsewhere is the store that keeps contents besides the directory, "" for
	// none. The directory records it; whoever names another one, or none, is
	// refused from then on.
	Elsewhere string
	// Check is asked before Elsewhere is recorded; nil agrees. What it refuses is
	// not recorded.
	Check func(context.Context) error
}

// OpenWith is Open with a configuration. Elsewhere is recorded the first time
// that it is named, unless AsIs is; this is Unavailable while a process is alive
// that has opened the directory before, since that looks nowhere else. One that is
// not as recorded is Unavailable too.
func OpenWith(ctx context.Context, path string, cfg *Config) (*Dir, error) {
	if cfg.AsIs {
		if err := checkComplete(path); err != nil {
			return nil, err
		}
	}
	return openDir(ctx, path, cfg)
}

// The files without which a directory holds nothing.
const (
	idName       = "id"
	databaseName = "carrel.db"
)

// OpenAsIs is Open that removes nothing and makes no new directory: one without
// id and database is NotExist, and one that has lost one of them is Corrupt.
func OpenAsIs(ctx context.Context, path string) (*Dir, error) {
	return OpenWith(ctx, path, &Config{AsIs: true})
}

// checkComplete refuses a directory without which there would be a new one.
func checkComplete(root string) error {
	id, err := holds(root, idName)
	if err != nil {
		return err
	}
	database, err := holds(root, databaseName)
	switch {
	case err != nil:
		return err
	case !id && !database:
		return workspace.Errorf(workspace.NotExist, "this is no data directory of Carrel").
			Hinted("Name another one with --data or CARREL_DATA.")
	case !id:
		return lost(idName)
	case !database:
		return lost(databaseName)
	}
	return nil
}

// checkLost refuses a directory of which a part has gone: made anew, it would
// pass for one in which nothing ever was. One that is being made has no contents
// yet.
func (d *Dir) checkLost() error {
	id, err := holds(d.root, idName)
	if err != nil {
		return err
	}
	database, err := holds(d.root, databaseName)
	if err != nil || database == id {
		return err
	}
	if !id {
		return lost(idName)
	}
	entries, err := os.ReadDir(d.Blobs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return disk.Fault("look at the data directory", err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "tmp" }) {
		return lost(databaseName)
	}
	return nil
}

// holds reports whether a file is there and not empty.
func holds(root, name string) (bool, error) {
	info, err := os.Stat(filepath.Join(root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, disk.Fault("look at the data directory", err)
	}
	return info.Size() > 0, nil
}

func lost(name string) error {
	return workspace.Errorf(workspace.Corrupt, "the data directory has lost its file %s", name).
		Hinted("Stop every process that uses it, keep a copy of it, and restore it from a backup.")
}

func openDir(ctx context.Context, path string, cfg *Config) (*Dir, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, disk.Fault("find the data directory", err)
	}
	if err := mkdir(root); err != nil {
		return nil, err
	}
	if err := disk.CheckLocal(root); err != nil {
		return nil, err
	}
	d := &Dir{root: root}
	for _, sub := range []string{d.Repos(), d.processes()} {
		if err := mkdir(sub); err != nil {
			return nil, err
		}
	}
	// The lock makes one of the processes that open a fresh directory choose the
	// id, and keeps others from cleaning up a lock file that is not locked yet.
	lock, err := d.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := d.checkLost(); err != nil {
		return nil, err
	}
	if d.id, err = readID(root); errors.Is(err, fs.ErrNotExist) {
		d.id, err = writeID(root)
	}
	if err != nil {
		return nil, err
	}
	if !cfg.AsIs {
		if _, err := d.clean(); err != nil {
			return nil, err
		}
	}
	if err := d.locate(ctx, cfg); err != nil {
		return nil, err
	}
	if err := d.register(); err != nil {
		return nil, err
	}
	return d, nil
}

// lock takes the directory's lock; closing the result releases it.
func (d *Dir) lock(ctx context.Context) (*os.File, error) {
	return disk.Lock(ctx, filepath.Join(d.root, "lock"))
}

// mkdir makes a directory and what is above it, with durable names.
func mkdir(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return workspace.Errorf(workspace.Invalid, "the data directory has a file where a directory belongs").
			Hinted("Choose another data directory with --data or CARREL_DATA.")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return disk.Fault("look at the data directory", err)
	}
	if err := mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return disk.Fault("make the data directory", err)
	}
	return disk.SyncDir(filepath.Dir(path))
}

// ID is the random name of this directory, 32 hexadecimal digits, chosen when it
// was made.
func (d *Dir) ID() string { return d.id }

// Database is the path of the database.
func (d *Dir) Database() string { return filepath.Join(d.root, databaseName) }

// Blobs is the path of the directory of larger contents.
func (d *Dir) Blobs() string { return filepath.Join(d.root, "blobs") }

// Repos is the path of the directory of managed repositories. It exists.
func (d *Dir) Repos() string { return filepath.Join(d.root, "repos") }

const idFormat = "carrel-data %d %s\n"

// readID returns the directory's id, or an error that is fs.ErrNotExist.
func readID(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, idName))
	if err != nil {
		return "", disk.Fault("read the data directory's id", err)
	}
	var version int
	var id string
	_, err = fmt.Sscanf(string(text), idFormat, &version, &id)
	if err == nil && version > layout {
		return "", workspace.Errorf(workspace.Unavailable, "the data directory has layout %d and this program knows layouts up to %d", version, layout).
			Hinted("Use the newer Carrel that made it, or another data directory.")
	}
	if raw, hexErr := hex.DecodeString(id); err != nil || hexErr != nil || len(raw) != 16 || fmt.Sprintf(idFormat, version, id) != string(text) {
		return "", workspace.Errorf(workspace.Corrupt, "the data directory's id cannot be read").
			Hinted("Restore the file id of the data directory from a backup.")
	}
	return id, nil
}

// writeID chooses an id and makes it durable under its name, whole or not at all.
func writeID(root string) (string, error) {
	id := random(16)
	return id, replace(root, idName, fmt.Sprintf(idFormat, plainLayout, id))
}

// replace makes a file of the directory hold a text, durably, whole or not at
// all. The caller has the lock.
func replace(root, name, text string) error {
	tmp := filepath.Join(root, name+".tmp")
	err := writeSynced(tmp, text)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(root, name))
	}
	if err != nil {
		return disk.Fault("write the data directory's "+name, err)
	}
	return disk.SyncDir(root)
}

func writeSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// random returns n random bytes in hexadecimal.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
