package datadir

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"carrel.dev/workspace"
)

// childEnv makes this test binary a process that uses a data directory: it
// prints the directory's id and its own name, and closes when its standard
// input ends.
const childEnv = "CARREL_TEST_DATADIR"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		d, err := Open(context.Background(), path)
		if err == nil {
			fmt.Println(d.ID(), d.Self())
			io.Copy(io.Discard, os.Stdin)
			err = d.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is another process that uses a data directory.
type process struct {
	cmd      *exec.Cmd
	in       io.Closer
	id, self string
}

// start starts a process and returns when it has the directory open.
func start(t *testing.T, path string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childEnv+"="+path)
	stderr := new(strings.Builder)
	p.cmd.Stderr = stderr
	in, inErr := p.cmd.StdinPipe()
	out, outErr := p.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, p.cmd.Start()); err != nil {
		t.Error(err)
		return p
	}
	p.in = in
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanErr := fmt.Sscan(line, &p.id, &p.self); err != nil || scanErr != nil {
		t.Errorf("a process printed %q, %v\n%s", line, err, stderr)
	}
	return p
}

// end has a process close the directory.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("process %s: %v\n%s", p.self, err, p.cmd.Stderr)
	}
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.cmd.Wait()
}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func checkAlive(t *testing.T, d *Dir, name string, want bool) {
	t.Helper()
	if got, err := d.Alive(name); got != want || err != nil {
		t.Errorf("alive %s: got %v, %v, want %v", name, got, err, want)
	}
}

func TestAlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	d := open(t, path)
	checkAlive(t, d, d.Self(), true)
	ended, killed, living := start(t, path), start(t, path), start(t, path)
	for _, p := range []*process{ended, killed, living} {
		checkAlive(t, d, p.self, true)
		if p.id != d.ID() {
			t.Errorf("process %s has the directory's id %s, want %s", p.self, p.id, d.ID())
		}
	}
	ended.end(t)
	killed.kill(t)
	checkAlive(t, d, ended.self, false)
	checkAlive(t, d, killed.self, false)
	checkAlive(t, d, living.self, true)

	other := open(t, path) // cleans up after the killed one
	if _, err := os.Stat(filepath.Join(path, "processes", killed.self)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a dead process is still there, %v", err)
	}
	checkAlive(t, other, killed.self, false)
	checkAlive(t, other, living.self, true)
	checkAlive(t, other, d.Self(), true)
	if other.Self() == d.Self() {
		t.Error("two handles have one name")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	checkAlive(t, d, other.Self(), false)
	checkAlive(t, d, d.Self(), true)
	living.end(t)
}

// TestAliveTogether asks from many sides at once: those who ask never take each
// other for the owner.
func TestAliveTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	killed := start(t, path)
	killed.kill(t)
	d := open(t, path)
	// Put the dead file back that Open has cleaned up.
	if err := os.WriteFile(filepath.Join(path, "processes", killed.self), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				checkAlive(t, d, killed.self, false)
				checkAlive(t, d, d.Self(), true)
			}
		})
	}
	wg.Wait()
}

func TestAliveName(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "data"))
	for _, name := range []string{"", ".", "../id", "lock", "1-0123", "1-0123456789ABCDEF", "x1-0123456789abcdef", "1-0123456789abcdef\n"} {
		if alive, err := d.Alive(name); alive || workspace.KindOf(err) != workspace.Invalid {
			t.Errorf("alive %q: got %v, %v, want an error of kind invalid", name, alive, err)
		}
	}
	checkAlive(t, d, "1-0123456789abcdef", false)
}

// TestOpenTogether has many processes open and close a fresh directory at once,
// each cleaning up while others register. All agree on the id, and each is alive
// while it is.
func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "data")
	ids := make(chan string, 100)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			p := start(t, path)
			defer p.end(t)
			ids <- p.id
			for range 10 {
				d, err := Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				ids <- d.ID()
				checkAlive(t, d, d.Self(), true)
				checkAlive(t, d, p.self, true)
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				checkAlive(t, d, d.Self(), false)
			}
		})
	}
	wg.Wait()
	close(ids)
	want := open(t, path).ID()
	for id := range ids {
		if id != want {
			t.Errorf("got id %s, want %s", id, want)
		}
	}
}

func TestLayout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "parent", "data")
	d := open(t, path)
	for _, p := range []string{filepath.Dir(path), path, d.Repos(), filepath.Join(path, "processes")} {
		if st, err := os.Stat(p); err != nil || st.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: got %v, %v, want a directory for its owner", p, st.Mode(), err)
		}
	}
	for got, want := range map[string]string{d.Database(): "carrel.db", d.Blobs(): "blobs", d.Repos(): "repos"} {
		if got != filepath.Join(path, want) {
			t.Errorf("got path %s, want %s below the data directory", got, want)
		}
	}
	if again := open(t, path); again.ID() != d.ID() || len(d.ID()) != 32 {
		t.Errorf("got ids %q and %q, want the same 32 digits", d.ID(), again.ID())
	}
	if other := open(t, filepath.Join(t.TempDir(), "data")); other.ID() == d.ID() {
		t.Error("two directories have one id")
	}
	text, err := os.ReadFile(filepath.Join(path, "id"))
	if want := "carrel-data 1 " + d.ID() + "\n"; string(text) != want || err != nil {
		t.Errorf("file id: got %q, %v, want %q", text, err, want)
	}
}

func TestRefused(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	for text, want := range map[string]workspace.Kind{
		"carrel-data 1 " + id + "\n":       "",
		"carrel-data 3 " + id + "\n":       workspace.Unavailable,
		"":                                 workspace.Corrupt,
		"carrel-data 1 " + id:              workspace.Corrupt,
		"carrel-data 1 " + id[:30] + "\n":  workspace.Corrupt,
		"carrel-data 1 " + id + "\nmore":   workspace.Corrupt,
		"carrel-data 1 x" + id[1:] + "\n":  workspace.Corrupt,
		"carrel-data one " + id[1:] + "\n": workspace.Corrupt,
	} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "id"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), path)
		if workspace.KindOf(err) != want || err != nil && workspace.HintOf(err) == "" {
			t.Errorf("id %q: got error %v, want kind %q and a hint", text, err, want)
		}
		if err == nil {
			d.Close()
		}
		if after, err := os.ReadFile(filepath.Join(path, "id")); string(after) != text || err != nil {
			t.Errorf("id %q: became %q, %v", text, after, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), file); workspace.KindOf(err) != workspace.Invalid {
		t.Errorf("open a file: got error %v, want one of kind invalid", err)
	}
}

func TestDefault(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"CARREL_DATA": "/c", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/c"},
		{map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/carrel"},
		{map[string]string{"XDG_DATA_HOME": "relative", "HOME": "/h"}, "/h/.local/share/carrel"},
		{map[string]string{"HOME": "/h"}, "/h/.local/share/carrel"},
		{nil, ""},
	} {
		got, err := Default(func(name string) string { return test.env[name] })
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("default of %v: got %q, %v, want %q", test.env, got, err, test.want)
		}
	}
}

// TestClean finds the files of the dead, and takes them away only when asked to.
func TestClean(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	dead, alive := start(t, path), start(t, path)
	dead.kill(t)
	if err := os.WriteFile(filepath.Join(path, "carrel.db"), []byte("records"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := OpenAsIs(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 2 {
		if got, err := d.Dead(t.Context()); err != nil || len(got) != 1 || got[0] != dead.self {
			t.Errorf("dead: got %v, %v, want %s", got, err, dead.self)
		}
	}
	if n, err := d.Clean(t.Context()); n != 1 || err != nil {
		t.Errorf("clean: got %d, %v, want 1", n, err)
	}
	if got, err := d.Dead(t.Context()); len(got) != 0 || err != nil {
		t.Errorf("dead after the cleaning: got %v, %v", got, err)
	}
	checkAlive(t, d, alive.self, true)
	alive.end(t)
}

// TestOpenLost: a directory that has lost a part is not made anew, and whoever
// only looks makes none.
func TestOpenLost(t *testing.T) {
	ctx := t.Context()
	for name, tt := range map[string]struct {
		lose       func(path string) error
		open, asIs workspace.Kind
	}{
		"nothing": {func(string) error { return nil }, "", ""},
		"the id":  {func(p string) error { return os.Remove(filepath.Join(p, "id")) }, workspace.Corrupt, workspace.Corrupt},
		"the database, and it has contents": {func(p string) error {
			return errors.Join(os.Remove(filepath.Join(p, "carrel.db")), os.MkdirAll(filepath.Join(p, "blobs", "ab"), 0o700))
		}, workspace.Corrupt, workspace.Corrupt},
		"what the database had": {func(p string) error {
			return errors.Join(os.Truncate(filepath.Join(p, "carrel.db"), 0), os.MkdirAll(filepath.Join(p, "blobs", "ab"), 0o700))
		}, workspace.Corrupt, workspace.Corrupt},
		"the database, which was never there": {func(p string) error { return os.Remove(filepath.Join(p, "carrel.db")) }, "", workspace.Corrupt},
		"everything":                          {func(p string) error { return os.RemoveAll(p) }, "", workspace.NotExist},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			d, err := Open(ctx, path)
			if err == nil {
				err = errors.Join(d.Close(), os.WriteFile(d.Database(), []byte("records"), 0o600), tt.lose(path))
			}
			if err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadDir(path)
			d, err = OpenAsIs(ctx, path)
			if workspace.KindOf(err) != tt.asIs || err != nil && workspace.HintOf(err) == "" {
				t.Errorf("as is: got %v, want %q", err, tt.asIs)
			}
			if after, _ := os.ReadDir(path); err != nil && len(after) != len(before) {
				t.Errorf("as is: it made %v of %v", after, before)
			}
			if err == nil {
				d.Close()
			}
			d, err = Open(ctx, path)
			if workspace.KindOf(err) != tt.open {
				t.Errorf("open: got %v, want %q", err, tt.open)
			}
			if err == nil {
				d.Close()
			}
		})
	}
}
