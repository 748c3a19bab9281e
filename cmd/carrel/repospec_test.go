package main

import (
	"strings"
	"testing"

	"carrel.dev/workspace"
)

func TestParseRepoSpec(t *testing.T) {
	onDisk := map[string]bool{"app": true, "/x/app": true, "a=b": true, "c#d": true, "lib.git": true, "e=f#g": true, "../up": true}
	exists := func(path string) bool { return onDisk[path] }
	tests := []struct {
		in   string
		want repoSpec
		kind workspace.Kind
		hint string // part of it
	}{
		{"app", repoSpec{"", "app", ""}, "", ""},
		{"/x/app", repoSpec{"", "/x/app", ""}, "", ""},
		{"app#next", repoSpec{"", "app", "next"}, "", ""},
		{"app#feature/x#1", repoSpec{"", "app", "feature/x#1"}, "", ""},
		{"app#", repoSpec{"", "app", ""}, "", ""},
		{"lib=lib.git", repoSpec{"lib", "lib.git", ""}, "", ""},
		{"lib=lib.git#main", repoSpec{"lib", "lib.git", "main"}, "", ""},
		{"team/lib=lib.git#main", repoSpec{"team/lib", "lib.git", "main"}, "", ""},
		{"./team=lib.git", repoSpec{}, workspace.NotExist, "[NAME=]PATH[#BRANCH]"},
		{"/repos/team/lib=lib.git", repoSpec{"/repos/team/lib", "lib.git", ""}, "", ""},
		{"a=b", repoSpec{"", "a=b", ""}, "", ""},
		{"a=b#main", repoSpec{"", "a=b", "main"}, "", ""},
		{"x=a=b", repoSpec{"x", "a=b", ""}, "", ""},
		{"c#d", repoSpec{"", "c#d", ""}, "", ""},
		{"c#d#main", repoSpec{"", "c#d", "main"}, "", ""},
		{"n=c#d", repoSpec{"n", "c#d", ""}, "", ""},
		{"e=f#g#h", repoSpec{"", "e=f#g", "h"}, "", ""},
		{"../up#b", repoSpec{"", "../up", "b"}, "", ""},
		{"missing", repoSpec{}, workspace.NotExist, "bare repository or a checkout"},
		{"n=missing#b", repoSpec{}, workspace.NotExist, "bare repository or a checkout"},
		{"n=~/src/app", repoSpec{}, workspace.NotExist, "only a shell knows ~"},
		{"", repoSpec{}, workspace.Invalid, "NAME"},
		{"=app", repoSpec{}, workspace.Invalid, "NAME=PATH"},
		{"n=", repoSpec{}, workspace.Invalid, "PATH"},
		{"#main", repoSpec{}, workspace.Invalid, "PATH"},
		{"https://example.com/team/app.git", repoSpec{}, workspace.Invalid, "git clone --bare https://example.com/team/app.git app.git"},
		{"n=ssh://host/app", repoSpec{}, workspace.Invalid, "git clone --bare ssh://host/app app.git"},
		{"https://example.com/app/", repoSpec{}, workspace.Invalid, "git clone --bare https://example.com/app/ app.git"},
		{"git@example.com:app.git", repoSpec{}, workspace.Invalid, "git clone --bare git@example.com:app.git app.git"},
	}
	for _, tt := range tests {
		got, err := parseRepoSpec(tt.in, exists)
		if workspace.KindOf(err) != tt.kind {
			t.Errorf("%q: got error %v, want the kind %q", tt.in, err, tt.kind)
		}
		if err == nil && got != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.in, got, tt.want)
		}
		if hint := workspace.HintOf(err); !strings.Contains(hint, tt.hint) {
			t.Errorf("%q: got hint %q, want %q in it", tt.in, hint, tt.hint)
		}
	}
}

func TestDerivedName(t *testing.T) {
	tests := []struct{ in, want string }{
		{"app", "app"},
		{"My App", "My-App"},
		{"a#b?c%d\\e", "a-b-c-d-e"},
		{"größe", "größe"},
		{"v1.2_x+y@z", "v1.2_x+y@z"},
		{"a=b", "a-b"},
		{"tab\there", "tab-here"},
		{"\xff\xfe", "-"},
		{"..", "repo"},
		{".GIT", "repo"},
		{"", "repo"},
		{strings.Repeat("ö", 300), strings.Repeat("ö", maxDerived/2)},
	}
	for _, tt := range tests {
		got := derivedName(tt.in)
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
		if _, err := repoPathOf(got + "-10"); err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
	}
}
