package grants

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/server"
	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// twins are a world that hides things and one in which they never were, each with a
// session of the same narrow grants.
type twins struct {
	*testing.T
	worlds   [2]*world
	session  [2]*server.Session
	cursor   [2]string // of the last list that goes on
	calls    int
	failures int
	used     map[string]bool // tools
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	tw := &twins{T: t, used: map[string]bool{}}
	for i, hides := range []bool{true, false} {
		tw.worlds[i] = newWorld(t, hides)
		tw.session[i] = tw.worlds[i].session(&narrow, "narrow")
	}
	return tw
}

// differ are what differs by design: how many records a workspace has, the cursors,
// which are random, and where the worlds lie on this machine.
var differ = []*regexp.Regexp{
	regexp.MustCompile(`"seq":\d+`),
	regexp.MustCompile(`"nextCursor":"[^"]+"`),
	regexp.MustCompile(`cursor [A-Za-z0-9_-]{20,}`),
}

// plain is a reply as it is compared.
func (tw *twins) plain(i int, r server.Reply) string {
	s := fmt.Sprintf("%s %q %s", r.Code, r.Text, r.Fields)
	if r.Data != nil {
		s += fmt.Sprintf(" %s %q", r.Data.URI, r.Data.Bytes)
	}
	for _, d := range differ {
		s = d.ReplaceAllString(s, "…")
	}
	return strings.ReplaceAll(s, tw.worlds[i].dir, "DIR")
}

var nextCursor = regexp.MustCompile(`"nextCursor":"([^"]+)"`)

// call makes a call in both worlds and compares the replies. CURSOR in the
// arguments stands for that of the last list, DIR for where the world lies.
func (tw *twins) call(tool, args string) (code workspace.Kind) {
	tw.Helper()
	tw.calls++
	tw.used[tool] = true
	var got [2]string
	for i, s := range tw.session {
		in := strings.NewReplacer("CURSOR", tw.cursor[i], "DIR", tw.worlds[i].dir).Replace(args)
		r := s.Call(tw.Context(), server.Request{Tool: tool, Arguments: json.RawMessage(in)})
		got[i], code = tw.plain(i, r), r.Code
		tw.cursor[i] = ""
		if m := nextCursor.FindSubmatch(r.Fields); m != nil {
			tw.cursor[i] = string(m[1])
		}
	}
	if code == workspace.Internal {
		tw.Errorf("%s %s: %s", tool, args, got[1])
	}
	if got[0] != got[1] {
		tw.Errorf("%s %s: (-hiding +twin):\n%s", tool, args, cmp.Diff(got[0], got[1]))
		if tw.failures++; tw.failures == 5 {
			tw.FailNow() // the worlds go apart, and what follows says nothing
		}
	}
	return code
}

// pool are the paths that calls are made with: of hidden things, of what lies
// around them, and spellings that invite a hint.
var pool = []string{
	"/", "/repos", "/repos/app", "/repos/app/a", "/repos/app/b", "/repos/app/d", "/repos/app/d/x", "/repos/app/vendor",
	"/repos/app/vendor/secret", "/repos/app/vendor/secret/x", "/repos/app/vendor/secret/own", "/repos/app/vendor/secret/s",
	"/repos/app/vendor/secret/added", "/repos/app/vendor/secret/d2", "/repos/app/vendor/secret/d2/e/f", "/repos/app/vendor/secret/fresh",
	"/repos/app/vendor/secret/s/below", "/repos/app/inner", "/repos/app/inner/l", "/repos/app/inner/deep", "/repos/app/inner/deep/k",
	"/repos/app/inner/deep/s", "/repos/lib2", "/repos/lib2/q", "/repos/lib2/s", "/repos/lib2/x", "/repos/born", "/repos/born/z",
	"/repos/born/s", "/repos/born/d", "/repos/born/d/x", "/repos/secret", "/repos/secret/s", "/repos/secret/nowhere", "/repos/secrets",
	"/repos/secret2", "/repos/secret3", "/repos/secret3/a", "/repos/secret3/s3", "/vendor", "/vendor/secret", "/vendor/secret/s",
	"/vendor/secret/x/y", "/side", "/side/a", "/side/nest", "/side/nest/s", "/side/nest/deep/k", "/repos/gone", "/repos/gone/g",
	"/repos/gone/added", "/repos/gone2", "/repos/gone2/g", "/repos/sgone", "/repos/sgone/s", "/repos/sgone/added", "/repos/sgone2/s",
	"/repos/team", "/repos/team/s", "/repos/team/tool", "/repos/team/tool/t", "/repos/team/tol", "/repos/outer", "/repos/outer/inner",
	"/repos/outer/inner/x", "/repos/outer/inner/s", "/repos/outer/inner/d", "/repos/outer/inner/d/x", "/repos/outer/inner/own",
	"/workspace", "/workspace/notes", "/workspace/fresh", "/agents/theirs", "repos/secret/s", "secret/s", "s", "hush", "a",
	"vendor/secret/s", "../vendor/secret/s", "a/../../repos/secret/s", "DIR/secret/secret.git/s", "DIR/granted/app.git/a",
}

// scopes are the mount points that calls name.
var scopes = []string{
	"/repos/app", "/repos/app/vendor/secret", "/repos/app/inner", "/repos/app/inner/deep", "/repos/lib", "/repos/lib2", "/repos/born",
	"/repos/secret", "/repos/secret2", "/repos/secret3", "/vendor/secret", "/vendor", "/side", "/side/nest", "/repos/gone",
	"/repos/gone2", "/repos/sgone", "/repos/sgone2", "/repos/team", "/repos/team/tool", "/repos/outer", "/repos/outer/inner",
}

// look makes the calls that change nothing.
func (tw *twins) look() {
	tw.Helper()
	for _, p := range pool {
		for _, at := range []string{"", `,"at":"base"`} {
			tw.call("readFile", `{"path":"`+p+`"`+at+`}`)
			tw.call("readFileBytes", `{"path":"`+p+`"`+at+`}`)
			tw.call("stat", `{"path":"`+p+`"`+at+`}`)
			tw.call("readDir", `{"path":"`+p+`","depth":4`+at+`}`)
			tw.call("glob", `{"pattern":"**","path":"`+p+`"`+at+`}`)
			tw.call("grep", `{"pattern":"hush|own|added|work","path":"`+p+`"`+at+`}`)
		}
		tw.call("exists", `{"path":"`+p+`"}`)
		tw.call("git.diff", `{"path":"`+p+`"}`)
		tw.call("git.log", `{"scope":"/repos/app","path":"`+p+`"}`)
		tw.call("glob", `{"pattern":"`+p+`*"}`)
		tw.call("edit", `{"path":"`+p+`","oldString":"o","newString":"0","dryRun":true}`)
	}
	for _, s := range scopes {
		tw.call("git.status", `{"scope":"`+s+`","all":true}`)
		tw.call("git.diff", `{"scope":"`+s+`"}`)
		tw.call("git.log", `{"scope":"`+s+`"}`)
	}
	names, err := json.Marshal(pool)
	if err != nil {
		tw.Fatal(err)
	}
	tw.call("readFiles", `{"paths":`+string(names)+`}`)
	for _, args := range []string{`{}`, `{"all":true}`} {
		tw.call("git.status", args)
	}
	tw.call("git.diff", `{}`)
	tw.call("git.log", `{}`)
	tw.call("workspace.show", `{}`)
	for _, prefix := range []string{"", "/agents", "/agents/t", mine, mine + "/"} {
		tw.call("workspace.list", `{"prefix":"`+prefix+`"}`)
	}
	tw.call("workspace.list", `{"cursor":"/agents/theirs"}`)
	for _, id := range []string{mine, "/agents/theirs", mine + "/theirs", "/agents/dead", "/agents/none", "/agents/new/none"} {
		tw.call("workspace.open", `{"path":"`+id+`"}`)
		tw.call("workspace.show", `{"workspace":"`+id+`"}`)
		tw.call("readFile", `{"workspace":"`+id+`","path":"/workspace/theirs"}`)
		tw.call("git.status", `{"workspace":"`+id+`"}`)
	}
	tw.call("workspace.open", `{"path":"`+mine+`","rebind":true}`)
	tw.pages()
}

// pages reads lists to their ends, a little at a time.
func (tw *twins) pages() {
	tw.Helper()
	for _, list := range []struct{ tool, args string }{
		{"glob", `"pattern":"/**","limit":3`}, {"listAllFiles", ``}, {"readDir", `"path":"/","depth":6,"limit":4`},
		{"grep", `"pattern":"work|hush|own|lib","limit":2`}, {"grep", `"pattern":".","mode":"files","limit":3`}, {"grep", `"pattern":".","mode":"count","limit":3`},
	} {
		tw.call(list.tool, `{`+list.args+`}`)
		for range 100 {
			if tw.cursor[0] == "" || tw.Failed() {
				break
			}
			sep := ","
			if list.args == "" {
				sep = ""
			}
			tw.call(list.tool, `{`+list.args+sep+`"cursor":"CURSOR"}`)
		}
	}
}

// taken are the paths where a write of a narrow caller would replace what it does
// not see, which is refused: see TestExceptions.
func (tw *twins) taken() map[string]bool {
	taken := map[string]bool{}
	for p := range tw.worlds[0].hidden() {
		taken[string(p)] = true
	}
	return taken
}

// covers reports whether one of some paths is p or lies below it.
func covers(paths map[string]bool, p string) bool {
	for q := range paths {
		if workspace.Path(p).Contains(workspace.Path(q)) {
			return true
		}
	}
	return false
}

// writes are the calls that change the workspace at a path.
var writes = []struct{ tool, args string }{
	{"deleteFile", `{"path":"/workspace/moved","recursive":true}`},
	{"deleteFile", `{"path":"/workspace/copy","recursive":true}`},
	{"writeFile", `{"path":"PATH","content":"narrow\n"}`},
	{"edit", `{"path":"PATH","oldString":"narrow","newString":"edited"}`},
	{"writeFileBytes", `{"path":"PATH","base64":"AAEC","ifVersion":""}`},
	{"git.status", `{"all":true}`},
	{"revert", `{"path":"PATH"}`},
	{"deleteFile", `{"path":"PATH"}`},
	{"revert", `{"path":"PATH"}`},
	{"symlink", `{"path":"PATH","target":"a"}`},
	{"deleteFile", `{"path":"PATH"}`},
	{"mkdir", `{"path":"PATH"}`},
	{"revert", `{"path":"PATH"}`},
	{"cp", `{"from":"/repos/app/.gitignore","to":"PATH"}`},
	{"cp", `{"from":"PATH","to":"/workspace/copy","overwrite":true}`},
	{"mv", `{"from":"PATH","to":"/workspace/moved","overwrite":true}`},
	{"mv", `{"from":"/workspace/moved","to":"PATH"}`},
	{"batch", `{"changes":[{"op":"writeFile","path":"PATH","content":"batch\n"},{"op":"deleteFile","path":"PATH"}]}`},
	{"git.diff", `{"path":"PATH"}`},
	{"deleteFile", `{"path":"PATH","recursive":true}`},
	{"git.status", `{"all":true}`},
	{"readDir", `{"path":"/","depth":7}`},
	{"revert", `{"path":"PATH"}`},
}

// TestMatrix makes the calls of the narrow caller in both worlds.
func TestMatrix(t *testing.T) {
	t.Parallel()
	tw := newTwins(t)
	before, mounted := tw.worlds[0].hidden(), tw.worlds[0].mounted()
	tw.look()
	taken := tw.taken()
	for _, p := range pool {
		if taken[p] {
			continue
		}
		for _, w := range writes {
			if w.tool == "revert" && strings.Count(p, "/") < 3 {
				continue // else nothing is left to look at
			}
			if strings.Contains(w.args, `"to":"PATH"`) && covers(taken, p) {
				continue
			}
			tw.call(w.tool, strings.ReplaceAll(w.args, "PATH", p))
		}
	}
	tw.look()
	tw.commit()
	tw.configure()
	tw.look()
	tw.lifecycle()
	tw.call("deleteFile", `{"path":"/repos/app/vendor","recursive":true}`)
	tw.call("revert", `{"path":"/"}`)
	tw.look()
	tw.call("writeFile", `{"path":"/repos/app/last","content":"x"}`)
	tw.call("reset", `{"confirm":true}`)
	tw.look()
	if diff := cmp.Diff(before, tw.worlds[0].hidden()); diff != "" {
		t.Errorf("what was hidden has changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(mounted, tw.worlds[0].mounted()); diff != "" {
		t.Errorf("what is mounted where hidden work is has changed (-before +after):\n%s", diff)
	}
	for _, tool := range tools.All() {
		if !tw.used[tool.Name] {
			t.Errorf("%s was never called", tool.Name)
		}
	}
	t.Logf("%d calls in each world, %d hidden entries", tw.calls, len(before))
}

// commit commits what can be committed, and what cannot.
func (tw *twins) commit() {
	tw.Helper()
	for _, p := range []string{"/repos/app/vendor/secret/x", "/repos/outer/inner/x", "/repos/born/x", "/repos/lib2/x", "/repos/team/tool/x", "/side/x", "/repos/app/inner/x"} {
		tw.call("writeFile", `{"path":"`+p+`","content":"for a commit\n"}`)
	}
	tw.call("git.commit", `{"message":"which"}`)
	for _, s := range scopes {
		tw.call("git.commit", `{"scope":"`+s+`","message":"m","paths":["`+s+`/nothing"]}`)
		tw.call("git.commit", `{"scope":"`+s+`","message":"m"}`)
		tw.call("git.log", `{"scope":"`+s+`"}`)
	}
}

// configure tries every kind of patch at points of hidden things and of others.
func (tw *twins) configure() {
	tw.Helper()
	unseen := map[string]bool{"/repos/sgone2": true}
	for _, p := range hiddenPoints() {
		unseen[p] = true // has hidden work: see TestExceptions
	}
	for _, s := range append(scopes, "/new", "/vendor/other", "/repos/secret/inside", "/repos/app/vendor/other") {
		for _, patch := range []string{
			`{"repoPath":"/repos/secret","policy":"branch"}`, `{"repoPath":"/repos/secret9","policy":"branch"}`, `{"repoPath":"/repos/secret"}`,
			`{"policy":"read-only"}`, `{"policy":"commit-to-main"}`, `{"branch":"nowhere"}`, `{"branch":"main"}`, `{"repoPath":null}`, `{"policy":null,"branch":null}`,
			`{"repoPath":"/repos/app"}`, `{"repoPath":"/repos/app","policy":"branch"}`, `{"repoPath":"/repos/lib","policy":"commit-to-main"}`, `null`,
		} {
			derived := s == "/repos/lib2" || s == "/repos/born" // granted, so that more of the patches can be done
			if unseen[s] && (strings.Contains(patch, "/repos/app") || strings.Contains(patch, "/repos/lib") || derived && !strings.Contains(patch, "secret")) {
				continue
			}
			tw.call("workspace.configure", `{"mounts":{"`+s+`":`+patch+`}}`)
		}
		tw.call("git.status", `{"all":true}`)
	}
}

// lifecycle makes and ends workspaces.
func (tw *twins) lifecycle() {
	tw.Helper()
	for _, id := range []string{"/agents/theirs", mine + "/theirs", "/agents/dead", "/agents/none", mine, "/agents/new/one", "/agents/new/one"} {
		tw.call("workspace.create", `{"path":"`+id+`"}`)
		tw.call("workspace.create", `{"path":"`+id+`","mounts":{"/m":{"repoPath":"/repos/secret","policy":"branch"}}}`)
		tw.call("workspace.create", `{"path":"`+id+`","mounts":{"/m":{"repoPath":"/repos/app","policy":"branch"}}}`)
	}
	for _, id := range []string{"/agents/new/two", "/agents/new/three"} {
		tw.call("workspace.create", `{"path":"`+id+`","mounts":{"/repos/secret":{"policy":"read-only"}}}`)
		tw.call("workspace.create", `{"path":"`+id+`","mounts":{"/repos/secret":{"repoPath":"/repos/app","policy":"branch"}}}`)
		tw.call("git.status", `{"workspace":"`+id+`","all":true}`)
		tw.call("readDir", `{"workspace":"`+id+`","path":"/","depth":4}`)
	}
	for _, id := range []string{"/agents/theirs", mine + "/theirs", "/agents/dead", "/agents/none", "/agents/new/none", "/agents/new/one", "/agents/new/one"} {
		tw.call("workspace.delete", `{"path":"`+id+`"}`)
		tw.call("workspace.delete", `{"path":"`+id+`","discard":true}`)
		tw.call("workspace.show", `{"workspace":"`+id+`"}`)
	}
	tw.call("workspace.open", `{"path":"`+mine+`","rebind":true}`)
}
