package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "carrel.dev/workspace"

	"github.com/google/go-cmp/cmp"
)

// plainWalk is what a walk has to yield, found directory by directory.
func plainWalk(t *testing.T, s *Snapshot, dir Path) (all []Found) {
	t.Helper()
	f, err := s.Lookup(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.Kind != Dir {
		return []Found{f}
	}
	children, err := s.ReadDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range children {
		all = append(all, plainWalk(t, s, c.Path)...)
	}
	slices.SortFunc(all, func(a, b Found) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return all
}

// walked runs a walk to its end and describes what it yields.
func walked(t *testing.T, s *Snapshot, top Path, o *WalkOptions) []string {
	t.Helper()
	list := []string{}
	for f, err := range s.Walk(t.Context(), top, o) {
		if err != nil {
			t.Fatalf("walk of %s: %v", top, err)
		}
		list = append(list, describe(f))
	}
	return list
}

func describe(f Found) string {
	point := Path("")
	if f.Mount != nil {
		point = f.Mount.Point
	}
	return fmt.Sprintf("%s %s %o %s %s of %s", f.Path, f.Kind, f.Mode, f.OID, f.Layer, point)
}

// TestWalk holds walks of random workspaces against listings of their
// directories: over mounts in mounts, below what was deleted, replaced and made
// again, after any path and by name.
func TestWalk(t *testing.T) {
	files := func(names ...string) map[string]string {
		m := map[string]string{}
		for _, n := range names {
			m[n] = n + "\n"
		}
		return m
	}
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		b := newBench(t, map[string]map[string]string{
			"a":   files("x", "x-y", "x.z", "d/x", "d/e/x", "d/e/y", "d-e/x", "d0", "vendor/keep", "vendor/lib/own", "file"),
			"a-b": files("x", "d/x"),
			"lib": files("x", "d/x", "d/y"),
		})
		w := b.create("/agents/a", map[string]MountPatch{
			"/repos/a/vendor/lib": mount("/repos/lib", CommitToMain),
			"/repos/a/file":       mount("/repos/a-b", ReadOnly),
			"/more/deep":          mount("/repos/lib", CommitToMain),
		})
		dirs := []string{"/repos/a", "/repos/a/d", "/repos/a/d/e", "/repos/a-b", "/repos/a/vendor", "/repos/a/vendor/lib", "/repos/a/vendor/lib/d", "/more/deep", "/workspace", "/workspace/d"}
		names := []string{"x", "x-y", "d", "e", "new", "d0", "x/below"}
		pick := func(list []string) string { return list[rnd.IntN(len(list))] }
		for range 25 {
			p := Path(pick(dirs) + "/" + pick(names))
			var err error
			switch rnd.IntN(5) {
			case 0, 1:
				_, err = w.Write(context.Background(), p, fmt.Append(nil, rnd.IntN(9)), WriteOptions{})
			case 2:
				_, err = w.Delete(context.Background(), p, true)
			case 3:
				_, err = w.Mkdir(context.Background(), p)
			case 4:
				_, err = w.Move(context.Background(), p, Path(pick(dirs)+"/"+pick(names)), true)
			}
			if errors.Is(err, Internal) {
				t.Fatalf("seed %d: %s: %v", seed, p, err)
			}
		}
		if seed%3 == 0 { // what the branch has changes below what the workspace did
			b.outside("a", map[string]string{"d": "-", "x": "-"})
			b.outside("a", map[string]string{"d": "a file\n", "x/y": "a directory\n"})
		}
		s := w.snap()
		whole := plainWalk(t, s, Root)
		tops := []Path{Root, "/repos", "/more", "/workspace"}
		for _, f := range whole {
			tops = append(tops, f.Path, f.Path.Dir())
		}
		slices.Sort(tops)
		for _, top := range slices.Compact(tops) {
			var want []string
			for _, f := range plainWalk(t, s, top) {
				want = append(want, describe(f))
			}
			if diff := cmp.Diff(want, walked(t, s, top, nil), cmpEmpty); diff != "" {
				t.Fatalf("seed %d: walk of %s (-want +got)\n%s", seed, top, diff)
			}
		}
		for _, f := range whole {
			after, named := []string{}, []string{}
			for _, g := range whole {
				if g.Path > f.Path {
					after = append(after, describe(g))
				}
				if g.Path.Base() == f.Path.Base() {
					named = append(named, describe(g))
				}
			}
			if diff := cmp.Diff(after, walked(t, s, Root, &WalkOptions{After: f.Path})); diff != "" {
				t.Fatalf("seed %d: after %s (-want +got)\n%s", seed, f.Path, diff)
			}
			o := &WalkOptions{Name: func(name string) bool { return name == f.Path.Base() }}
			if diff := cmp.Diff(named, walked(t, s, Root, o)); diff != "" {
				t.Fatalf("seed %d: named %s (-want +got)\n%s", seed, f.Path.Base(), diff)
			}
		}
	}
}

// cmpEmpty takes an empty list for an absent one.
var cmpEmpty = cmp.Transformer("length", func(l []string) []string { return append([]string{}, l...) })

// TestWalkStops ends a walk early, and one whose context has ended.
func TestWalkStops(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"a": {"x": "1\n", "y": "2\n"}, "b": {"x": "1\n"}})
	w := b.create("/agents/a", nil)
	w.write("/workspace/n", "1\n")
	w.write("/repos/a/xx", "1\n")
	s := w.snap()
	for stop := 1; stop <= 5; stop++ {
		n := 0
		for range s.Walk(t.Context(), Root, nil) {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("yielded %d, want %d", n, stop)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var got error
	for _, err := range w.snap().Walk(ended, "/repos/a", nil) {
		got = err
	}
	if !errors.Is(got, context.Canceled) && !errors.Is(got, Canceled) {
		t.Errorf("with a context that ended: got %v", got)
	}
}

// TestWalkAsksForMounts: a mount that the caller refuses is left out, and those in
// it are not.
func TestWalkAsksForMounts(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"a": {"x": "1\n", "z": "1\n"}, "lib": {"x": "1\n"}})
	w := b.create("/agents/a", map[string]MountPatch{"/repos/a/v": mount("/repos/lib", ReadOnly)})
	var asked, got []string
	o := &WalkOptions{Mount: func(m *Mount) bool {
		asked = append(asked, string(m.Point))
		return m.Point != "/repos/a"
	}}
	for f, err := range w.snap().Walk(t.Context(), Root, o) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(f.Path))
	}
	if diff := cmp.Diff([]string{"/repos/a", "/repos/a/v", "/repos/lib"}, asked); diff != "" {
		t.Errorf("asked about (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/repos/a/v/x", "/repos/lib/x"}, got); diff != "" {
		t.Errorf("yielded (-want +got)\n%s", diff)
	}
}

// TestWalkThatEndedAsksNothing: one that its caller has left opens no other mount.
func TestWalkThatEndedAsksNothing(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"a": {"b": "1\n", "z": "1\n"}, "lib": {"x": "1\n"}})
	w := b.create("/agents/a", map[string]MountPatch{"/repos/a/v": mount("/repos/lib", ReadOnly)})
	var asked []string
	o := &WalkOptions{Mount: func(m *Mount) bool {
		asked = append(asked, string(m.Point))
		return true
	}}
	for range w.snap().Walk(t.Context(), Root, o) {
		break
	}
	if diff := cmp.Diff([]string{"/repos/a"}, asked); diff != "" {
		t.Errorf("asked about (-want +got)\n%s", diff)
	}
}
