package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"carrel.dev/workspace"
)

// Lock takes the exclusive lock of a lock file, which it creates if need be,
// and waits for it until ctx ends. Closing the result releases it. A lock file
// is never removed: whoever had it open would lock a file without a name.
func Lock(ctx context.Context, path string) (*os.File, error) {
	f, err := OpenLock(path)
	if err != nil {
		return nil, err
	}
	// A blocking flock could not be given up when ctx ends, so it is polled.
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		held, err := TryLock(f)
		if held {
			return f, nil
		}
		if err == nil {
			err = sleep(ctx, wait)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
}

// OpenLock opens a lock file, which it creates if need be, and takes no lock.
func OpenLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, Fault("open a lock file", err)
	}
	return f, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return workspace.Errorf(workspace.Canceled, "waiting for a lock: %w", context.Cause(ctx))
	case <-t.C:
		return nil
	}
}

// TryLock takes the exclusive lock of an open file if nobody holds one.
func TryLock(f *os.File) (bool, error) { return flock(f, unix.LOCK_EX) }

// Unlock releases the lock of a file that stays open.
func Unlock(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return Fault("unlock a file", err)
	}
	return nil
}

// Probe reports whether somebody holds the exclusive lock of an open file. It
// takes a shared lock itself, so that probes do not mistake each other for an
// owner; closing f releases it.
func Probe(f *os.File) (held bool, err error) {
	free, err := flock(f, unix.LOCK_SH)
	return !free && err == nil, err
}

// flock takes a lock without waiting and reports whether it did.
func flock(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, Fault("lock a file", fmt.Errorf("flock: %w", err))
		}
	}
}
