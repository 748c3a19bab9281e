package object

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

// raw makes a tree object of "mode name" pairs, all with the same id.
func raw(entries ...string) []byte {
	var b []byte
	for _, e := range entries {
		b = append(b, e...)
		b = append(b, 0)
		b = append(b, "01234567890123456789"...)
	}
	return b
}

func TestParseTreeIsStrict(t *testing.T) {
	tests := []struct {
		name    string
		content []byte
		ok      bool
	}{
		{"empty", nil, true},
		{"every mode", raw("100644 a", "100755 b", "40000 c", "120000 d", "160000 e"), true},
		{"old modes", raw("100664 a", "040000 b", "100600 c"), true},
		{"directory sorts with a slash", raw("100644 a-b", "40000 a", "100644 a0"), true},
		{"directory sorted as a file", raw("40000 a", "100644 a-b"), false},
		{"unsorted", raw("100644 b", "100644 a"), false},
		{"twice", raw("100644 a", "100644 a"), false},
		{"file and directory", raw("100644 a", "40000 a"), false},
		{"file and directory apart", raw("100644 a", "100644 a-b", "100644 a.b", "40000 a"), false},
		{"empty name", raw("100644 "), false},
		{"dot", raw("40000 ."), false},
		{"dot dot", raw("40000 .."), false},
		{"slash", raw("100644 a/b"), false},
		{"odd name", raw("100644 ...", "100644 \xff\n"), true},
		{"bad digit", raw("100684 a"), false},
		{"no kind", raw("000644 a"), false},
		{"unknown kind", raw("110644 a"), false},
		{"no space", []byte("100644a\x0001234567890123456789"), false},
		{"no NUL", []byte("100644 a"), false},
		{"short id", []byte("100644 a\x000123"), false},
		{"rest", append(raw("100644 a"), 'x'), false},
	}
	for _, tt := range tests {
		_, err := ParseTree(tt.content)
		if tt.ok && err != nil || !tt.ok && !errors.Is(err, workspace.Corrupt) {
			t.Errorf("%s: got %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}

// TestTreeAsGit has git sort names and compares order, lookups and encoding.
func TestTreeAsGit(t *testing.T) {
	git := gittest.Init(t)
	blob := git.In("x", "hash-object", "-w", "--stdin")
	rng := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		names := map[string]bool{}
		for range 1 + rng.IntN(60) {
			var b strings.Builder
			for range 1 + rng.IntN(4) {
				b.WriteByte("ab-./0~"[rng.IntN(7)])
			}
			name := strings.Trim(strings.ReplaceAll(b.String(), "/", "d"), ".")
			if name != "" {
				names[name] = true
			}
		}
		var list strings.Builder
		sub := git.In("", "mktree")
		for name := range names {
			if rng.IntN(2) == 0 {
				fmt.Fprintf(&list, "040000 tree %s\t%s\n", sub, name)
			} else {
				fmt.Fprintf(&list, "100644 blob %s\t%s\n", blob, name)
			}
		}
		treeID := git.In(list.String(), "mktree")
		s := open(git)
		tree, err := s.Tree(id(t, treeID))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for e := range tree.All() {
			lines = append(lines, e.Name)
			found, ok := tree.Find(e.Name)
			if !ok || !cmp.Equal(found, e) {
				t.Errorf("Find %q: got %v, %v", e.Name, found, ok)
			}
			for _, near := range []string{e.Name + "-", e.Name + "/", e.Name[:len(e.Name)-1], e.Name + "a"} {
				if _, ok := tree.Find(near); ok != names[near] {
					t.Errorf("Find %q: got %v", near, ok)
				}
			}
		}
		if got, want := strings.Join(lines, "\n"), git.Git("ls-tree", "--name-only", treeID); got != want {
			t.Errorf("order: got %q, want %q", got, want)
		}
		entries := slices.Collect(tree.All())
		rng.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		if got, err := s.pool.ID(TypeTree, EncodeTree(entries)); err != nil || got.String() != treeID {
			t.Errorf("EncodeTree: got %v, %v, want %s", got, err, treeID)
		}
	}
}

func TestOldModesAreShownAsNew(t *testing.T) {
	tree, err := ParseTree(raw("100664 a", "040000 b", "100775 c"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range tree.All() {
		got = append(got, fmt.Sprintf("%o %s", e.Mode, e.Raw))
	}
	want := []string{"100644 100664", "40000 040000", "100755 100775"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommitRoundTrip(t *testing.T) {
	git := gittest.Init(t)
	git.Write("a", "a")
	git.Commit("first line\n\nbody")
	git.Git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-m", "gr\xfcn")
	git.Git("-c", "i18n.commitEncoding=SHIFT_JIS", "commit", "-q", "--allow-empty", "-m", "\x83\x65")
	s := open(git)
	want := map[string]string{"HEAD~2": "first line\n\nbody\n", "HEAD~1": "grün\n", "HEAD": "\uFFFDe\n"}
	for rev, message := range want {
		c, err := s.Commit(id(t, git.Git("rev-parse", rev)))
		if err != nil || c.Message != message {
			t.Errorf("%s: got %q, %v, want %q", rev, c.Message, err, message)
		}
	}
	first := id(t, git.Git("rev-parse", "HEAD~2"))
	c, err := s.Commit(first)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.pool.ID(TypeCommit, EncodeCommit(c)); err != nil || got != first {
		t.Errorf("EncodeCommit: got %v, %v, want %v", got, err, first)
	}
}

func TestParseCommitIsLenientAboutSignatures(t *testing.T) {
	const tree = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
	for content, ok := range map[string]bool{
		tree + "author A <a@b> x +0000\ncommitter\n\nm": true,
		tree + "author A\n\n":                           true,
		tree:                                            true,
		"":                                              false,
		"author A <a> 1 +0000\n" + tree:                 false,
		"tree 4b82\n\n":                                 false,
		tree + "parent x\n\n":                           false,
	} {
		if _, err := ParseCommit([]byte(content)); (err == nil) != ok {
			t.Errorf("%q: got %v", content, err)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte{})
	f.Add(raw("100644 a", "40000 b"))
	f.Add(raw("100664 a-b", "040000 a"))
	f.Add([]byte("100644 a\x000123"))
	f.Fuzz(func(t *testing.T, content []byte) {
		tree, err := ParseTree(content)
		if err != nil {
			return
		}
		entries := slices.Collect(tree.All())
		if got := EncodeTree(entries); string(got) != string(content) {
			t.Errorf("a tree changes: %q became %q", content, got)
		}
		for _, e := range entries {
			if found, ok := tree.Find(e.Name); !ok || found != e {
				t.Errorf("%q is not found", e.Name)
			}
		}
	})
}
