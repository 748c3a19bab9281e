package tools_test

import (
	"fmt"
	"slices"
	"testing"

	"carrel.dev/tools"
)

// The pages of a list are those of the moment when the first was taken, whatever
// happens between them.
func TestPagesOfOneSnapshot(t *testing.T) {
	b := newBench(t)
	var want []string
	for i := range 4 {
		b.call("writeFile", "", args{"path": fmt.Sprintf("f%d", i), "content": "x"})
		want = append(want, fmt.Sprintf("/workspace/f%d", i))
	}
	var got []string
	in := args{"pattern": "f*", "limit": 1}
	for {
		out := b.call("glob", "", in).(tools.GlobOut)
		got = append(got, out.Paths...)
		if out.NextCursor == "" {
			break
		}
		in["cursor"] = out.NextCursor
		if len(got) == 1 {
			b.call("deleteFile", "", args{"path": "f2"})
			b.call("writeFile", "", args{"path": "f11", "content": "x"})
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
