package workspace_test

import (
	"slices"
	"testing"

	. "carrel.dev/workspace"
)

// A subtree is taken away by whole segments, and what Carrel keeps for itself in
// scratch stays unless it is named.
func TestWithoutTree(t *testing.T) {
	u := &Upper{}
	for _, p := range []Path{"/repos/m", "/repos/m-evil/a", "/repos/m/a", "/repos/m0", "/workspace/.carrel/x", "/workspace/y"} {
		u = u.With(p, Entry{Kind: File, Mode: ModeFile, OID: OID{1}, Size: 1})
	}
	for p, want := range map[Path][]Path{
		"/repos/m":           {"/repos/m-evil/a", "/repos/m0", "/workspace/.carrel/x", "/workspace/y"},
		"/":                  {"/workspace/.carrel/x"},
		"/workspace":         {"/repos/m", "/repos/m-evil/a", "/repos/m/a", "/repos/m0", "/workspace/.carrel/x"},
		"/workspace/.carrel": {"/repos/m", "/repos/m-evil/a", "/repos/m/a", "/repos/m0", "/workspace/y"},
		"/nowhere":           {"/repos/m", "/repos/m-evil/a", "/repos/m/a", "/repos/m0", "/workspace/.carrel/x", "/workspace/y"},
	} {
		var got []Path
		left := u.WithoutTree(p)
		for q := range left.Within("/") {
			got = append(got, q)
		}
		if !slices.Equal(got, want) || left.Bytes() != int64(len(want)) {
			t.Errorf("without %s: got %v and %d bytes, want %v", p, got, left.Bytes(), want)
		}
	}
	if u.Len() != 6 {
		t.Errorf("the upper itself changed: %d entries", u.Len())
	}
}
