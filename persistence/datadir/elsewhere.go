package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel.dev/persistence/internal/disk"
	"carrel.dev/workspace"
)

// The file "elsewhere" is the record of the store that keeps contents besides the
// directory: one line, "carrel-elsewhere 1 ", a movement and the store. Without
// the file there is none. The contents that the directory has are always looked
// for there as well, so that at most one of two places is to be known.
const (
	elsewhereName   = "elsewhere"
	elsewhereFormat = "carrel-elsewhere %d %s %s\n"
	elsewhereNow    = 1
)

// movement says in which direction contents go, of those that are large enough.
type movement string

const (
	staying movement = ""        // there is no other store
	joining movement = "joining" // they are put into the other store
	leaving movement = "leaving" // they are put into the directory
)

// Leaving reports whether contents are moved back into the directory: they are
// looked for in the other store, and put into it no more.
func (d *Dir) Leaving() bool { return d.moves == leaving }

// Elsewhere reports whether another store may have contents.
func (d *Dir) Elsewhere() bool { return d.moves != staying }

// record is what is in the file.
type record struct {
	moves movement
	store string
}

// locate holds what a process is told against the record, and makes the record.
// The caller has the lock.
func (d *Dir) locate(ctx context.Context, cfg *Config) error {
	found, err := readRecord(d.root)
	switch {
	case err != nil:
		return err
	case found.store == cfg.Elsewhere:
		d.moves = found.moves
		return nil
	case found.store != "":
		return mismatch(found.store, cfg.Elsewhere)
	case cfg.AsIs:
		return nil // nobody has put anything there
	}
	if cfg.Check != nil {
		if err := cfg.Check(ctx); err != nil {
			return err
		}
	}
	if err := d.alone("a process is alive that uses the data directory without the blob store"); err != nil {
		return err
	}
	return d.write(record{joining, cfg.Elsewhere})
}

func mismatch(recorded, named string) error {
	if named == "" {
		return workspace.Errorf(workspace.Unavailable, "contents of this data directory are in the blob store %s, and no blob store is named", recorded).
			Hinted("Name it with --blobs '%s' or CARREL_BLOBS. To do without it, move the contents back with `carrel blobs move --to dir`.", recorded)
	}
	return workspace.Errorf(workspace.Unavailable, "contents of this data directory are in the blob store %s, and another one is named", recorded).
		Hinted("Name that one with --blobs or CARREL_BLOBS, or move the contents back first, with `carrel blobs move --to dir`.")
}

// alone refuses while other processes are alive. The caller has the lock, under
// which none begins.
func (d *Dir) alone(why string) error {
	entries, err := os.ReadDir(d.processes())
	if err != nil {
		return disk.Fault("look for processes", err)
	}
	for _, e := range entries {
		if !valid(e.Name()) || e.Name() == d.self {
			continue
		}
		alive, err := d.Alive(e.Name())
		if err != nil {
			return err
		}
		if alive {
			pid, _, _ := strings.Cut(e.Name(), "-")
			return workspace.Errorf(workspace.Unavailable, "%s: process %s", why, pid).
				Hinted("Stop every process that uses the data directory, then repeat the command. They may be started again at once.")
		}
	}
	return nil
}

// Leave records that contents move back into the directory. It is Unavailable
// while other processes are alive, which go on putting them into the other store.
func (d *Dir) Leave(ctx context.Context) error {
	return d.change(ctx, func(r record) (record, error) {
		if r.moves == leaving {
			return r, nil
		}
		return record{leaving, r.store}, d.alone("another process puts contents into the blob store")
	})
}

// Join records that contents are put into the other store again.
func (d *Dir) Join(ctx context.Context) error {
	return d.change(ctx, func(r record) (record, error) { return record{joining, r.store}, nil })
}

// Left records that the other store has no contents any more.
func (d *Dir) Left(ctx context.Context) error {
	return d.change(ctx, func(r record) (record, error) {
		if r.moves != leaving {
			return r, workspace.Errorf(workspace.Conflict, "contents were put into the blob store again meanwhile").Hinted("Try again.")
		}
		return record{}, nil
	})
}

// LockMove keeps other processes from moving contents until the result is closed.
// It is Unavailable while another one does: two that move in opposite directions
// would each remove what the other has just left where it was.
func (d *Dir) LockMove() (io.Closer, error) {
	f, err := disk.OpenLock(filepath.Join(d.root, "moving.lock"))
	if err != nil {
		return nil, err
	}
	held, err := disk.TryLock(f)
	if err == nil && !held {
		err = workspace.Errorf(workspace.Unavailable, "another process is moving contents").Hinted("Wait until it has ended, then repeat the command.")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// change replaces the record of a directory that has one.
func (d *Dir) change(ctx context.Context, to func(record) (record, error)) error {
	lock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	r, err := readRecord(d.root)
	if err != nil || r.store == "" {
		return err
	}
	if r, err = to(r); err != nil {
		return err
	}
	return d.write(r)
}

// write makes a record durable. While there is one, the layout is one that older
// programs refuse: it is written before the record, and taken back after it.
func (d *Dir) write(r record) error {
	id := func(layout int) error { return replace(d.root, idName, fmt.Sprintf(idFormat, layout, d.id)) }
	d.moves = r.moves
	if r.moves != staying {
		if err := id(layout); err != nil {
			return err
		}
		return replace(d.root, elsewhereName, fmt.Sprintf(elsewhereFormat, elsewhereNow, r.moves, r.store))
	}
	if err := os.Remove(filepath.Join(d.root, elsewhereName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return disk.Fault("remove a record", err)
	}
	if err := disk.SyncDir(d.root); err != nil {
		return err
	}
	return id(plainLayout)
}

// readRecord reads the file, the zero record if there is none.
func readRecord(root string) (r record, err error) {
	text, err := os.ReadFile(filepath.Join(root, elsewhereName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, disk.Fault("read where contents are", err)
	}
	var version int
	_, err = fmt.Sscanf(string(text), elsewhereFormat, &version, &r.moves, &r.store)
	switch {
	case err == nil && version > elsewhereNow:
		return r, workspace.Errorf(workspace.Unavailable, "a newer program has recorded where contents are, in version %d", version).
			Hinted("Use the newer Carrel that did so.")
	case err != nil || r.moves != joining && r.moves != leaving || fmt.Sprintf(elsewhereFormat, version, r.moves, r.store) != string(text):
		return r, workspace.Errorf(workspace.Corrupt, "the record of where contents are cannot be read").
			Hinted("Restore the file %s of the data directory from a backup.", elsewhereName)
	}
	return r, nil
}
