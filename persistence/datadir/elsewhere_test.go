package datadir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

const store, other = "s3://bodies/a", "s3://bodies/b"

func openWith(t *testing.T, path string, cfg *Config) *Dir {
	t.Helper()
	d, err := OpenWith(t.Context(), path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// refused opens a directory that has to refuse, with a text in what it says.
func refused(t *testing.T, path string, cfg *Config, text string) {
	t.Helper()
	d, err := OpenWith(t.Context(), path, cfg)
	if err == nil {
		d.Close()
	}
	if workspace.KindOf(err) != workspace.Unavailable || workspace.HintOf(err) == "" || !strings.Contains(err.Error(), text) {
		t.Errorf("open with %+v: got %v, want one of kind unavailable with a hint and %q", *cfg, err, text)
	}
}

func layoutOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path, idName))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))[1]
}

// TestElsewhere takes a directory to another store and back.
func TestElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	open(t, path).Close()
	if got := layoutOf(t, path); got != "1" {
		t.Errorf("a new directory has layout %s", got)
	}
	with := &Config{Elsewhere: store}
	openWith(t, path, with).Close()
	text, err := os.ReadFile(filepath.Join(path, elsewhereName))
	if want := "carrel-elsewhere 1 joining s3://bodies/a\n"; string(text) != want || err != nil || layoutOf(t, path) != "2" {
		t.Errorf("got the record %q, %v, layout %s", text, err, layoutOf(t, path))
	}
	refused(t, path, &Config{}, "no blob store is named")
	refused(t, path, &Config{Elsewhere: other}, "another one is named")

	d, beside := openWith(t, path, with), openWith(t, path, with)
	if !d.Elsewhere() || d.Leaving() {
		t.Error("it is not elsewhere")
	}
	if err := d.Leave(t.Context()); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("leave beside a process: got %v", err)
	}
	beside.Close()
	if err := errors.Join(d.Leave(t.Context()), d.Leave(t.Context())); err != nil || !d.Leaving() {
		t.Errorf("leave: %v", err)
	}
	refused(t, path, &Config{}, "no blob store is named")
	if late := openWith(t, path, with); !late.Leaving() || !late.Elsewhere() {
		t.Error("one that is opened later does not know that contents are leaving")
	}
	if err := d.Join(t.Context()); err != nil || d.Leaving() {
		t.Errorf("join: %v", err)
	}
	if err := d.Left(t.Context()); workspace.KindOf(err) != workspace.Conflict {
		t.Errorf("left while contents join: got %v", err)
	}
}

func TestLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	d := openWith(t, path, &Config{Elsewhere: store})
	id := d.ID()
	if err := errors.Join(d.Leave(t.Context()), d.Left(t.Context())); err != nil || d.Elsewhere() {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, elsewhereName)); !errors.Is(err, fs.ErrNotExist) || layoutOf(t, path) != "1" {
		t.Errorf("the record: %v, layout %s", err, layoutOf(t, path))
	}
	d.Close()
	if again := openWith(t, path, &Config{}); again.ID() != id || again.Elsewhere() {
		t.Errorf("got the id %s, want %s", again.ID(), id)
	}
}

// TestJoin looks at what keeps a store from being recorded.
func TestJoin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	with := &Config{Elsewhere: store}
	beside := start(t, path)
	refused(t, path, with, "a process is alive")
	beside.end(t)

	unreachable := errors.New("it cannot be reached")
	if _, err := OpenWith(t.Context(), path, &Config{Elsewhere: store, Check: func(context.Context) error { return unreachable }}); !errors.Is(err, unreachable) {
		t.Errorf("the check fails: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(path, databaseName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	asIs := openWith(t, path, &Config{Elsewhere: store, AsIs: true})
	if asIs.Elsewhere() {
		t.Error("a look has made a record")
	}
	asIs.Close()
	openWith(t, path, with).Close()
	if asIs = openWith(t, path, &Config{Elsewhere: store, AsIs: true}); !asIs.Elsewhere() {
		t.Error("a look does not see the record")
	}
}

func TestRecordRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	open(t, path).Close()
	for text, want := range map[string]workspace.Kind{
		"carrel-elsewhere 2 joining s3://bodies/a\n": workspace.Unavailable,
		"": workspace.Corrupt,
		"carrel-elsewhere 1 joining s3://bodies/a":    workspace.Corrupt,
		"carrel-elsewhere 1 hiding s3://bodies/a\n":   workspace.Corrupt,
		"carrel-elsewhere 1 joining s3://bodies/a\nx": workspace.Corrupt,
		"carrel-elsewhere 1 joining \n":               workspace.Corrupt,
	} {
		if err := os.WriteFile(filepath.Join(path, elsewhereName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenWith(t.Context(), path, &Config{Elsewhere: store}); workspace.KindOf(err) != want || workspace.HintOf(err) == "" {
			t.Errorf("record %q: got %v, want one of kind %s with a hint", text, err, want)
		}
	}
}

func TestLockMove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	one, two := open(t, path), open(t, path)
	lock, err := one.LockMove()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.LockMove(); workspace.KindOf(err) != workspace.Unavailable {
		t.Errorf("move twice: got %v", err)
	}
	lock.Close()
	if lock, err = two.LockMove(); err != nil {
		t.Fatal(err)
	}
	lock.Close()
}
