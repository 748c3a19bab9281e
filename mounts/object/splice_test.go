package object

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// TestSplice takes entries out of trees and puts others in, and compares the
// bytes with those of a tree that is written from scratch, sorted another way.
func TestSplice(t *testing.T) {
	key := func(e Entry) string {
		if e.Mode == workspace.ModeDir {
			return e.Name + "/"
		}
		return e.Name + "\x00"
	}
	scratch := func(entries map[string]Entry) []byte {
		var b bytes.Buffer
		sorted := slices.Collect(func(yield func(Entry) bool) {
			for _, e := range entries {
				if !yield(e) {
					return
				}
			}
		})
		slices.SortFunc(sorted, func(a, b Entry) int { return strings.Compare(key(a), key(b)) })
		for _, e := range sorted {
			fmt.Fprintf(&b, "%s %s\x00%s", e.Raw, e.Name, e.ID[:])
		}
		return b.Bytes()
	}
	names := []string{"a", "a-b", "a.c", "a0", "ab", "b", "b-", "b.x", "c", "é", "Z", "a~"}
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		entry := func(name string) Entry {
			mode := []workspace.Mode{workspace.ModeFile, workspace.ModeDir, workspace.ModeExecutable, workspace.ModeSymlink}[rnd.IntN(4)]
			return NewEntry(name, workspace.Node{Mode: mode, OID: workspace.OID{byte(rnd.Uint32()), 1}})
		}
		entries := map[string]Entry{}
		for range rnd.IntN(len(names) + 1) {
			name := names[rnd.IntN(len(names))]
			entries[name] = entry(name)
		}
		old, err := ParseTree(scratch(entries))
		if err != nil {
			t.Fatal(err)
		}
		var gone []int
		var added []Entry
		for _, name := range names {
			if rnd.IntN(2) == 0 {
				continue
			}
			if i, ok := old.Index(name); ok {
				gone = append(gone, i)
				delete(entries, name)
			}
			if rnd.IntN(3) > 0 {
				e := entry(name)
				entries[name], added = e, append(added, e)
			}
		}
		slices.Sort(gone)
		if got, want := old.Splice(gone, added), scratch(entries); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: got %q, want %q", seed, got, want)
		}
	}
}
