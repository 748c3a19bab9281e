package workspace_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "carrel.dev/workspace"
)

// Cases: CF-3, CF-4, CF-6, CF-7, RV-3
func TestConfigureKeepsWorkWithItsOwner(t *testing.T) {
	b := newBench(t, f1)
	w := b.create("/agents/a", f1Mounts())
	ctx := context.Background()
	try := func(key string, patch MountPatch) error {
		_, err := w.Configure(ctx, map[string]MountPatch{key: patch})
		return err
	}
	w.write("/config/new.ts", "x\n")
	for _, tt := range []struct {
		name, key string
		patch     MountPatch
		wantErr   string
	}{
		{"remove", "/config", nil, "uncommitted work"},
		{"repoint", "/config", mount("/repos/iterate", ReadOnly), "uncommitted work"},
		{"a mount at a dirty file", "/config/new.ts", mount("/repos/iterate", ReadOnly), "uncommitted work"},
		{"a mount below a local file", "/config/new.ts/deep", mount("/repos/iterate", ReadOnly), "collides"},
		{"policy only", "/config", MountPatch{FieldPolicy: policy(ReadOnly)}, ""},
		{"an unrelated mount", "/vendor", mount("/repos/iterate", ReadOnly), ""},
		{"wider than the repo", "/vendor", MountPatch{FieldPolicy: policy(CommitToMain)}, ""},
	} {
		err := try(tt.key, tt.patch)
		if tt.wantErr == "" && err != nil || tt.wantErr != "" && (!errors.Is(err, Conflict) || !strings.Contains(err.Error(), tt.wantErr)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.wantErr)
		}
	}
	if _, err := w.tryCommit("/config"); !errors.Is(err, Permission) {
		t.Errorf("a commit of a mount made read-only: %v", err)
	}
	if err := try("/config", MountPatch{FieldPolicy: policy(CommitToMain)}); err != nil {
		t.Fatal(err)
	}
	w.commit("/config")
	w.write("/config/again.ts", "x\n")
	if _, err := w.Revert(ctx, "/config/again.ts"); err != nil {
		t.Fatal(err)
	}
	if err := try("/config", nil); err != nil {
		t.Errorf("removing a clean mount: %v", err)
	}
	if w.snap().Table.At("/config") != nil || w.snap().Table.At("/repos/config") == nil {
		t.Error("the mount is there, or the derived one is not")
	}
	if got := w.read("/repos/config/new.ts"); got != "x\n" {
		t.Errorf("what was committed through the mount: %q", got)
	}
}

func TestConfigureNeverWidens(t *testing.T) {
	b := newBench(t, f1)
	err := b.project.SetRepo(context.Background(), Caller{}, Repo{
		Path: "/repos/config", Source: Source{Location: b.root + "/config.git"}, Branch: "main", Policy: WorkBranch,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := b.create("/agents/a", nil)
	for _, key := range []string{"/repos/config", "/extra"} {
		_, err := w.Configure(context.Background(), map[string]MountPatch{key: mount("/repos/config", CommitToMain)})
		if !errors.Is(err, Permission) || !strings.Contains(HintOf(err), "repo configure") {
			t.Errorf("%s: %v", key, err)
		}
	}
	_, err = w.Configure(context.Background(), map[string]MountPatch{"/repos/config": {FieldBranch: val("nowhere")}})
	if !errors.Is(err, Invalid) {
		t.Errorf("a branch that is not there: %v", err)
	}
}

func val(s string) *string { return &s }

// Cases: ID-6, ID-7, ID-8, ID-9, ID-10, ID-11, ID-13, ID-14, ID-16, LC-1, LC-2, LC-3
func TestLifeCycle(t *testing.T) {
	b := newBench(t, f1)
	ctx := context.Background()
	count := func(stream string) (types []string) {
		for r, err := range b.project.Records(ctx, stream, 0) {
			if err != nil {
				t.Fatal(err)
			}
			types = append(types, r.Type)
		}
		return types
	}
	if _, err := b.project.Workspace(ctx, "/agents/a", Caller{}); !errors.Is(err, NotExist) || !strings.Contains(HintOf(err), "`workspace.create`") {
		t.Errorf("never created: %v", err)
	}
	if got := count("/agents/a"); len(got) != 0 {
		t.Errorf("a refused verb appended %v", got)
	}
	create := func(devs map[string]MountPatch, digest string) (bool, error) {
		return b.project.Create(ctx, Caller{}, CreateRequest{ID: "/agents/a", Mounts: devs, Digest: digest})
	}
	devs := map[string]MountPatch{"/cfg": mount("/repos/config", WorkBranch)}
	if made, err := create(devs, "1"); err != nil || !made {
		t.Fatal(made, err)
	}
	if got := strings.Join(count("/agents/a"), " "); got != "workspace/created workspace/configured" {
		t.Errorf("the birth appended %q", got)
	}
	home := count(ProjectStream)
	for _, again := range []struct {
		devs   map[string]MountPatch
		digest string
		want   error
	}{
		{nil, "other", nil},
		{devs, "1", nil},
		{map[string]MountPatch{"/cfg": mount("/repos/config", ReadOnly)}, "2", Exist},
	} {
		if made, err := create(again.devs, again.digest); made || !errors.Is(err, again.want) {
			t.Errorf("created again: %v, %v, want %v", made, err, again.want)
		}
	}
	if got := b.open("/agents/a", "s").snap().Table.At("/cfg").Policy; got != WorkBranch {
		t.Errorf("the policy became %s", got)
	}
	if got := count(ProjectStream); len(got) != len(home) {
		t.Errorf("repeats appended %v", got[len(home):])
	}
	b.create("/agents/a/nested", nil)
	if got := strings.Join(count("/agents/a/nested"), " "); got != "workspace/created" {
		t.Errorf("a birth without mounts appended %q", got)
	}
	w := b.open("/agents/a", "s")
	w.write("/workspace/notes", "x")
	if _, err := b.project.Delete(ctx, Caller{}, "/agents/a", false); !errors.Is(err, Conflict) || !strings.Contains(err.Error(), "1 uncommitted") {
		t.Errorf("delete with work: %v", err)
	}
	if gone, err := b.project.Delete(ctx, Caller{}, "/agents/a", true); err != nil || !gone {
		t.Errorf("delete: %v, %v", gone, err)
	}
	end := len(count("/agents/a"))
	if gone, err := b.project.Delete(ctx, Caller{}, "/agents/a", false); err != nil || gone {
		t.Errorf("a second delete: %v, %v", gone, err)
	}
	if _, err := create(nil, ""); !errors.Is(err, Exist) || !strings.Contains(err.Error(), "cannot be created again") {
		t.Errorf("created after the end: %v", err)
	}
	if _, err := w.Write(ctx, "/workspace/x", nil, WriteOptions{}); !errors.Is(err, Closed) {
		t.Errorf("a write after the end: %v", err)
	}
	if got := len(count("/agents/a")); got != end {
		t.Errorf("%d records after the end", got-end)
	}
	c, err := b.project.Catalog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for l := range c.List("", "") {
		ids = append(ids, string(l.ID))
	}
	if got := strings.Join(ids, " "); got != "/agents/a/nested" {
		t.Errorf("listed: %q", got)
	}
}

// Cases: ID-12
func TestKeys(t *testing.T) {
	b := newBench(t, f1)
	ctx := context.Background()
	keyed := Caller{Session: "s", Key: "k1", Request: "create 1"}
	r := CreateRequest{ID: "/agents/a", Digest: "1"}
	for range 2 {
		if made, err := b.project.Create(ctx, keyed, r); err != nil || !made {
			t.Errorf("create with a key: %v, %v", made, err)
		}
	}
	keyed.Request = "create 2"
	if _, err := b.project.Create(ctx, keyed, r); !errors.Is(err, Conflict) {
		t.Errorf("another request under the key: %v", err)
	}
	handle := func(key, request string) *Workspace {
		w, err := b.project.Workspace(ctx, "/agents/a", Caller{Session: "s", Key: key, Request: request})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	first, err := handle("k2", "write").Write(ctx, "/repos/config/x", []byte("1"), WriteOptions{})
	if err != nil || !first.Created {
		t.Fatal(first, err)
	}
	b.reopen()
	again, err := handle("k2", "write").Write(ctx, "/repos/config/x", []byte("1"), WriteOptions{})
	if err != nil || again != first {
		t.Errorf("a repeat answers %+v, %v, want %+v", again, err, first)
	}
	c1, err := handle("k3", "commit").Commit(ctx, CommitRequest{Mount: "/repos/config", Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	c2, err := handle("k3", "commit").Commit(ctx, CommitRequest{Mount: "/repos/config", Message: "m"})
	if err != nil || c2.Commit != c1.Commit {
		t.Errorf("a repeated commit: %+v, %v, want %+v", c2, err, c1)
	}
	if n := b.git("config", "rev-list", "--count", "main"); n != "2" {
		t.Errorf("%s commits", n)
	}
	if _, err := handle("k4", "bad").Write(ctx, "/nowhere", nil, WriteOptions{}); !errors.Is(err, Permission) {
		t.Errorf("got %v", err)
	}
	if w, err := handle("k4", "good").Write(ctx, "/workspace/ok", nil, WriteOptions{}); err != nil || !w.Created {
		t.Errorf("a refusal used up its key: %+v, %v", w, err)
	}
}

// Cases: RD-8, SH-10, ID-17
func TestTwoHostsOnOneStore(t *testing.T) {
	b := newBench(t, f1)
	b.create("/agents/a", nil)
	one := b.open("/agents/a", "one")
	b.reopen()
	two := b.open("/agents/a", "two")
	for i := range 20 {
		w, other := one, two
		if i%2 == 1 {
			w, other = two, one
		}
		p := "/repos/config/f" + string(rune('a'+i))
		w.write(p, "x\n")
		if got := other.read(p); got != "x\n" {
			t.Fatalf("write %d is not seen by the other host: %q", i, got)
		}
	}
	one.commit("/repos/config")
	if got := two.status("/repos/config"); len(got) != 0 {
		t.Errorf("after the other's commit: %v", got)
	}
}

// Cases: XT-8, DL-9, XT-6
func TestRepoBornUnderWork(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"vendor": "a file\n", "keep": "k\n"}})
	w := b.create("/agents/a", nil)
	w.del("/repos/app/vendor")
	w.write("/repos/app/lib/x", "mine\n")
	b.repo("app/vendor", map[string]string{"README.md": "vendored\n"})
	b.repo("app/lib", map[string]string{"README.md": "library\n"})
	if got := w.read("/repos/app/vendor/README.md"); got != "vendored\n" {
		t.Errorf("a whiteout hides a new mount: %q", got)
	}
	if got := w.status("/repos/app/vendor"); len(got) != 0 {
		t.Errorf("changes in the new mount: %v", got)
	}
	snap := w.snap()
	if len(snap.Table.Withheld) != 1 || snap.Table.Withheld[0].Point != "/repos/app/lib" {
		t.Errorf("withheld: %v", snap.Table.Withheld)
	}
	if got := w.read("/repos/app/lib/x"); got != "mine\n" {
		t.Errorf("work under a new repo: %q", got)
	}
	w.commit("/repos/app", "/repos/app/lib")
	if got := w.read("/repos/app/lib/README.md"); got != "library\n" {
		t.Errorf("after the commit the mount is there: %q", got)
	}
}

// TestConfigureKeepsTheBranchChecked: a patch that names another repo keeps the
// mount's branch, which that repo must have: otherwise the mount could not be read.
func TestConfigureKeepsTheBranchChecked(t *testing.T) {
	b := newBench(t, map[string]map[string]string{"app": {"a": "app\n"}, "lib": {"a": "lib\n"}, "old": {"a": "old\n"}})
	b.git("app", "branch", "dev", "main")
	b.git("old", "branch", "dev", "main")
	dev := mount("/repos/app", CommitToMain)
	dev[FieldBranch] = val("dev")
	w := b.create("/agents/a", map[string]MountPatch{"/x": dev})
	_, err := w.Configure(context.Background(), map[string]MountPatch{"/x": {FieldRepo: val("/repos/lib")}})
	if !errors.Is(err, Invalid) || !strings.Contains(err.Error(), "dev") {
		t.Errorf("a repo without the branch: %v, want invalid", err)
	}
	if got := w.read("/x/a"); got != "app\n" {
		t.Errorf("after the refusal: %q", got)
	}
	w.configure("/x", MountPatch{FieldRepo: val("/repos/old")})
	if got := w.read("/x/a"); got != "old\n" {
		t.Errorf("on a repo that has the branch: %q", got)
	}
}
