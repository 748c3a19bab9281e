package grants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/conformance"
	"carrel.dev/mounts"
	"carrel.dev/persistence/memory"
	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// mine is the workspace that is granted and has hidden things in it.
const mine = "/agents/mine"

// narrow are the grants of the caller who is not to know of the rest: all verbs, one
// tree of workspaces, and a few repos.
var narrow = workspace.Grants{
	Verbs:      []workspace.Verb{workspace.VerbRead, workspace.VerbWrite, workspace.VerbCommit, workspace.VerbCreate},
	Workspaces: []string{mine, "/agents/new/**"},
	Repos: []workspace.RepoGrant{
		{Pattern: "/repos/app", Policy: workspace.CommitToMain}, {Pattern: "/repos/lib", Policy: workspace.ReadOnly},
		{Pattern: "/repos/lib2", Policy: workspace.WorkBranch}, {Pattern: "/repos/born", Policy: workspace.CommitToMain},
		{Pattern: "/repos/gone*", Policy: workspace.CommitToMain}, {Pattern: "/repos/team/tool", Policy: workspace.CommitToMain},
		{Pattern: "/repos/outer", Policy: workspace.CommitToMain},
	},
}

// world is a project, with hidden things or without. All that could differ by
// chance is the same in every world: times, and with them the ids of commits.
type world struct {
	*testing.T
	hides   bool
	dir     string
	git     *conformance.Repos // what is granted
	secrets *conformance.Repos // what is not
	store   *memory.Store
	mounts  *mounts.Repos
	host    *workspace.Host
	project *workspace.Project
	desk    *server.Desk
	wide    *server.Session // of who may do everything
}

// now is the time in all worlds.
var now = time.Date(2036, 5, 4, 12, 0, 0, 0, time.UTC)

// newWorld makes a world; if it hides nothing, what a caller of the narrow grants
// must not know of was never there.
func newWorld(t *testing.T, hides bool) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		T: t, hides: hides, dir: dir, store: memory.New(nil),
		git: &conformance.Repos{Dir: filepath.Join(dir, "granted")}, secrets: &conformance.Repos{Dir: filepath.Join(dir, "secret")},
	}
	w.mounts = mounts.New(nil)
	t.Cleanup(func() {
		if err := errors.Join(w.mounts.Close(), w.git.Check(context.Background()), w.secrets.Check(context.Background())); err != nil {
			t.Error(err)
		}
	})
	var err error
	w.host, err = workspace.NewHost(t.Context(), &workspace.Config{
		Store: w.store, Blobs: w.store, Trees: w.mounts, Committer: w.mounts, Ignorer: w.mounts, DataID: "data",
		Now: func() time.Time { return now },
	})
	w.must(err)
	w.project, err = w.host.Project(t.Context(), "default")
	w.must(err)
	w.desk = server.New(&server.Config{Project: w.project})
	w.wide = w.session(nil, "")
	w.repos()
	w.work()
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// session opens a session of some grants.
func (w *world) session(g *workspace.Grants, principal string) *server.Session {
	return w.desk.Open(&server.SessionConfig{
		Actor: workspace.Signature{Name: "Ann", Email: "ann@example.com"}, Tools: server.All, Grants: g, Principal: principal,
	})
}

// add makes a repository of files, as path=content, and registers it.
func (w *world) add(g *conformance.Repos, name string, files ...string) {
	w.Helper()
	var edits []conformance.Edit
	for _, f := range files {
		path, content, _ := strings.Cut(f, "=")
		edits = append(edits, conformance.Edit{Path: path, Mode: "100644", Content: []byte(content + "\n")})
	}
	w.must(os.MkdirAll(g.Dir, 0o755))
	disk := strings.ReplaceAll(name, "/", "-")
	w.must(g.Create(w.Context(), disk, false, edits))
	found, err := mounts.Inspect(g.Path(disk), "")
	w.must(err)
	w.must(w.project.SetRepo(w.Context(), workspace.Caller{}, workspace.Repo{
		Path: workspace.RepoPath("/repos/" + name), Source: found.Source, Branch: found.Branch, Policy: workspace.Policy(found.Policy),
	}))
}

// repos registers what there is from the beginning.
func (w *world) repos() {
	w.Helper()
	w.add(w.git, "app", "a=one", "b=two", "d/x=three", "d/y=four", "vendor/secret/x=app's own", "vendor/secret/own=app's", "many/1=", "many/2=", "many/3=", ".gitignore=*.log")
	w.add(w.git, "lib", "l=lib", "sub/m=lib")
	w.add(w.git, "lib2", "q=lib2", "d/x=lib2")
	w.add(w.git, "gone", "g=gone", "h=gone")
	w.add(w.git, "gone2", "g=gone", "h=gone")
	w.add(w.git, "team/tool", "t=tool", "d/x=tool")
	w.add(w.git, "outer", "o=outer", "inner/x=outer's", "inner/d/x=outer's")
	if w.hides {
		for _, name := range []string{"secret", "secret2", "sgone", "sgone2", "team", "outer/inner"} {
			w.add(w.secrets, name, "s=hush "+name, "x=hush", "own=hush", "d/x=hush", "d/y=hush", "deep/k=hush")
		}
		w.add(w.secrets, "secret3", "a=hush", "s3=hush")
	}
}

// at is a mount point with what is mounted there.
type at struct{ point, repo, policy string }

// hiddenMounts are mounts of hidden repos by deviations: beside everything, in a
// granted mount, in a granted one that is mounted in another, in the place of a
// granted repo, and where one is born later.
var hiddenMounts = []at{
	{"/vendor/secret", "/repos/secret", "branch"}, {"/repos/app/vendor/secret", "/repos/secret", "branch"},
	{"/repos/app/inner/deep", "/repos/secret2", "branch"}, {"/repos/lib2", "/repos/secret2", "branch"},
	{"/repos/born", "/repos/secret2", "branch"}, {"/side/nest", "/repos/secret2", "read-only"},
}

// hiddenPoints are where hidden repos have uncommitted work.
func hiddenPoints() []string {
	points := []string{"/repos/secret", "/repos/sgone", "/repos/team", "/repos/outer/inner"}
	for _, m := range hiddenMounts {
		points = append(points, m.point)
	}
	return points
}

// work does what was done before the narrow caller comes.
func (w *world) work() {
	w.Helper()
	w.do("workspace.create", `{"path":"`+mine+`"}`)
	w.do("workspace.configure", `{"mounts":{
		"/side":{"repoPath":"/repos/app","policy":"branch"}, "/repos/app/inner":{"repoPath":"/repos/lib","policy":"branch"},
		"/repos/secret3":{"repoPath":"/repos/app","policy":"branch"}}}`)
	if w.hides {
		w.hide()
	}
	w.add(w.git, "born", "z=born", "d/x=born", "s=born")
	for _, p := range []string{"/repos/app", "/side", "/repos/gone", "/repos/team/tool", "/repos/app/inner", "/repos/secret3", "/repos/outer"} {
		w.do("writeFile", `{"path":"`+p+`/added","content":"granted work\n"}`)
		w.do("writeFile", `{"path":"`+p+`/a","content":"granted change\n"}`)
	}
	w.do("deleteFile", `{"path":"/repos/gone2/g"}`)
	w.do("deleteFile", `{"path":"/repos/app/d","recursive":true}`)
	w.do("writeFile", `{"path":"/workspace/notes","content":"a note on secret things\n"}`)
	w.do("writeFile", `{"path":"/repos/app/committed","content":"x\n"}`)
	w.do("git.commit", `{"scope":"/repos/app","paths":["/repos/app/committed"],"message":"a commit"}`)
	w.remove("gone", "gone2")
}

// hide does the work that the narrow caller must not know of.
func (w *world) hide() {
	w.Helper()
	patches := map[string]map[string]string{}
	for _, m := range hiddenMounts {
		patches[m.point] = map[string]string{"repoPath": m.repo, "policy": m.policy}
	}
	b, err := json.Marshal(map[string]any{"mounts": patches})
	w.must(err)
	w.do("workspace.configure", string(b))
	for _, p := range hiddenPoints() {
		w.do("writeFile", `{"path":"`+p+`/s","content":"hushed change\n"}`)
		w.do("writeFile", `{"path":"`+p+`/added","content":"hushed work\n"}`)
		w.do("writeFile", `{"path":"`+p+`/d2/e/f","content":"hushed work\n"}`)
		w.do("deleteFile", `{"path":"`+p+`/d","recursive":true}`)
		w.do("deleteFile", `{"path":"`+p+`/own"}`)
		w.do("symlink", `{"path":"`+p+`/ln","target":"s"}`)
		w.do("mkdir", `{"path":"`+p+`/empty"}`)
		w.do("readFile", `{"path":"`+p+`/x"}`)
	}
	w.do("deleteFile", `{"path":"/repos/sgone2/s"}`)
	w.do("writeFile", `{"path":"/repos/secret/committed","content":"x\n"}`)
	w.do("git.commit", `{"scope":"/repos/secret","paths":["/repos/secret/committed"],"message":"a hushed commit"}`)
	w.do("writeFile", `{"path":"/vendor/secret/committed2","content":"x\n"}`)
	w.do("git.commit", `{"scope":"/vendor/secret","paths":["/vendor/secret/committed2"],"message":"a hushed commit"}`)
	w.remove("sgone", "sgone2")
	for _, id := range []string{"/agents/theirs", mine + "/theirs", "/agents/dead"} {
		w.do("workspace.create", `{"path":"`+id+`"}`)
		w.do("writeFile", `{"workspace":"`+id+`","path":"/repos/app/a","content":"theirs\n"}`)
		w.do("writeFile", `{"workspace":"`+id+`","path":"/workspace/theirs","content":"theirs\n"}`)
	}
	w.do("workspace.delete", `{"path":"/agents/dead","discard":true}`)
}

func (w *world) remove(names ...string) {
	w.Helper()
	for _, name := range names {
		w.must(w.project.RemoveRepo(w.Context(), workspace.Caller{}, workspace.RepoPath("/repos/"+name)))
	}
}

// do makes a call that has to succeed, with all rights.
func (w *world) do(tool, args string) server.Reply {
	w.Helper()
	r := in(tool, args)
	if strings.Contains(args, `"workspace":`) {
		r.Arguments = json.RawMessage(args)
	}
	reply := w.wide.Call(w.Context(), r)
	if reply.IsError() {
		w.Fatalf("%s %s: %v", tool, args, reply.Text)
	}
	return reply
}

// run calls a tool below the session, as a caller of some grants.
func (w *world) run(tool, args string, g *workspace.Grants) error {
	for _, t := range tools.All() {
		if t.Name == tool {
			_, err := t.Run(w.Context(), tools.Call{
				Project: w.project, Workspace: mine, Caller: workspace.Caller{Session: "run", Principal: "run", Grants: g},
			}, json.RawMessage(args))
			return err
		}
	}
	return fmt.Errorf("there is no tool %s", tool)
}

// whole is the workspace as somebody sees it who may do everything.
func (w *world) whole() *workspace.Snapshot {
	w.Helper()
	ws, err := w.project.Workspace(w.Context(), mine, workspace.Caller{})
	w.must(err)
	s, err := ws.Snapshot(w.Context())
	w.must(err)
	return s
}

// hidden is what the upper has of repos that the narrow caller is not granted.
func (w *world) hidden() map[workspace.Path]workspace.Entry {
	w.Helper()
	found := map[workspace.Path]workspace.Entry{}
	for p, e := range w.whole().State.Upper.Within(workspace.Root) {
		if _, granted := narrow.Repo(e.Owner.Repo); !granted && e.Owner.Repo != "" {
			found[p] = e
		}
	}
	return found
}

// mounted is what stands at the points of hidden mounts for who may see everything:
// the repos, and what is read of them.
func (w *world) mounted() map[string]string {
	w.Helper()
	s, found := w.whole(), map[string]string{}
	for _, p := range hiddenPoints() {
		if m := s.Table.At(workspace.Path(p)); m != nil {
			found[p] = string(m.Repo)
		}
		for _, name := range []string{"s", "added", "d2/e/f"} {
			f, err := s.Lookup(w.Context(), workspace.Path(p+"/"+name))
			w.must(err)
			b, err := s.Content(w.Context(), f)
			w.must(err)
			found[p+"/"+name] = string(b)
		}
	}
	return found
}

// records counts all records of the project.
func (w *world) records() int {
	w.Helper()
	n := 0
	c, err := w.project.Catalog(w.Context())
	w.must(err)
	streams := []string{"/"}
	for l := range c.List("", "") {
		streams = append(streams, string(l.ID))
	}
	for p := range c.Repos {
		streams = append(streams, string(p))
	}
	for _, s := range streams {
		for _, err := range w.project.Records(w.Context(), s, 0) {
			w.must(err)
			n++
		}
	}
	return n
}
