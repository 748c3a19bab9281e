package workspace

import (
	"errors"
	"strings"
	"testing"
)

// Cases: ID-1, ID-2, ID-3, ID-4, ID-5
func TestParseID(t *testing.T) {
	for _, tt := range []struct{ in, wantErr string }{
		{"/workspaces/scratch", ""},
		{"/workspaces/scratch/nested", ""},
		{"/agents/demo", ""},
		{"/agents/slack/C123/ts-1738000000.123456", ""},
		{"/agents/foo@bar", ""},
		{"/", "no root workspace"},
		{"/workspaces", "no root workspace"},
		{"/workspaces/", "no root workspace"},
		{"/agents", "live under"},
		{"/repos/config", "live under"},
		{"/workspace", "live under"},
		{"/agentsx/demo", "live under"},
		{"agents/demo", "live under"},
		{"", "live under"},
		{"/workspaces/a b", "stable object path"},
		{"/agents/a b", "stable object path"},
		{"/agents/a\u00a0b", "stable object path"},
		{"/agents/a\tb", "stable object path"},
		{"/agents/a\x00b", "stable object path"},
		{"/agents//a", "stable object path"},
		{"/agents/a/", "stable object path"},
		{"/agents/./a", "stable object path"},
		{"/agents/../a", "stable object path"},
		{"/agents/a/.git", "stable object path"},
		{"/agents/a/.GiT/b", "stable object path"},
		{"/agents/a?ws=b", "stable object path"},
		{"/agents/\xff", "stable object path"},
		{"/agents/" + strings.Repeat("a", 256), "255 bytes"},
		{"/agents/" + strings.Repeat("a/", 600) + "a", "1,024 bytes"},
	} {
		got, err := ParseID(tt.in)
		if tt.wantErr == "" {
			if err != nil || string(got) != tt.in {
				t.Errorf("ParseID(%q) = %q, %v, want it unchanged", tt.in, got, err)
			}
			continue
		}
		if !errors.Is(err, Invalid) || !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("ParseID(%q): error %v, want invalid with %q", tt.in, err, tt.wantErr)
		}
	}
}

func TestParsePath(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"/", "/"},
		{"", "/workspace"},
		{".", "/workspace"},
		{"notes.md", "/workspace/notes.md"},
		{"../notes.md", "/notes.md"},
		{"/a/./b/../c", "/a/c"},
		{"/../..", "/"},
		{"/a//b/", "/a/b"},
		{"/repos/app/foo..bar", "/repos/app/foo..bar"},
		{"/repos/app/ lead", "/repos/app/ lead"},
		{"/tmp/../workspace", "/workspace"},
	} {
		got, err := ParsePath(tt.in)
		if err != nil || string(got) != tt.want {
			t.Errorf("ParsePath(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
	if _, err := ParsePath("/a\x00b"); !errors.Is(err, Invalid) {
		t.Errorf("a path with NUL: %v, want invalid", err)
	}
	if _, err := ParsePath("/" + strings.Repeat("a/", 2048) + "a"); !errors.Is(err, Limit) {
		t.Errorf("a path of 4,098 bytes: %v, want limit", err)
	}
}

func TestPathContains(t *testing.T) {
	for _, tt := range []struct {
		p, q Path
		want bool
	}{
		{"/", "/", true}, {"/", "/a", true}, {"/m", "/m", true}, {"/m", "/m/a", true},
		{"/m", "/m-evil", false}, {"/m", "/m0/a", false}, {"/m/a", "/m", false},
	} {
		if got := tt.p.Contains(tt.q); got != tt.want {
			t.Errorf("%s contains %s: got %v", tt.p, tt.q, got)
		}
	}
}

// TestIsDotGit: the names are those that git's own fsck and verify_path refuse.
//
// Cases: D6
func TestIsDotGit(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".Git": true, "git~1": true, "GIT~1": true, ".git.": true, ".git ": true,
		".git. . ": true, ".g\u200cit": true, ".git\ufeff": true, `a\.git`: true, ".git::$INDEX_ALLOCATION": true,
		".gitignore": false, ".github": false, "git": false, ".git1": false, "foo..bar": false, " lead": false,
		"git~2": false, "..": false, ".gi t": false,
	} {
		if got := isDotGit(name); got != want {
			t.Errorf("isDotGit(%q) = %v", name, got)
		}
	}
}
