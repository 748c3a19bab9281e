package tools_test

import (
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// TestNamesAreQuoted has a name that would rewrite a terminal, or look like a line of
// its own, come back in what tools say.
func TestNamesAreQuoted(t *testing.T) {
	b := newBench(t, "r")
	const odd = "/repos/r/\x1b[31mred\x07\n9  fake"
	check := func(doing, said string) {
		t.Helper()
		if !strings.Contains(said, "fake") || strings.ContainsAny(said, "\x1b\x07") || strings.Contains(said, "\n9") {
			t.Errorf("%s says %q", doing, said)
		}
	}
	for _, call := range []struct {
		tool string
		in   args
	}{
		{"writeFile", args{"path": odd, "content": "1\n"}},
		{"writeFile", args{"path": odd, "content": "1\n"}},
		{"edit", args{"path": odd, "oldString": "1", "newString": "2", "dryRun": true}},
		{"stat", args{"path": odd}},
		{"exists", args{"path": odd}},
		{"revert", args{"path": odd}},
		{"batch", args{"changes": []args{{"op": "writeFile", "path": odd, "content": "3\n"}}}},
		{"mv", args{"from": odd, "to": odd + "2"}},
		{"readDir", args{"path": "/repos/r"}},
	} {
		head, _, _ := strings.Cut(b.call(call.tool, "", call.in).Render().Text, "\ndiff ")
		check(call.tool, head)
	}
	_, err := b.try("readFile", "", args{"path": "/repos/r/nope"})
	check("a hint", workspace.HintOf(err))
	_, err = b.try("readFile", "", args{"path": odd + "3"})
	check("the nearest", workspace.HintOf(err))
	b.call("deleteFile", "", args{"path": odd + "2"})
}
