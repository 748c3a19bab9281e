package object

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
)

// history fills a repository with versions of files that make good deltas, and
// one file that does not compress.
func history(t testing.TB, git *gittest.Repo, commits int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	lines := make([]string, 400)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d: %x", i, rng.Uint64())
	}
	noise := make([]byte, 40_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	git.Write("noise", string(noise))
	git.Write("empty", "")
	for c := range commits {
		lines[rng.IntN(len(lines))] = fmt.Sprintf("changed in %d", c)
		git.Write("src/deep/er/file.txt", strings.Join(lines, "\n"))
		git.Write(fmt.Sprintf("src/%d.txt", c), strings.Join(lines[:50], "\n"))
		git.Commit(fmt.Sprintf("commit %d", c))
	}
	git.Git("tag", "-a", "-m", "a tag", "v1")
}

// oracle is every object of a repository by git's account.
func oracle(t testing.TB, git *gittest.Repo) map[workspace.OID]candidateObject {
	t.Helper()
	out := git.Git("cat-file", "--batch-all-objects", "--batch", "--unordered") + "\n"
	all := map[workspace.OID]candidateObject{}
	for len(out) > 0 {
		line, rest, _ := strings.Cut(out, "\n")
		f := strings.Fields(line)
		id, err := workspace.ParseOID(f[0])
		if err != nil {
			t.Fatal(err)
		}
		size, _ := strconv.Atoi(f[2])
		typ, _ := parseType(f[1])
		all[id] = candidateObject{typ, []byte(rest[:size])}
		out = rest[size+1:]
	}
	return all
}

type candidateObject struct {
	typ     Type
	content []byte
}

// compare reads every object and its size.
func compare(t testing.TB, s *Store, want map[workspace.OID]candidateObject) {
	t.Helper()
	if len(want) < 10 {
		t.Fatalf("only %d objects to compare", len(want))
	}
	for id, w := range want {
		typ, size, err := s.Stat(id)
		if err != nil || typ != w.typ || size != int64(len(w.content)) {
			t.Errorf("Stat %s: got %v, %d, %v, want %v, %d", id, typ, size, err, w.typ, len(w.content))
		}
		typ, content, err := s.Read(id)
		if err != nil || typ != w.typ || !bytes.Equal(content, w.content) {
			t.Errorf("Read %s: got %v, %d bytes, %v, want %v, %d bytes", id, typ, len(content), err, w.typ, len(w.content))
		}
	}
}

func open(git *gittest.Repo) *Store {
	return Open(filepath.Join(git.Dir, ".git", "objects"), NewPool(0, 0))
}

// forget empties the memory that a store reads from.
func forget(s *Store) {
	fresh := NewPool(0, 0)
	s.pool.trees, s.pool.blobs, s.pool.commits, s.pool.bases = fresh.trees, fresh.blobs, fresh.commits, fresh.bases
}

func TestReadsWhatGitReads(t *testing.T) {
	tests := []struct {
		name string
		pack func(git *gittest.Repo)
	}{
		{"loose", func(*gittest.Repo) {}},
		{"offset deltas", func(git *gittest.Repo) { git.Git("repack", "-adfq", "--depth=50", "--window=50") }},
		{"deltas on ids", func(git *gittest.Repo) {
			git.Git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50", "--window=50")
		}},
		{"index version 1", func(git *gittest.Repo) { git.Git("-c", "pack.indexVersion=1", "repack", "-adfq") }},
		{"large offsets", func(git *gittest.Repo) {
			git.Git("repack", "-adfq")
			pack := glob(t, git, "*.pack")[0]
			idx := strings.TrimSuffix(pack, ".pack") + ".idx"
			os.Remove(idx)
			git.Git("index-pack", "--index-version=2,0x80", "-o", idx, pack)
		}},
		{"many packs", func(git *gittest.Repo) {
			for i := range 8 {
				git.Write("more", strconv.Itoa(i))
				git.Commit("more")
				git.Git("repack", "-dq")
			}
		}},
		{"no compression", func(git *gittest.Repo) { git.Git("-c", "core.compression=0", "repack", "-adfFq") }},
		{"multi-pack index", func(git *gittest.Repo) {
			git.Git("repack", "-dq")
			git.Write("more", "1")
			git.Commit("more")
			git.Git("repack", "-dq", "--write-midx")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			git := gittest.Init(t)
			history(t, git, 12)
			tt.pack(git)
			compare(t, open(git), oracle(t, git))
		})
	}
}

func glob(t testing.TB, git *gittest.Repo, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(git.Dir, ".git", "objects", "pack", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return names
}

func TestAlternates(t *testing.T) {
	base := gittest.Init(t)
	history(t, base, 5)
	base.Git("repack", "-adq")
	shared := base.At(filepath.Join(t.TempDir(), "shared"))
	base.Git("clone", "-q", "--shared", base.Dir, shared.Dir)
	shared.Write("own", "own")
	shared.Commit("own")
	// The clone of a clone reaches the objects through two alternates, one of
	// them relative, and one of them its own objects.
	third := base.At(filepath.Join(t.TempDir(), "third"))
	base.Git("clone", "-q", "--shared", shared.Dir, third.Dir)
	alternates := filepath.Join(third.Dir, ".git", "objects", "info", "alternates")
	rel, err := filepath.Rel(filepath.Join(third.Dir, ".git", "objects"), filepath.Join(shared.Dir, ".git", "objects"))
	if err != nil {
		t.Fatal(err)
	}
	text := "# a comment\n" + rel + "\n" + filepath.Join(third.Dir, ".git", "objects") + "\n/nowhere\n"
	if err := os.WriteFile(alternates, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	want := oracle(t, shared)
	compare(t, open(shared), want)
	compare(t, open(third), want)
}

func TestMissing(t *testing.T) {
	git := gittest.Init(t)
	history(t, git, 1)
	s := open(git)
	if _, _, err := s.Read(workspace.OID{1}); !errors.Is(err, workspace.NotExist) {
		t.Errorf("Read of an unknown id: got %v, want not_exist", err)
	}
	if has, err := s.Has(workspace.OID{1}); has || err != nil {
		t.Errorf("Has of an unknown id: got %v, %v", has, err)
	}
	if _, err := s.Tree(workspace.OID{1}); !errors.Is(err, workspace.Corrupt) {
		t.Errorf("Tree of an unknown id: got %v, want corrupt", err)
	}
	head := id(t, git.Git("rev-parse", "HEAD"))
	if _, err := s.Blob(head); !errors.Is(err, workspace.Corrupt) {
		t.Errorf("Blob of a commit: got %v, want corrupt", err)
	}
	gone := Open(filepath.Join(git.Dir, "nowhere"), NewPool(0, 0))
	if _, _, err := gone.Read(head); !errors.Is(err, workspace.Unavailable) {
		t.Errorf("Read in a repository that is gone: got %v, want unavailable", err)
	}
}

func id(t testing.TB, hex string) workspace.OID {
	t.Helper()
	id, err := workspace.ParseOID(hex)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTooLarge(t *testing.T) {
	git := gittest.Init(t)
	git.Write("large", strings.Repeat("x", 5000))
	git.Commit("large")
	blob := id(t, git.Git("rev-parse", "HEAD:large"))
	for _, packed := range []bool{false, true} {
		if packed {
			git.Git("repack", "-adq")
		}
		s := Open(filepath.Join(git.Dir, ".git", "objects"), NewPool(0, 1000))
		if _, _, err := s.Read(blob); !errors.Is(err, workspace.Limit) {
			t.Errorf("packed %v: Read: got %v, want limit", packed, err)
		}
		if _, err := s.BlobSize(blob); !errors.Is(err, workspace.Limit) {
			t.Errorf("packed %v: BlobSize: got %v, want limit", packed, err)
		}
	}
}

// TestSurvivesMaintenance reads through a store that is open while git moves the
// objects about.
func TestSurvivesMaintenance(t *testing.T) {
	git := gittest.Init(t)
	history(t, git, 6)
	s := open(git)
	for i, step := range [][]string{
		nil, {"repack", "-adq"}, {"repack", "-adfq", "--depth=1"}, {"gc", "-q", "--prune=now"}, {"repack", "-adfq"},
	} {
		if step != nil {
			git.Git(step...)
			git.Write("more", strconv.Itoa(i))
			git.Commit("more")
		}
		forget(s)
		compare(t, s, oracle(t, git))
		runtime.GC()
	}
}

// TestTruncated cuts a mapped pack short, which makes reading it a fault.
func TestTruncated(t *testing.T) {
	git := gittest.Init(t)
	history(t, git, 6)
	git.Git("repack", "-adq")
	s := open(git)
	want := oracle(t, git)
	compare(t, s, want)
	name := glob(t, git, "*.pack")[0]
	if err := os.Chmod(name, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	forget(s)
	for id := range want {
		if _, _, err := s.Read(id); err == nil {
			t.Fatalf("object %s is read from an empty pack", id)
		}
	}
}

func TestDamageIsNoticed(t *testing.T) {
	tests := []struct {
		name string
		pack []string
		file string
	}{
		{"pack", []string{"repack", "-adfq"}, "*.pack"},
		{"pack with deltas on ids", []string{"-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"}, "*.pack"},
		{"index", []string{"repack", "-adfq"}, "*.idx"},
		{"index version 1", []string{"-c", "pack.indexVersion=1", "repack", "-adfq"}, "*.idx"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			git := gittest.Init(t)
			history(t, git, 4)
			git.Git(tt.pack...)
			damage(t, git, glob(t, git, tt.file)[0])
		})
	}
	t.Run("loose", func(t *testing.T) {
		git := gittest.Init(t)
		git.Write("a", strings.Repeat("content\n", 40))
		git.Commit("a")
		history(t, git, 1)
		for _, rev := range []string{"HEAD", "HEAD^{tree}", "HEAD:a"} {
			hex := git.Git("rev-parse", rev)
			damage(t, git, filepath.Join(git.Dir, ".git", "objects", hex[:2], hex[2:]))
		}
	})
}

// damage flips bits all over a file, one at a time, and reads everything each
// time: the right content or an error must come out.
func damage(t *testing.T, git *gittest.Repo, name string) {
	want := oracle(t, git)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o666); err != nil {
		t.Fatal(err)
	}
	step := max(len(whole)/40, 1)
	failures := 0
	for at := 0; at < len(whole); at += step {
		bad := bytes.Clone(whole)
		bad[at] ^= 1 << (at % 8)
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		s := open(git)
		for id, w := range want {
			typ, content, err := s.Read(id)
			switch kind := workspace.KindOf(err); {
			case err == nil && typ == w.typ && bytes.Equal(content, w.content):
			case kind == workspace.Corrupt || kind == workspace.NotExist || kind == workspace.Limit:
				failures++
			default:
				t.Errorf("bit %d of byte %d: %s: got %v, %d bytes, %v", at%8, at, id, typ, len(content), err)
			}
			s.Stat(id)
		}
	}
	if failures == 0 {
		t.Error("no damage was noticed")
	}
	if err := os.WriteFile(name, whole, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestSecondCopyIsUsed damages one of two copies of every object.
func TestSecondCopyIsUsed(t *testing.T) {
	git := gittest.Init(t)
	history(t, git, 3)
	git.Git("repack", "-aq") // without -d: the loose objects stay
	want := oracle(t, git)
	name := glob(t, git, "*.pack")[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 12; i < len(whole)-20; i++ {
		whole[i] ^= 0x55
	}
	os.Chmod(name, 0o666)
	if err := os.WriteFile(name, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	s := open(git)
	for id, w := range want {
		if _, content, err := s.Read(id); err != nil || !bytes.Equal(content, w.content) {
			t.Errorf("Read %s: %v", id, err)
		}
	}
}
