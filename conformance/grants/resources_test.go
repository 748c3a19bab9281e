package grants

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// theirs is a workspace that is not granted, where there is one.
const theirs = "/agents/theirs"

// ids are workspaces: granted, not granted, deleted, and never there.
var ids = []string{mine, theirs, mine + "/theirs", "/agents/dead", "/agents/none", "/agents/new/none"}

// foreign are the grants of who may do everything, in another project, which has a
// workspace and a repo of the same names.
var foreign = []string{"--project", "other", "--allow", "admin"}

// hidden takes the hidden repos from all others.
var hidden = []string{"--repo", "**=branch", "--repo", "secret*=none", "--repo", "team=none", "--repo", "outer/*=none"}

// tokens are the flags of tokens that are granted all but what is hidden.
var tokens = map[string][]string{
	"named": {
		"--project", "default", "--allow", "read,write,commit,create", "--workspace", mine, "--workspace", "/agents/new/**",
		"--repo", "app=commit-to-main", "--repo", "lib2=read-only", "--repo", "born=branch",
		"--repo", "team/tool=branch", "--repo", "outer=branch",
	},
	"read only":       append([]string{"--project", "default", "--allow", "read", "--workspace", mine}, hidden...),
	"a pattern":       append([]string{"--project", "default", "--allow", "read,write", "--workspace", "/agents/m*"}, hidden...),
	"another project": foreign,
}

// doors are the ways in which a client comes to a workspace.
var doors = map[string]func(s *served, token string) *client{
	"unbound": func(s *served, token string) *client { return s.begin("/mcp", token) },
	"opened": func(s *served, token string) *client {
		c := s.begin("/mcp", token)
		c.ask("tools/call", params{"name": "workspace.open", "arguments": params{"path": mine}}) // a token of one workspace is there already
		if list := c.ask("resources/list", params{}); !strings.Contains(list, "carrel:///repos/app?ws="+mine) {
			c.Errorf("the workspace is not open: %s", list)
		}
		return c
	},
	"endpoint": func(s *served, token string) *client { return s.begin(theirs+"/mcp", token) },
	"modern":   func(s *served, token string) *client { return &client{served: s, path: "/mcp", token: token} },
}

// request is one that is made in both worlds.
type request struct {
	method string
	params params
}

// places are paths as most clients ask for them, of the pool.
var places = []string{
	"/", "/repos", "/repos/app", "/repos/app/a", "/repos/app/vendor", "/repos/app/vendor/secret", "/repos/app/vendor/secret/s", "/repos/app/vendor/secret/own",
	"/repos/secret", "/repos/secret/s", "/repos/secret/nowhere", "/repos/secret9/s", "/repos/lib2/s", "/repos/team/s", "/repos/team/tool/a", "/repos/outer/inner", "/repos/outer/inner/s",
	"/vendor", "/vendor/secret/s", "/side", "/side/nest/s", "/workspace", "/workspace/theirs", "/.carrel", "/.carrel/status", "/.carrel/diff",
}

// prefixes are what somebody typed of a path.
var prefixes = []string{
	"", "re", "/", "/repos/", "/repos/s", "repos/app/", "/repos/app/v", "repos/app/vendor/secret/", "/repos/secret/", "/repos/lib2/",
	"/vendor/", "/v", "/side/", "/repos/team/", "/repos/outer/inner/", "/workspace/",
}

// requests are everything that MCP offers beside tools, and calls that get a hint,
// with paths of all that is hidden and of what lies around it.
func requests(paths []string) (all []request) {
	ask := func(method string, p params) { all = append(all, request{method, p}) }
	for _, list := range []string{"resources/list", "resources/templates/list", "prompts/list", "tools/list", "server/discover"} {
		ask(list, params{})
	}
	for _, p := range paths {
		for _, query := range []string{"", "?at=base", "?ws=" + mine, "?at=base&ws=" + mine} {
			ask("resources/read", params{"uri": "carrel://" + p + query})
		}
		ask("prompts/get", params{"name": "resolve-conflict", "arguments": params{"path": p, "workspace": mine}})
	}
	for _, id := range ids {
		for _, p := range []string{"/", "/workspace/theirs", "/repos/app/a", "/repos/secret/s", "/.carrel/status", "/.carrel/diff"} {
			for _, query := range []string{"?ws=", "?at=base&ws="} {
				ask("resources/read", params{"uri": "carrel://" + p + query + id})
			}
			ask("resources/subscribe", params{"uri": "carrel://" + p + "?ws=" + id})
			ask("resources/unsubscribe", params{"uri": "carrel://" + p + "?ws=" + id})
		}
		ask("tools/call", params{"name": "readFile", "arguments": params{"path": "/repos/app/a", "workspace": id}})
		ask("tools/call", params{"name": "workspace.open", "arguments": params{"path": id + "x"}})
	}
	for _, scope := range []string{"", "/repos/secret", "/repos/secret9", "/nowhere"} {
		ask("tools/call", params{"name": "git.log", "arguments": params{"scope": scope}})
		ask("tools/call", params{"name": "git.log", "arguments": params{"scope": scope, "workspace": mine}})
	}
	return slices.Concat(all, completions(), prompts())
}

// completions complete each argument of the template and of the prompts.
func completions() (all []request) {
	complete := func(ref params, name, value string, with params) {
		p := params{"ref": ref, "argument": params{"name": name, "value": value}}
		if with != nil {
			p["context"] = params{"arguments": with}
		}
		all = append(all, request{"completion/complete", p})
	}
	template := params{"type": "ref/resource", "uri": "carrel:///{+path}{?ws,at}"}
	prompt := func(name string) params { return params{"type": "ref/prompt", "name": name} }
	for _, value := range prefixes {
		complete(template, "path", value, nil)
		for _, id := range ids {
			complete(template, "path", value, params{"ws": id})
		}
		complete(prompt("review-changes"), "path", value, params{"workspace": mine})
		for _, id := range []string{mine, theirs} {
			complete(prompt("commit-message"), "scope", value, params{"workspace": id})
			complete(prompt("resolve-conflict"), "scope", value, params{"workspace": id})
			complete(prompt("resolve-conflict"), "path", value, params{"workspace": id})
		}
	}
	for _, value := range append([]string{"", "/a", "/agents/", "/agents/t", mine + "/", "x"}, ids...) {
		complete(template, "ws", value, nil)
		for _, name := range []string{"review-changes", "commit-message", "resolve-conflict"} {
			complete(prompt(name), "workspace", value, nil)
		}
	}
	return all
}

// prompts get each prompt, of every workspace and scope.
func prompts() (all []request) {
	get := func(name string, arguments params) {
		all = append(all, request{"prompts/get", params{"name": name, "arguments": arguments}})
	}
	for _, name := range []string{"review-changes", "commit-message", "resolve-conflict"} {
		get(name, params{})
		for _, id := range ids {
			get(name, params{"workspace": id})
		}
		for _, scope := range []string{"/repos/app", "/repos/app/vendor/secret", "/repos/lib2", "/repos/secret", "/repos/secret9", "/repos/team", "/repos/outer/inner", "/vendor/secret", "/side/nest", "/vendor"} {
			get(name, params{"workspace": mine, "scope": scope})
		}
	}
	get("review-changes", params{"workspace": mine, "path": "/repos/secret/s"})
	return all
}

// answers makes the requests, each by a copy of its parameters.
func (c *client) answers(all []request) (got []string) {
	c.Helper()
	for _, r := range all {
		p := params{}
		for name, v := range r.params {
			p[name] = v
		}
		got = append(got, c.ask(r.method, p))
	}
	if c.session == "" {
		for _, id := range ids {
			filter := params{"notifications": params{"resourceSubscriptions": []string{"carrel:///repos/app/a?ws=" + id}}}
			got = append(got, c.begins("subscriptions/listen", filter))
		}
	}
	return got
}

func (r request) String() string {
	b, _ := json.Marshal(r.params) // texts always encode
	return r.method + " " + string(b)
}

// TestBesideTools asks for resources, completions and prompts in both worlds, over
// HTTP, at every door. Who may do everything is answered differently in them.
func TestBesideTools(t *testing.T) {
	t.Parallel()
	worlds := [2]*served{newServed(t, true), newServed(t, false)}
	whole := append(slices.DeleteFunc(slices.Clone(pool), func(p string) bool { return p[0] != '/' || slices.Contains(places, p) }), places...)
	t.Run("tokens", func(t *testing.T) {
		for name, flags := range tokens {
			token, foe := [2]string{worlds[0].token(flags...), worlds[1].token(flags...)}, "another project's"
			if name == "another project" {
				foe = "granted"
			}
			for door, open := range doors {
				if !leads(name, door) {
					continue
				}
				paths := places
				if name == "named" && door == "opened" {
					paths = whole
				}
				t.Run(name+"/"+door, func(t *testing.T) {
					t.Parallel()
					compare(t, requests(paths), open(worlds[0].of(t), token[0]), open(worlds[1].of(t), token[1]), "hush", foe)
				})
			}
		}
	})
	tells(t, worlds)
}

// leads reports whether a token leads by a door to where none leads by another one.
// One of a single workspace is there from the beginning, and what a client without
// a session may do is the same for all tokens.
func leads(token, door string) bool {
	switch door {
	case "opened":
		return true
	case "unbound":
		return token != "read only"
	}
	return token == "named"
}

// compare demands the same answers in both worlds, some of them good ones, and none
// with a word that never is for the caller.
func compare(t *testing.T, all []request, hides, twin *client, never ...string) {
	if hides.greeting != twin.greeting {
		t.Errorf("the greeting: (-hiding +twin):\n%s", cmp.Diff(hides.greeting, twin.greeting))
	}
	got, want := hides.answers(all), twin.answers(all)
	failures, good := 0, map[string]bool{}
	for i := range got {
		asked := "subscriptions/listen"
		if i < len(all) {
			asked = all[i].String()
			good[all[i].method] = good[all[i].method] || strings.Contains(want[i], `"result":`)
		}
		if got[i] != want[i] {
			t.Errorf("%s: (-hiding +twin):\n%s", asked, cmp.Diff(got[i], want[i]))
			failures++
		}
		if slices.ContainsFunc(never, func(word string) bool { return strings.Contains(got[i], word) }) {
			t.Errorf("%s: %s", asked, got[i])
			failures++
		}
		if failures >= 5 {
			t.FailNow()
		}
	}
	if hides.path == "/mcp" {
		for _, method := range []string{"resources/list", "resources/read", "completion/complete", "prompts/get"} {
			if !good[method] {
				t.Errorf("%s never has a result", method)
			}
		}
	}
	t.Logf("%d requests in each world", len(got))
}

// tells demands that what is hidden can be seen by everything that was asked for.
func tells(t *testing.T, worlds [2]*served) {
	all, differ := requests(places), map[string]bool{}
	got, want := worlds[0].wide.answers(all), worlds[1].wide.answers(all)
	for i, r := range all {
		if got[i] != want[i] {
			differ[r.method] = true
			if name, ok := r.params["name"].(string); ok {
				differ[name] = true
			}
		}
	}
	for _, what := range []string{
		"resources/list", "resources/read", "resources/subscribe", "completion/complete", "tools/call", "review-changes", "commit-message", "resolve-conflict",
	} {
		if !differ[what] {
			t.Errorf("%s shows nothing of what is hidden to who may see it", what)
		}
	}
}
