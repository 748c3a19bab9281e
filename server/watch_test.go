package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/server"
	"carrel.dev/workspace"
)

// newMounted returns a project with a repo of each name.
func newMounted(t *testing.T, names ...string) *workspace.Project {
	t.Helper()
	store, repos := memory.New(nil), mounts.New(nil)
	host, err := workspace.NewHost(t.Context(), &workspace.Config{Store: store, Blobs: store, Trees: repos, Committer: repos, Ignorer: repos, DataID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Project(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"init", "-q", "--bare", "-b", "main"},
			{"fast-import", "--quiet"},
		} {
			cmd := exec.Command("git", args...)
			cmd.Dir = dir
			cmd.Stdin = strings.NewReader("commit refs/heads/main\ncommitter Ann <ann@example.org> 0 +0000\ndata 1\nx\nM 644 inline f\ndata 2\nx\n\n")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		if err := p.SetRepo(t.Context(), workspace.Caller{}, workspace.Repo{
			Path: workspace.RepoPath("/repos/" + name), Source: workspace.Source{Location: dir}, Branch: "main", Policy: workspace.CommitToMain,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// watch returns what has an item for each time that the session was told.
func (c *caller) watch(uri string) <-chan string {
	c.t.Helper()
	told := make(chan string, 1000)
	stop, err := c.Watch(c.t.Context(), server.Asked{URI: uri}, func() { told <- uri })
	if err != nil {
		c.t.Fatalf("watch %s: %v", uri, err)
	}
	c.t.Cleanup(stop)
	return told
}

func mustTell(t *testing.T, told <-chan string, what string) {
	t.Helper()
	select {
	case <-told:
	case <-time.After(30 * time.Second):
		t.Fatalf("nobody was told of %s", what)
	}
}

// Who is not granted a repo is not told either that something happens to it,
// wherever it is mounted, and may watch what does not exist.
func TestWatchTellsNothingOfWhatIsNotGranted(t *testing.T) {
	d := server.New(&server.Config{Project: newMounted(t, "open", "secret")})
	all := newCaller(t, d, server.SessionConfig{Tools: server.All, Workspace: "/agents/a"})
	all.ok("workspace.create", `{"mounts":{"/repos/open/inner":{"repoPath":"/repos/secret","policy":"commit-to-main"}}}`)
	some := newCaller(t, d, server.SessionConfig{Workspace: "/agents/a", Grants: &workspace.Grants{
		Verbs: []workspace.Verb{workspace.VerbRead}, Repos: []workspace.RepoGrant{{Pattern: "/repos/open", Policy: workspace.CommitToMain}},
	}})
	var quiet []<-chan string
	for _, uri := range []string{
		"carrel:///.carrel/status", "carrel:///.carrel/diff", "carrel:///", "carrel:///repos", "carrel:///repos/open", "carrel:///repos/secret",
		"carrel:///repos/secret/f", "carrel:///repos/open/inner/f", "carrel:///repos/open/inner", "carrel:///repos/secret?at=base", "carrel:///repos/secret/f?at=base",
	} {
		quiet = append(quiet, some.watch(uri))
	}
	offers := make(chan string, 10)
	stop, err := some.WatchOffers(t.Context(), server.Asked{}, func() { offers <- "the list" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	quiet = append(quiet, offers)
	last := some.watch("carrel:///repos/open/f")
	for i := range 3 {
		for _, path := range []string{"/repos/secret/f", "/repos/secret/new", "/repos/open/inner/f", "/repos/open/inner/x/y"} {
			all.ok("writeFile", fmt.Sprintf(`{"path":%q,"content":"%d"}`, path, i))
		}
		all.ok("git.status", `{}`)
		all.ok("revert", `{"path":"/repos/secret/new"}`)
		all.ok("git.commit", `{"message":"secret","scope":"/repos/secret"}`)
		all.ok("workspace.configure", `{"mounts":{"/elsewhere":{"repoPath":"/repos/secret","policy":"read-only"}}}`)
		all.ok("workspace.configure", `{"mounts":{"/elsewhere":null}}`)
	}
	time.Sleep(1500 * time.Millisecond) // everything was looked at once more
	for _, told := range quiet {
		select {
		case uri := <-told:
			t.Errorf("told of %s", uri)
		default:
		}
	}
	all.ok("writeFile", `{"path":"/repos/open/f","content":"last"}`)
	mustTell(t, last, "what is granted")
}

func TestWatchIsBounded(t *testing.T) {
	c := newCaller(t, newDesk(t), server.SessionConfig{Workspace: "/agents/a"})
	c.ok("workspace.create", `{}`)
	stops := map[int]func(){}
	begin := func(i int) error {
		stop, err := c.Watch(t.Context(), server.Asked{URI: fmt.Sprintf("carrel:///workspace/%d", i)}, func() {})
		stops[i] = stop
		return err
	}
	for i := range server.MaxWatched {
		if err := begin(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := begin(-1); !errors.Is(err, workspace.Limit) || !strings.Contains(err.Error(), "256") {
		t.Errorf("one more: %v", err)
	}
	stops[7]()
	if err := begin(7); err != nil {
		t.Errorf("in place of another: %v", err)
	}
}

// Nothing runs for those who do not watch any more, and those who do again are told.
func TestWatchBeginsAgain(t *testing.T) {
	d := newDesk(t)
	writer := newCaller(t, d, server.SessionConfig{Workspace: "/agents/a"})
	writer.ok("workspace.create", `{}`)
	for i := range 20 {
		c := newCaller(t, d, server.SessionConfig{Workspace: "/agents/a"})
		told := c.watch("carrel:///workspace/f")
		writer.ok("writeFile", fmt.Sprintf(`{"path":"f","content":"%d"}`, i))
		mustTell(t, told, "a write")
		c.Close()
	}
}

func TestWhatCannotBeWatched(t *testing.T) {
	d := newDesk(t)
	newCaller(t, d, server.SessionConfig{}).ok("workspace.create", `{"path":"/agents/a"}`)
	for _, tt := range []struct {
		bound workspace.ID
		uri   string
		want  workspace.Kind
	}{
		{"", "carrel:///workspace/f", workspace.Unbound},
		{"", "carrel:///workspace/f?ws=/agents/none", workspace.NotExist},
		{"/agents/b", "carrel:///workspace/f?ws=/agents/a", workspace.NotExist},
		{"/agents/a", "carrel:///workspace/f?at=7", workspace.Invalid},
		{"/agents/a", "carrel:///.carrel/timeline", workspace.NotExist},
		{"/agents/a", "file:///workspace/f", workspace.Invalid},
	} {
		c := newCaller(t, d, server.SessionConfig{Workspace: tt.bound})
		_, err := c.Watch(context.Background(), server.Asked{URI: tt.uri}, func() { t.Error("told") })
		if !errors.Is(err, tt.want) {
			t.Errorf("%s on a session bound to %q: %v, want %s", tt.uri, tt.bound, err, tt.want)
		}
	}
}
