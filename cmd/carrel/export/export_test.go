package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// view is a View by relative path. A content that begins with "-> " is a link's
// target, one with "+x " is executable, "/" is an empty directory, "module" a
// submodule, "broken" cannot be read.
type view map[string]string

func (v view) found(rel string) workspace.Found {
	f := workspace.Found{Path: workspace.Root.Join(rel), Kind: workspace.File, Mode: workspace.ModeFile}
	switch text := v[rel]; {
	case text == "", text == "/":
		f.Kind, f.Mode = workspace.Dir, workspace.ModeDir
		return f
	case text == "module":
		f.Kind, f.Mode = workspace.Submodule, workspace.ModeSubmodule
	case strings.HasPrefix(text, "-> "):
		f.Kind, f.Mode = workspace.Symlink, workspace.ModeSymlink
	case strings.HasPrefix(text, "+x "):
		f.Mode = workspace.ModeExecutable
	}
	f.OID, _ = workspace.BlobID(v.content(rel))
	return f
}

func (v view) content(rel string) []byte { return []byte(strings.TrimPrefix(v[rel], "-> ")) }

func (v view) ReadDir(_ context.Context, dir workspace.Path) ([]workspace.Found, error) {
	seen := map[string]workspace.Found{}
	for rel := range v {
		p := workspace.Root.Join(rel)
		if !p.Below(dir) {
			continue
		}
		name, _, deeper := strings.Cut(p.Rel(dir), "/")
		if child := dir.Join(name); deeper {
			seen[name] = workspace.Found{Path: child, Kind: workspace.Dir, Mode: workspace.ModeDir}
		} else {
			seen[name] = v.found(rel)
		}
	}
	return slices.Collect(maps.Values(seen)), nil
}

var errBroken = errors.New("cannot be read")

func (v view) Content(_ context.Context, f workspace.Found) ([]byte, error) {
	rel := f.Path.Rel(workspace.Root)
	if v[rel] == "broken" {
		return nil, errBroken
	}
	return v.content(rel), nil
}

// files are what the directory must hold, in the notation of view.
func (v view) files() map[string]string {
	files := map[string]string{}
	for rel, text := range v {
		if text == "module" {
			text = "/"
		}
		files[rel] = text
		for d := range above(rel) {
			files[d] = "/"
		}
	}
	return files
}

var what = What{Project: "default", Workspace: "/agents/demo", Top: workspace.Root}

func export(t *testing.T, v view, dir string) Report {
	t.Helper()
	r, err := Write(t.Context(), v, what, dir, false)
	if err != nil {
		t.Fatalf("Write: %v", err)
	}
	return r
}

// onDisk is what a directory holds, in the notation of view.
func onDisk(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if err != nil || rel == "." || rel == Manifest {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			files[rel] = "/"
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			files[rel] = "-> " + target
			return err
		default:
			b, err := os.ReadFile(name)
			files[rel] = string(b)
			if x := info.Mode()&0o100 != 0; x != strings.HasPrefix(string(b), "+x ") {
				files[rel] += fmt.Sprintf(" (executable is %v)", x)
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func check(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, onDisk(t, dir)); d != "" {
		t.Errorf("directory (-want +got):\n%s", d)
	}
}

func write(t *testing.T, dir, rel, text string) {
	t.Helper()
	name := filepath.Join(dir, rel)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "out")
	v := view{"a": "one", "b/c": "+x two", "b/link": "-> ../a", "sub": "module", "empty": "/"}
	if got, want := export(t, v, dir), (Report{Written: 3}); got != want {
		t.Errorf("first: got %+v, want %+v", got, want)
	}
	check(t, dir, v.files())
	before := stats(t, dir)
	if got, want := export(t, v, dir), (Report{Unchanged: 3}); got != want {
		t.Errorf("again: got %+v, want %+v", got, want)
	}
	before.check(t, dir)
	v = view{"a": "uno", "b/c": "+x two", "d": "three"}
	if got, want := export(t, v, dir), (Report{Written: 2, Removed: 1, Unchanged: 1}); got != want {
		t.Errorf("changed: got %+v, want %+v", got, want)
	}
	check(t, dir, v.files())
}

// infos tell files apart that were written anew.
type infos map[string]fs.FileInfo

func stats(t *testing.T, dir string) infos {
	t.Helper()
	all := infos{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = d.Info()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// check reports what is not as it was.
func (before infos) check(t *testing.T, dir string) {
	t.Helper()
	after := stats(t, dir)
	for name := range after {
		if was, is := before[name], after[name]; was == nil || !os.SameFile(was, is) || !was.ModTime().Equal(is.ModTime()) {
			t.Errorf("%s was written", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("got %d files, want %d", len(after), len(before))
	}
}

// TestSequences goes from view to view at random, also where kinds change.
func TestSequences(t *testing.T) {
	names := []string{"a", "a/b", "a/b/c", "a/d", "e", "e/f", "g"}
	texts := []string{"one", "two", "+x one", "-> a", "-> /etc/passwd", "/", "module"}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		for range 15 {
			v := view{}
			for _, name := range names {
				if r.IntN(2) == 0 && !v.blocked(name) {
					v[name] = texts[r.IntN(len(texts))]
				}
			}
			export(t, v, dir)
			check(t, dir, v.files())
		}
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// blocked reports whether something above or below a path makes it impossible.
func (v view) blocked(name string) bool {
	for d := range above(name) {
		if text, ok := v[d]; ok && text != "/" {
			return true
		}
	}
	return false
}

func TestKeepsWhatOthersDid(t *testing.T) {
	start := view{"a": "one", "b/c": "two", "link": "-> a"}
	tests := []struct {
		name    string
		do      func(t *testing.T, dir string)
		next    view
		clashes []string          // nil: the export goes through
		disk    map[string]string // afterwards, beside the view
	}{
		{"changed file that stays", func(t *testing.T, dir string) { write(t, dir, "a", "mine") }, start, []string{"a"}, nil},
		{"changed file, changed in the view", func(t *testing.T, dir string) { write(t, dir, "a", "mine") }, view{"a": "uno"}, []string{"a"}, nil},
		{"changed file, gone from the view", func(t *testing.T, dir string) { write(t, dir, "b/c", "mine") }, view{"a": "one"}, []string{"b/c"}, nil},
		{"changed to what the view has", func(t *testing.T, dir string) { write(t, dir, "a", "uno") }, view{"a": "uno"}, nil, nil},
		{"removed file", func(t *testing.T, dir string) { remove(t, dir, "a") }, start, nil, nil},
		{"made executable", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "a"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, start, []string{"a"}, nil},
		{"file of their own", func(t *testing.T, dir string) { write(t, dir, "b/own", "mine") }, start, nil, map[string]string{"b/own": "mine"}},
		{"file of their own in a directory that goes", func(t *testing.T, dir string) { write(t, dir, "b/own", "mine") }, view{"a": "one"}, nil,
			map[string]string{"b/own": "mine", "b": "/"}},
		{"file of their own where one belongs", func(t *testing.T, dir string) { write(t, dir, "new", "mine") }, view{"new": "ours"}, []string{"new"}, nil},
		{"file of their own where a directory belongs", func(t *testing.T, dir string) { write(t, dir, "new", "mine") }, view{"new/x": "ours"}, []string{"new"}, nil},
		{"directory of their own where a file belongs", func(t *testing.T, dir string) { write(t, dir, "new/own/x", "mine") }, view{"new": "ours"}, []string{"new/own/x"}, nil},
		{"empty directory where a file belongs", func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "new"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, view{"new": "ours"}, nil, nil},
		{"link instead of a file", func(t *testing.T, dir string) { relink(t, dir, "a", "b/c") }, start, []string{"a"}, nil},
		{"link led elsewhere", func(t *testing.T, dir string) { relink(t, dir, "link", "/etc") }, start, []string{"link"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			export(t, start, dir)
			tt.do(t, dir)
			before := onDisk(t, dir)
			_, err := Write(t.Context(), tt.next, what, dir, false)
			if tt.clashes != nil {
				refuses(t, err, tt.clashes)
				check(t, dir, before)
				if _, err := Write(t.Context(), tt.next, what, dir, true); err != nil {
					t.Errorf("forced: %v", err)
				}
			} else if err != nil {
				t.Errorf("Write: %v", err)
			}
			want := tt.next.files()
			maps.Copy(want, tt.disk)
			check(t, dir, want)
		})
	}
}

func refuses(t *testing.T, err error, clashes []string) {
	t.Helper()
	if !errors.Is(err, workspace.Conflict) {
		t.Errorf("got %v, want a conflict", err)
		return
	}
	if got, want := err.Error(), "\n  "+strings.Join(clashes, "\n  "); !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to list %v", got, clashes)
	}
}

func remove(t *testing.T, dir, rel string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, rel)); err != nil {
		t.Fatal(err)
	}
}

func relink(t *testing.T, dir, rel, target string) {
	t.Helper()
	remove(t, dir, rel)
	if err := os.Symlink(target, filepath.Join(dir, rel)); err != nil {
		t.Fatal(err)
	}
}

// TestLinksLeadNowhere puts links where the export would write through them.
func TestLinksLeadNowhere(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "c", "precious")
	dir := t.TempDir()
	export(t, view{"b/c": "one", "out": "-> " + outside}, dir)
	relink(t, dir, "b", outside)
	next := view{"b/c": "two", "b/d": "new", "out/c": "three"}
	_, err := Write(t.Context(), next, what, dir, false)
	refuses(t, err, []string{"b"})
	if _, err := Write(t.Context(), next, what, dir, true); err != nil {
		t.Fatal(err)
	}
	check(t, dir, next.files())
	check(t, outside, map[string]string{"c": "precious"})
}

// TestRunThatDied stops a run half-way: the next one, of yet another view, knows
// what the first left.
func TestRunThatDied(t *testing.T) {
	dir := t.TempDir()
	export(t, view{"a": "one", "b": "one", "z": "one"}, dir)
	if _, err := Write(t.Context(), view{"a": "two", "b/c": "two", "z": "broken"}, what, dir, false); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want %v", err, errBroken)
	}
	write(t, dir, tempPrefix+"X", "half of somethi")
	check(t, dir, map[string]string{"a": "two", "b": "/", "b/c": "two", "z": "one", tempPrefix + "X": "half of somethi"})
	v := view{"a": "three", "b": "three"}
	export(t, v, dir)
	check(t, dir, v.files())
}

// TestSameSizeAndTime changes a file within the moment that the manifest was
// written in.
func TestSameSizeAndTime(t *testing.T) {
	dir := t.TempDir()
	v := view{"a": "one"}
	export(t, v, dir)
	name := filepath.Join(dir, "a")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a", "two")
	for _, n := range []string{name, filepath.Join(dir, Manifest)} {
		if err := os.Chtimes(n, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Write(t.Context(), v, what, dir, false)
	refuses(t, err, []string{"a"})
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, dir string)
		v       view
		kind    workspace.Kind
	}{
		{"not empty", func(t *testing.T, dir string) { write(t, dir, "x", "mine") }, view{"a": "one"}, workspace.Exist},
		{"damaged manifest", func(t *testing.T, dir string) { write(t, dir, Manifest, "{") }, view{"a": "one"}, workspace.Corrupt},
		{"newer manifest", func(t *testing.T, dir string) { write(t, dir, Manifest, `{"version":2,"entries":{}}`) }, view{"a": "one"}, workspace.Unavailable},
		{"name of the manifest", func(*testing.T, string) {}, view{Manifest: "one"}, workspace.Conflict},
		{"another run", func(t *testing.T, dir string) {
			_, unlock, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(unlock)
		}, view{"a": "one"}, workspace.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.prepare(t, dir)
			before := stats(t, dir)
			if _, err := Write(t.Context(), tt.v, what, dir, true); workspace.KindOf(err) != tt.kind {
				t.Errorf("got %v, want the kind %s", err, tt.kind)
			}
			before.check(t, dir)
		})
	}
}

func TestOtherView(t *testing.T) {
	dir := t.TempDir()
	export(t, view{"a": "one"}, dir)
	other := What{Project: "default", Workspace: "/agents/other", Top: workspace.Root}
	if _, err := Write(t.Context(), view{"a": "two"}, other, dir, false); !errors.Is(err, workspace.Conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	check(t, dir, map[string]string{"a": "one"})
	if _, err := Write(t.Context(), view{"a": "two"}, other, dir, true); err != nil {
		t.Error(err)
	}
	check(t, dir, map[string]string{"a": "two"})
}

func TestPrivateFilesStay(t *testing.T) {
	dir := t.TempDir()
	export(t, view{"workspace/notes": "mine", "workspace/.carrel/x": "carrel's"}, dir)
	check(t, dir, map[string]string{"workspace": "/", "workspace/notes": "mine"})
}

// TestOldManifest reads a manifest as the first version wrote it.
func TestOldManifest(t *testing.T) {
	dir := t.TempDir()
	b, err := os.ReadFile("testdata/manifest-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, Manifest, string(b))
	write(t, dir, "a", "one")
	write(t, dir, "old", "one")
	v := view{"a": "two"}
	if got, want := export(t, v, dir), (Report{Written: 1, Removed: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	check(t, dir, v.files())
}
