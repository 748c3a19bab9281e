package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

func TestWorkspaces(t *testing.T) {
	w := newWorld(t)
	w.carrel("repo", "create", "notes", "--project", "other")
	w.fails(workspace.NotExist, "The projects are: other. ", "workspace", "create", "/agents/demo")
	w.demo()
	w.carrel("workspace", "create", "/agents/other")
	w.has(w.carrel("workspace", "create", "/agents/demo"), "is there already")
	w.fails(workspace.Invalid, "/agents/", "workspace", "create", "demo")
	w.carrel("call", "writeFile", "path=/repos/app/main.go", "content=one\n")
	w.carrel("call", "writeFile", "path=notes", "content=one\n")

	list := decode[workspaceList](w, "workspace", "list")
	if got, want := len(list.Workspaces), 2; got != want {
		t.Fatalf("got %d workspaces, want %d", got, want)
	}
	demo := list.Workspaces[0]
	if demo.ChangedAt.Before(demo.CreatedAt) || time.Since(demo.ChangedAt) > time.Hour {
		t.Errorf("created %v, changed %v", demo.CreatedAt, demo.ChangedAt)
	}
	two := 2
	want := workspaceInfo{Path: "/agents/demo", CreatedAt: demo.CreatedAt, ChangedAt: demo.ChangedAt, Dirty: &two, Branches: []string{"main"}, Client: "carrel call"}
	if d := cmp.Diff(want, demo); d != "" {
		t.Errorf("demo (-want +got):\n%s", d)
	}
	commit := decode[struct{ Branch string }](w, "commit", "-m", "one")
	demo = decode[workspaceList](w, "workspace", "list", "/agents/d").Workspaces[0]
	if got, want := demo.Branches, []string{commit.Branch}; !cmp.Equal(got, want) {
		t.Errorf("after a commit: got the branches %v, want %v", got, want)
	}
	text := w.carrel("workspace", "list")
	for _, want := range []string{"PATH ", "/agents/demo   now  now          1      " + commit.Branch + "  carrel commit\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	r := w.try("", "workspace", "list", "--limit", "1")
	w.has(r.stderr, "1 more; raise --limit")

	w.has(w.carrel("workspace", "show"), "workspace /agents/demo")
	show := decode[struct{ Mounts []struct{ Path string } }](w, "workspace", "show", "/agents/other")
	if got := len(show.Mounts); got != 2 {
		t.Errorf("show: got %d mounts, want 2", got)
	}
	w.carrel("workspace", "delete", "/agents/other")
	if got := len(decode[workspaceList](w, "workspace", "list").Workspaces); got != 1 {
		t.Errorf("after a deletion: got %d workspaces, want 1", got)
	}
	if got, want := w.carrel("workspace", "list", "/workspaces/"), "no workspaces\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestListWithoutRepo lists a workspace whose repository cannot be read.
func TestListWithoutRepo(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.carrel("call", "writeFile", "path=/repos/app/main.go", "content=one\n")
	w.carrel("workspace", "create", "/agents/other")
	w.moveAway("app")
	list := decode[workspaceList](w, "workspace", "list").Workspaces
	if got := len(list); got != 2 || list[0].Dirty != nil || list[0].Problem == "" {
		t.Errorf("got %+v", list)
	}
	if r := w.try("", "workspace", "list"); !strings.Contains(r.stdout, "  ?  ") || !strings.Contains(r.stderr, "/agents/demo: ") {
		t.Errorf("got %+v", r)
	}
}

func TestAgo(t *testing.T) {
	tests := []struct {
		past time.Duration
		want string
	}{
		{-time.Hour, "now"}, {0, "now"}, {59 * time.Second, "now"}, {time.Minute, "1m"}, {59 * time.Minute, "59m"},
		{time.Hour, "1h"}, {47 * time.Hour, "47h"}, {48 * time.Hour, "2d"}, {400 * 24 * time.Hour, "400d"},
	}
	now := time.Unix(1_800_000_000, 0)
	for _, tt := range tests {
		if got := ago(now, now.Add(-tt.past)); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.past, got, tt.want)
		}
	}
}
