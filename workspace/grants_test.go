package workspace

import (
	"errors"
	"testing"
)

func TestGrantsCheck(t *testing.T) {
	for name, g := range map[string]Grants{
		"no verb":           {},
		"unknown verb":      {Verbs: []Verb{"fly"}},
		"relative pattern":  {Verbs: Verbs, Workspaces: []string{"agents/**"}},
		"other domain":      {Verbs: Verbs, Workspaces: []string{"/repos/app"}},
		"a domain itself":   {Verbs: Verbs, Workspaces: []string{"/agents/"}},
		"a prefix":          {Verbs: Verbs, Workspaces: []string{"/agentsmith/x"}},
		"malformed pattern": {Verbs: Verbs, Workspaces: []string{"/agents/[a"}},
		"unknown policy":    {Verbs: Verbs, Repos: []RepoGrant{{"/repos/app", "write"}}},
		"no policy":         {Verbs: Verbs, Repos: []RepoGrant{{"/repos/app", ""}}},
		"not a repo":        {Verbs: Verbs, Repos: []RepoGrant{{"/vendor/app", ReadOnly}}},
	} {
		if err := g.Check(); !errors.Is(err, Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fine := Grants{Verbs: []Verb{VerbRead}, Workspaces: []string{"/agents/*", "/workspaces/team/**"}, Repos: []RepoGrant{{"/repos/**", NoAccess}, {"/repos/a", CommitToMain}}}
	if err := fine.Check(); err != nil {
		t.Error(err)
	}
}

func TestGrants(t *testing.T) {
	g := &Grants{
		Verbs: []Verb{VerbRead, VerbCommit}, Workspaces: []string{"/agents/*", "/workspaces/team/**"},
		Repos: []RepoGrant{{"/repos/**", ReadOnly}, {"/repos/app", WorkBranch}, {"/repos/secret/**", NoAccess}, {"/repos/secret/hint", ReadOnly}},
	}
	for v, want := range map[Verb]bool{VerbRead: true, VerbWrite: false, VerbCommit: true, VerbAdmin: false} {
		if g.May(v) != want {
			t.Errorf("may %s is %v", v, !want)
		}
	}
	for id, want := range map[ID]bool{"/agents/a": true, "/agents/a/b": false, "/workspaces/team/x/y": true, "/workspaces/teams": false} {
		if g.Workspace(id) != want {
			t.Errorf("%s is granted: %v", id, !want)
		}
	}
	for p, want := range map[RepoPath]Policy{"/repos/app": WorkBranch, "/repos/lib": ReadOnly, "/repos/secret/x": NoAccess, "/repos/secret": NoAccess, "/repos/secret/hint": ReadOnly} {
		if got, ok := g.Repo(p); got != want || ok != (want != NoAccess) {
			t.Errorf("%s: %s, %v, want %s", p, got, ok, want)
		}
	}
	allow := &Grants{Verbs: []Verb{VerbRead}, Repos: []RepoGrant{{"/repos/app", ReadOnly}}}
	if _, ok := allow.Repo("/repos/other"); ok {
		t.Error("a repo that no pattern matches is granted")
	}
	var all *Grants
	if _, ok := all.Repo("/repos/x"); !ok || !all.May(VerbAdmin) || !all.Workspace("/agents/x") {
		t.Error("no grants do not allow everything")
	}
	if admin := (&Grants{Verbs: []Verb{VerbAdmin}}); !admin.May(VerbWrite) {
		t.Error("an admin may not write")
	}
}

func TestOnlyWorkspace(t *testing.T) {
	for pattern, want := range map[string]bool{"/agents/a": true, "/agents/*": false, "/agents/{a,b}": false, "/agents/[a]": false} {
		if id, ok := (&Grants{Workspaces: []string{pattern}}).OnlyWorkspace(); ok != want || ok && string(id) != pattern {
			t.Errorf("%s: %s, %v", pattern, id, ok)
		}
	}
	if _, ok := (&Grants{Workspaces: []string{"/agents/a", "/agents/b"}}).OnlyWorkspace(); ok {
		t.Error("two are one")
	}
}
