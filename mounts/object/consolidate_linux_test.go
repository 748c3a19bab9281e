package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// atOnce consolidates from two packs on, and removes what is needless at the next
// call.
func atOnce() *Consolidation {
	return &Consolidation{Writer: writer(""), From: 2, Grace: time.Nanosecond, Hidden: func() error { return nil }}
}

func consolidate(t testing.TB, s *Store, c *Consolidation) Consolidated {
	t.Helper()
	done, err := s.Consolidate(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// removeAll consolidates until no needless pack waits: a git that begins anywhere on
// the machine, of which it is not to be seen yet what it does, keeps them for a moment.
func removeAll(t testing.TB, s *Store) (all Consolidated) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		done := consolidate(t, s, atOnce())
		all.Folded, all.Removed = all.Folded+done.Folded, all.Removed+done.Removed
		if done.Waiting == 0 {
			return all
		}
		if time.Now().After(end) {
			t.Fatalf("after a minute: %+v", done)
		}
		time.Sleep(done.Again)
	}
}

// crowd is a repository with a pack of git's and many of commits, which overlap.
type crowd struct {
	git      *gittest.Repo
	s        *Store
	contents map[workspace.OID][]byte
}

func newCrowd(t testing.TB, packs int) *crowd {
	c := &crowd{git: gittest.Init(t), contents: map[workspace.OID][]byte{}}
	history(t, c.git, 2)
	c.git.Git("repack", "-adq")
	c.s = open(c.git)
	for range packs {
		c.write(t)(true)
	}
	return c
}

// write adds a pack.
func (c *crowd) write(t testing.TB) (release func(moved bool)) {
	t.Helper()
	var objects []Pending
	n := len(c.contents)
	for i := range 4 {
		content := bytes.Repeat(fmt.Append(nil, "line ", n+i, "\n"), 1+10*i)
		id, err := c.s.pool.ID(TypeBlob, content)
		if err != nil {
			t.Fatal(err)
		}
		c.contents[id] = content
		objects = append(objects, Pending{ID: id, Type: TypeBlob, Content: func(context.Context) ([]byte, error) { return content, nil }})
	}
	release, err := c.s.Write(context.Background(), objects, writer("a test"))
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// check reads everything, also by git and by stores that were open before.
func (c *crowd) check(t testing.TB, before ...*Store) {
	t.Helper()
	for id, want := range c.contents {
		for _, s := range append(before, c.s, open(c.git)) {
			forget(s)
			if got, err := s.Blob(id); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v, want %d", id, len(got), err, len(want))
			}
		}
	}
	all := c.git.Git("cat-file", "--batch-check", "--batch-all-objects")
	for id, want := range c.contents {
		if line := fmt.Sprintf("%s blob %d", id, len(want)); !strings.Contains(all, line) {
			t.Errorf("git does not list %s", line)
		}
	}
	c.git.Git(append([]string{"verify-pack"}, glob(t, c.git, "*.idx")...)...)
	c.git.Fsck()
}

// temporary lists files that are no packs.
func temporary(git *gittest.Repo) []string {
	names, _ := filepath.Glob(filepath.Join(git.Dir, ".git/objects/pack/tmp_*"))
	return names
}

func TestConsolidate(t *testing.T) {
	c := newCrowd(t, 9)
	reader := open(c.git)
	reader.Has(workspace.OID{}) // opens the packs
	release := c.write(t)
	few := atOnce()
	few.From = 10
	if got := consolidate(t, c.s, few); got != (Consolidated{}) {
		t.Errorf("9 packs and one in use: %+v", got)
	}
	gits := len(glob(t, c.git, "*.pack")) - 10
	release(true)
	c.write(t)(false)
	few.Grace = time.Hour
	if got, want := consolidate(t, c.s, few), (Consolidated{Folded: 11, Waiting: 11, Again: time.Hour}); got != want {
		t.Errorf("11 packs: got %+v, want %+v", got, want)
	}
	c.check(t, reader)
	if got := consolidate(t, c.s, few); got != (Consolidated{Waiting: 11, Again: time.Hour}) {
		t.Errorf("again: %+v", got)
	}
	if got := removeAll(t, c.s); got != (Consolidated{Removed: 11}) {
		t.Errorf("after the grace: %+v", got)
	}
	if got, want := len(glob(t, c.git, "*.pack")), gits+1; got != want {
		t.Errorf("%d packs, want git's and the folded one: %d", got, want)
	}
	if left := temporary(c.git); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	c.check(t, reader)
	c.git.Git("gc", "-q", "--prune=now")
	c.git.Fsck()
}

// TestEqualPacks: of packs with the same objects all but one are needless, and
// folding comes to an end.
func TestEqualPacks(t *testing.T) {
	git := gittest.Init(t)
	objects, _ := pending(t, open(git).pool, 5)
	for range 3 {
		s := open(git)
		s.relist()
		b := s.newBatch(writer(""))
		os.MkdirAll(b.packs, 0o777)
		if err := b.pack(context.Background(), objects); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []Consolidated{{Removed: 2}, {}} {
		if got := removeAll(t, open(git)); got != want {
			t.Errorf("call %d: got %+v, want %+v", i, got, want)
		}
	}
}

func TestFoldable(t *testing.T) {
	for _, tt := range []struct {
		sizes []int64
		want  int
	}{
		{nil, 0},
		{[]int64{7}, 0},
		{[]int64{7, 7}, 2},
		{[]int64{7, 8}, 0},
		{[]int64{1, 1, 1, 1}, 4},
		{[]int64{1, 1, 1, 1, 5}, 4},
		{[]int64{1, 1, 1, 1, 4}, 5},
		{[]int64{1, 2, 4, 8, 16}, 0},
		{[]int64{1, 2, 2, 8, 16}, 3},
		{[]int64{1, 1, 3, 6, 11, 30}, 5},
	} {
		if got := foldable(tt.sizes); got != tt.want {
			t.Errorf("%v: got %d, want %d", tt.sizes, got, tt.want)
		}
	}
}

// TestFewCopies: a byte is copied as often as what there is doubles, not once a
// consolidation.
func TestFewCopies(t *testing.T) {
	git := gittest.Init(t)
	s := open(git)
	c := atOnce()
	c.From = 8
	const packs = 64
	folded := 0
	for i := range packs {
		var objects []Pending
		for n := range looseMost + 1 {
			content := fmt.Appendf(nil, "%d %d", i, n)
			id, err := s.pool.ID(TypeBlob, content)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, Pending{ID: id, Type: TypeBlob, Content: func(context.Context) ([]byte, error) { return content, nil }})
		}
		release, err := s.Write(context.Background(), objects, writer("a test"))
		if err != nil {
			t.Fatal(err)
		}
		release(true)
		folded += consolidate(t, s, c).Folded
	}
	if folded < packs/2 || folded > 2*packs {
		t.Errorf("%d packs were folded of %d", folded, packs)
	}
	if left := len(glob(t, git, "*.pack")); left > 2*c.From+8 {
		t.Errorf("%d packs are left", left)
	}
}

func TestNames(t *testing.T) {
	sum := bytes.Repeat([]byte{7}, idSize)
	a, b := packName(sum), packName(sum)
	if a == b || len(a) != packNameSize || !isOwn(a, sum) || !isOwn(b, sum) {
		t.Errorf("%s and %s", a, b)
	}
	for _, other := range []string{"", a[:len(a)-1], a[:len(a)-1] + "g", "pack-" + strings.Repeat("0", 2*idSize)} {
		if isOwn(other, sum) {
			t.Errorf("%q is taken for an own one", other)
		}
	}
	if isOwn(a, sum[1:]) {
		t.Error("the checksum does not matter")
	}
}

// TestOthersPacksAreNotTrusted writes again what is in a pack of another process, or
// in a folded one: nobody knows whether a ref leads to it, and git repack may be
// about to remove it.
func TestOthersPacksAreNotTrusted(t *testing.T) {
	git := gittest.Init(t)
	s := open(git)
	objects, _ := pending(t, s.pool, 5)
	for i, want := range []int{1, 2, 2} {
		if i < 2 {
			s = open(git)
		}
		release, err := s.Write(context.Background(), objects, writer("a test"))
		if err != nil {
			t.Fatal(err)
		}
		release(true)
		if got := len(glob(t, git, "*.pack")); got != want {
			t.Errorf("write %d: %d packs, want %d", i, got, want)
		}
	}
}

// TestDamagedPackStays: neither what cannot be copied nor what cannot be read in
// its place goes.
func TestDamagedPackStays(t *testing.T) {
	c := newCrowd(t, 6)
	own := func() (paths []string) {
		for _, p := range glob(t, c.git, "*.pack") {
			if sum, err := packSum(p); err == nil && isOwn(packBase(p), sum) {
				paths = append(paths, p)
			}
		}
		return paths
	}
	damaged := own()[0]
	spoil(t, damaged)
	c.s = open(c.git)
	if got := consolidate(t, c.s, atOnce()); got.Folded != 5 {
		t.Errorf("folded: %+v, want 5", got)
	}
	if got := removeAll(t, c.s); got.Removed != 5 || got.Folded != 0 {
		t.Errorf("removed: %+v, want 5", got)
	}
	if left := own(); len(left) != 2 || !slices.Contains(left, damaged) {
		t.Errorf("left: %v", left)
	}
	c = newCrowd(t, 6)
	was := own()
	consolidate(t, c.s, atOnce())
	for _, p := range own() {
		if !slices.Contains(was, p) {
			spoil(t, p)
		}
	}
	c.s = open(c.git)
	if got := removeAll(t, c.s); got.Removed != 5 {
		t.Errorf("all but the pack with the damaged object go: %+v", got)
	}
	for id, want := range c.contents {
		if got, err := c.s.Blob(id); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// spoil changes a byte of the first object, in whose compressed content every byte
// counts.
func spoil(t testing.TB, pack string) {
	t.Helper()
	b, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	b[12+8] ^= 0x55
	os.Remove(pack)
	if err := os.WriteFile(pack, b, 0o444); err != nil {
		t.Fatal(err)
	}
}

// TestStoppedConsolidation stops at each point, as if the process had died: then
// everything is there, and the next call ends what was begun.
func TestStoppedConsolidation(t *testing.T) {
	stop := errors.New("the process dies")
	for _, point := range []string{"written", "named", "hidden"} {
		c := newCrowd(t, 3)
		dying := atOnce()
		dying.Stopped = func(err error) bool { return errors.Is(err, stop) }
		dies := func() error { return stop }
		*map[string]*func() error{"written": &dying.Written, "named": &dying.Named, "hidden": &dying.Hidden}[point] = dies
		if point == "hidden" {
			consolidate(t, c.s, dying)
		}
		if _, err := c.s.Consolidate(context.Background(), dying); !errors.Is(err, stop) {
			t.Fatalf("%s: got %v", point, err)
		}
		c.check(t)
		c.s = open(c.git)
		removeAll(t, c.s)
		old := time.Now().Add(-2 * half)
		for _, name := range append(glob(t, c.git, "*.pack"), temporary(c.git)...) {
			os.Chtimes(name, old, old)
		}
		removeAll(t, c.s)
		if got := len(glob(t, c.git, "*.pack")); got != 2 {
			t.Errorf("%s: %d packs are left, want git's and the folded one", point, got)
		}
		c.check(t)
		c.git.Git("gc", "-q", "--prune=now")
		if left := temporary(c.git); len(left) > 0 {
			t.Errorf("%s: git gc leaves %v", point, left)
		}
	}
}

// TestTwoConsolidate has several stores, as of several processes, write and
// consolidate at once.
func TestTwoConsolidate(t *testing.T) {
	git := gittest.Init(t)
	var wg sync.WaitGroup
	contents := make([]map[workspace.OID][]byte, 3)
	for i := range contents {
		contents[i] = map[workspace.OID][]byte{}
		c := &crowd{git: git, s: open(git), contents: contents[i]}
		wg.Go(func() {
			for n := range 12 {
				c.write(t)(true)
				if _, err := c.s.Consolidate(context.Background(), atOnce()); err != nil {
					t.Errorf("call %d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	c := &crowd{git: git, s: open(git), contents: map[workspace.OID][]byte{}}
	for _, more := range contents {
		maps.Copy(c.contents, more)
	}
	c.check(t)
}

func TestSharedPermissions(t *testing.T) {
	c := newCrowd(t, 3)
	shared := atOnce()
	shared.Share = func(path string) error { return os.Chmod(path, 0o440) }
	before := glob(t, c.git, "pack-*")
	consolidate(t, c.s, shared)
	for _, name := range glob(t, c.git, "pack-*") {
		info, err := os.Stat(name)
		if !slices.Contains(before, name) && (err != nil || info.Mode() != 0o440) {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
}
