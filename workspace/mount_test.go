package workspace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func repos(names ...string) map[RepoPath]Repo {
	m := map[RepoPath]Repo{}
	for _, n := range names {
		m[RepoPath(n)] = Repo{Path: RepoPath(n), Branch: "main", Policy: CommitToMain}
	}
	return m
}

// table renders a mount table: "point repo policy".
func render(t *Table) []string {
	lines := []string{}
	for _, m := range t.Mounts {
		lines = append(lines, strings.Join([]string{string(m.Point), string(m.Repo), string(m.Policy)}, " "))
	}
	return lines
}

// Cases: MT-1, MT-2, MT-3, MT-4, MT-5, MT-6, MT-11
func TestDerive(t *testing.T) {
	for _, tt := range []struct {
		name string
		repo []string
		devs map[Path]Deviation
		want []string
	}{
		{"no deviations", []string{"/repos/iterate", "/repos/config"}, nil,
			[]string{"/repos/config /repos/config commit-to-main", "/repos/iterate /repos/iterate commit-to-main"}},
		{"narrowed", []string{"/repos/big"}, map[Path]Deviation{"/repos/big": {Policy: ReadOnly}},
			[]string{"/repos/big /repos/big read-only"}},
		{"an extra mount", []string{"/repos/a"}, map[Path]Deviation{"/vendor": {Repo: "/repos/a", Policy: WorkBranch}},
			[]string{"/repos/a /repos/a commit-to-main", "/vendor /repos/a branch"}},
		{"repos that none should have", []string{"/repos/", "/secrets/a", "/repos/a/../b"}, nil, []string{}},
		{"a policy where nothing is", []string{"/repos/a"}, map[Path]Deviation{"/new": {Policy: ReadOnly}},
			[]string{"/repos/a /repos/a commit-to-main"}},
		{"the root", []string{"/repos/a"}, map[Path]Deviation{"/": {Repo: "/repos/a", Policy: ReadOnly}},
			[]string{"/repos/a /repos/a commit-to-main"}},
		{"a repo that is not there", []string{"/repos/a"}, map[Path]Deviation{"/x": {Repo: "/repos/b", Policy: ReadOnly}},
			[]string{"/repos/a /repos/a commit-to-main"}},
		{"scratch", []string{"/repos/a"}, map[Path]Deviation{"/workspace/x": {Repo: "/repos/a", Policy: ReadOnly}},
			[]string{"/repos/a /repos/a commit-to-main"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewState()
			s.Deviations = tt.devs
			if diff := cmp.Diff(tt.want, render(derive(repos(tt.repo...), s, nil))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDeriveNeverWidens(t *testing.T) {
	all := repos("/repos/a")
	r := all["/repos/a"]
	r.Policy = WorkBranch
	all["/repos/a"] = r
	s := NewState()
	s.Deviations = map[Path]Deviation{"/repos/a": {Policy: CommitToMain}, "/x": {Repo: "/repos/a", Policy: CommitToMain}}
	for _, line := range render(derive(all, s, nil)) {
		if !strings.HasSuffix(line, " branch") {
			t.Errorf("got %q, want the repo's policy", line)
		}
	}
}

// Cases: MT-7, MT-8, MT-9, MT-10, MT-11, CF-9, CF-10
func TestPlan(t *testing.T) {
	catalog := (&Catalog{Repos: repos("/repos/config", "/repos/a")}).clone()
	full := func(repo string) MountPatch { return MountPatch{FieldRepo: &repo, FieldPolicy: val("read-only")} }
	for _, tt := range []struct {
		name    string
		mounts  map[string]MountPatch
		want    []string // the keys that are accepted
		wantErr string
	}{
		{"root", map[string]MountPatch{"/": full("/repos/a")}, nil, "not allowed"},
		{"git", map[string]MountPatch{"/a/.git": full("/repos/a")}, nil, "reserved .git"},
		{"twice", map[string]MountPatch{"/a": full("/repos/a"), "/a/": full("/repos/a")}, nil, "named twice"},
		{"elsewhere", map[string]MountPatch{"/a": full("/secrets/a")}, nil, "must be under /repos/"},
		{"scratch", map[string]MountPatch{"/workspace": full("/repos/a")}, nil, "reserved"},
		{"below scratch", map[string]MountPatch{"/workspace/notes": full("/repos/a")}, nil, "reserved"},
		{"scratch in disguise", map[string]MountPatch{"/tmp/../workspace": full("/repos/a")}, nil, "reserved"},
		{"agents", map[string]MountPatch{"/agents/x": full("/repos/a")}, nil, "reserved"},
		{"a longer name", map[string]MountPatch{"/workspace-tools": full("/repos/a")}, []string{"/workspace-tools"}, ""},
		{"spelled loosely", map[string]MountPatch{"/config/": full("repos/config")}, []string{"/config"}, ""},
		{"popped", map[string]MountPatch{"/a/./b/../c": full("/repos/a")}, []string{"/a/c"}, ""},
		{"null and policy alone", map[string]MountPatch{"/x": nil, "/repos/a": {FieldPolicy: val("branch")}}, []string{"/repos/a", "/x"}, ""},
		{"incomplete", map[string]MountPatch{"/x": {FieldPolicy: val("branch")}}, nil, "incomplete"},
		{"unknown repo", map[string]MountPatch{"/x": full("/repos/none")}, nil, "no repo /repos/none"},
		{"unknown field", map[string]MountPatch{"/x": {"colour": val("red")}}, nil, `no field "colour"`},
		{"unknown policy", map[string]MountPatch{"/repos/a": {FieldPolicy: val("all")}}, nil, "no policy"},
		{"pin", map[string]MountPatch{"/repos/a": {FieldPin: val(strings.Repeat("a", 40))}}, nil, "cannot be pinned"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSnapshot(nil, NewState(), derive(catalog.Repos, NewState(), nil))
			got, err := plan(s, catalog, tt.mounts)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("got %v, want an error with %q", err, tt.wantErr)
				}
				if !errors.Is(err, Invalid) {
					t.Errorf("got kind %s, want invalid", KindOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for k, p := range got {
				keys = append(keys, k)
				if v := p[FieldRepo]; v != nil && !strings.HasPrefix(*v, "/repos/") {
					t.Errorf("%s: repo %s is not canonical", k, *v)
				}
			}
			slices.Sort(keys)
			if diff := cmp.Diff(tt.want, keys); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Cases: CF-8
func TestRoute(t *testing.T) {
	s := NewState()
	s.Deviations = map[Path]Deviation{"/repos/a/sub": {Repo: "/repos/b", Policy: ReadOnly}}
	table := derive(repos("/repos/a", "/repos/b", "/repos/a-evil"), s, nil)
	for p, want := range map[Path]Path{
		"/repos/a": "/repos/a", "/repos/a/x": "/repos/a", "/repos/a/sub": "/repos/a/sub", "/repos/a/sub/y/z": "/repos/a/sub",
		"/repos/a/subway": "/repos/a", "/repos/a-evil/x": "/repos/a-evil", "/repos/b/x": "/repos/b",
		"/repos": "", "/repos/c": "", "/": "", "/workspace/a": "",
	} {
		if got := table.Route(p).Owner().Mount; got != want {
			t.Errorf("%s routes to %q, want %q", p, got, want)
		}
	}
	for p, want := range map[Path]bool{"/": true, "/repos": true, "/repos/a": true, "/repos/a/sub": true, "/repos/a/su": false, "/rep": false} {
		if got := table.Spans(p); got != want {
			t.Errorf("spans %s: got %v", p, got)
		}
	}
}

func TestDeriveWithholds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry Entry
		path  Path
		held  bool
	}{
		{"content of another owner below", Entry{Kind: File, Owner: Owner{"/repos/a", "/repos/a"}}, "/repos/a/v/x", true},
		{"content of another owner at it", Entry{Kind: File, Owner: Owner{"/repos/a", "/repos/a"}}, "/repos/a/v", true},
		{"a whiteout", Entry{Kind: Whiteout, Owner: Owner{"/repos/a", "/repos/a"}}, "/repos/a/v", false},
		{"its own content", Entry{Kind: File, Owner: Owner{"/repos/a/v", "/repos/a/v"}}, "/repos/a/v/x", false},
		{"content beside it", Entry{Kind: File, Owner: Owner{"/repos/a", "/repos/a"}}, "/repos/a/v0", false},
		{"a file above it", Entry{Kind: File, Owner: Owner{"/repos", "/repos/b"}}, "/repos/a", true},
		{"a link above it", Entry{Kind: Symlink, Owner: Owner{"/repos", "/repos/b"}}, "/repos/a", true},
		{"a directory above it", Entry{Kind: Dir, Owner: Owner{"/repos", "/repos/b"}}, "/repos/a", false},
		{"a whiteout above it", Entry{Kind: Whiteout, Owner: Owner{"/repos", "/repos/b"}}, "/repos/a", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewState()
			s.Upper = s.Upper.With(tt.path, tt.entry)
			table := derive(repos("/repos/a/v"), s, nil)
			if got := len(table.Withheld) == 1 && table.At("/repos/a/v") == nil; got != tt.held {
				t.Errorf("withheld: got %v, want %v", got, tt.held)
			}
		})
	}
}

// A mount that a deviation adds is fenced too when its repo, which was removed,
// comes back to where something was written meanwhile.
func TestDeriveWithholdsAnAddedMountThatReturns(t *testing.T) {
	s := NewState()
	s.Deviations = map[Path]Deviation{"/repos/a/v": {Repo: "/repos/b", Policy: ReadOnly}}
	all := repos("/repos/a", "/repos/b")
	if table := derive(all, s, nil); table.At("/repos/a/v") == nil {
		t.Fatal("not mounted")
	}
	s.Upper = s.Upper.With("/repos/a/v/x", Entry{Kind: File, Owner: Owner{"/repos/a", "/repos/a"}})
	if table := derive(all, s, nil); table.At("/repos/a/v") != nil || len(table.Withheld) != 1 {
		t.Errorf("mounted over %v", table.Withheld)
	}
}

func TestDeriveRemovedRepoStaysWhileContentRemains(t *testing.T) {
	all := repos("/repos/a")
	r := all["/repos/a"]
	r.Removed = true
	all["/repos/a"] = r
	s := NewState()
	if got := render(derive(all, s, nil)); len(got) != 0 {
		t.Errorf("without content: %v", got)
	}
	s.Upper = s.Upper.With("/repos/a/x", Entry{Kind: Whiteout, Owner: Owner{"/repos/a", "/repos/a"}})
	if got := render(derive(all, s, nil)); len(got) != 0 {
		t.Errorf("with a whiteout: %v", got)
	}
	s.Upper = s.Upper.With("/repos/a/y", Entry{Kind: File, Owner: Owner{"/repos/a", "/repos/a"}})
	table := derive(all, s, nil)
	if m := table.At("/repos/a"); m == nil || !m.Removed {
		t.Errorf("with content: %v", render(table))
	}
}
