package grants

import (
	"slices"
	"strings"
	"testing"

	"carrel.dev/conformance"
)

// change is one that somebody makes of what is hidden, and what of it is told to
// who may see it.
type change struct {
	make func(s *served)
	told []string
}

// uriOf is the address of a path of a workspace.
func uriOf(id, path string) string { return "carrel://" + path + "?ws=" + id }

// call is a change by a tool.
func call(tool, args string) func(*served) {
	return func(s *served) { s.wide.do(tool, args) }
}

// commits is a change of a hidden repo by somebody beside Carrel.
func commits(content string) func(*served) {
	return func(s *served) {
		edits := []conformance.Edit{{Path: "d/y", Mode: "100644", Content: []byte(content)}}
		s.must(s.secrets.Commit(s.Context(), "default-secret", "main", "hush", edits))
	}
}

// changes are of every kind. Whoever watches is looked after at intervals: once the
// last two have been told, all that the others tell is on its way.
var changes = []change{
	{call("writeFile", `{"path":"/repos/secret/s","content":"hush 2\n"}`), []string{uriOf(mine, "/repos/secret/s"), uriOf(mine, "/.carrel/status"), uriOf(mine, "/.carrel/diff")}},
	{call("writeFile", `{"path":"/repos/app/vendor/secret/new","content":"hush\n"}`), []string{uriOf(mine, "/repos/app/vendor/secret")}},
	{call("writeFile", `{"path":"/repos/app/vendor/secret/x","content":"hush\n"}`), []string{uriOf(mine, "/repos/app/vendor/secret/x")}},
	{call("deleteFile", `{"path":"/repos/lib2/s"}`), []string{uriOf(mine, "/repos/lib2/s")}},
	{call("git.commit", `{"scope":"/vendor/secret","message":"hush"}`), []string{uriOf(mine, "/.carrel/status")}},
	{call("workspace.configure", `{"mounts":{"/more/secret":{"repoPath":"/repos/secret","policy":"branch"}}}`), []string{uriOf(mine, "/"), listChanged}},
	{func(s *served) { s.carrel("repo", "remove", "--project", "default", "secret3") }, []string{uriOf(mine, "/repos/secret3"), listChanged}},
	{call("writeFile", `{"workspace":"`+theirs+`","path":"/workspace/theirs","content":"hush 2\n"}`), []string{uriOf(theirs, "/workspace/theirs"), uriOf(theirs, "/.carrel/status")}},
	{call("workspace.delete", `{"path":"`+theirs+`","discard":true}`), []string{uriOf(theirs, "/repos/app/a")}},
	{commits("hush 2\n"), []string{uriOf(mine, "/repos/secret/d/y")}},
	{commits("hush 3\n"), []string{uriOf(mine, "/repos/secret/d/y")}},
}

// watched are all that the changes tell of, and what lies around it.
func watched() (uris []string) {
	for _, c := range changes {
		for _, told := range c.told {
			if told != listChanged && !slices.Contains(uris, told) {
				uris = append(uris, told)
			}
		}
	}
	for _, p := range []string{"/repos", "/repos/app", "/repos/app/vendor", "/repos/app/a", "/vendor", "/vendor/secret", "/side", "/side/nest", "/repos/outer", "/repos/lib2", "/workspace"} {
		uris = append(uris, uriOf(mine, p))
	}
	return uris
}

// TestNothingIsTold changes what is hidden, in every way. Who may see it is told,
// and nobody else is; of what is granted, everybody is told.
func TestNothingIsTold(t *testing.T) {
	t.Parallel()
	s := newServed(t, true)
	all := watched()
	s.wide.subscribe(all)
	granted := slices.DeleteFunc(slices.Clone(all), func(uri string) bool { return strings.Contains(uri, theirs) })
	subscribers := map[string]*client{}
	for name, flags := range tokens {
		token := s.token(flags...)
		for _, door := range []string{"opened", "endpoint", "modern"} {
			if name == "another project" && door == "endpoint" {
				continue // is bound to that one, which is not there
			}
			c := doors[door](s, token)
			c.subscribe(granted)
			a := c.ask("resources/subscribe", params{"uri": uriOf(theirs, "/repos/app/a")}) // "modern" has no such method
			if door != "modern" && !strings.Contains(a, theirs+": the workspace does not exist") {
				t.Errorf("%s/%s subscribes to what is not granted: %s", name, door, a)
			}
			subscribers[name+"/"+door] = c
		}
	}
	for _, c := range changes {
		s.wide.forget()
		c.make(s)
		s.wide.hears(c.told...)
	}
	for name, c := range subscribers {
		if news := c.news(); len(news) > 0 {
			t.Errorf("%s is told of %q", name, news)
		}
		c.forget()
	}
	write := `{"workspace":"` + mine + `","path":"/repos/app/a","content":"granted 2\n"}`
	s.wide.do("writeFile", write)
	s.other.do("writeFile", write)
	s.add(s.git, "default", "born", "granted")
	s.add(s.git, "other", "born", "another project's")
	for name, c := range subscribers {
		want := []string{uriOf(mine, "/repos/app/a"), uriOf(mine, "/.carrel/status"), uriOf(mine, "/repos")}
		if strings.HasSuffix(name, "/opened") {
			want = append(want, listChanged)
		}
		c.hears(want...)
		if news := c.news(); slices.ContainsFunc(news, func(what string) bool { return strings.Contains(what, "secret") || strings.Contains(what, theirs) }) {
			t.Errorf("%s is told of %q", name, news)
		}
	}
}
