package auth

import (
	"cmp"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// scopePrefix begins every scope of ours.
const scopePrefix = "carrel:"

// What a scope without its prefix begins with if it is no verb.
const (
	scopeProject   = "project:"
	scopeWorkspace = "workspace:"
	scopeRepo      = "repo:"
)

// Scope is the scope that allows a verb.
func Scope(v workspace.Verb) string { return scopePrefix + string(v) }

// Scopes are the scopes that allow verbs, with spaces between them, as OAuth has them.
func Scopes(verbs ...workspace.Verb) string {
	all := make([]string, 0, len(verbs))
	for _, v := range verbs {
		all = append(all, Scope(v))
	}
	return strings.Join(all, " ")
}

// ParseRepoGrant reads PATTERN=POLICY. A pattern that is not rooted is below /repos.
// What is wrong with it is Invalid.
func ParseRepoGrant(s string) (workspace.RepoGrant, error) {
	at := strings.LastIndexByte(s, '=') // a pattern may hold one
	if at < 0 {
		return workspace.RepoGrant{}, workspace.Errorf(workspace.Invalid, "%q says nothing of what may be done with the repo", cut(s, 80)).
			Hinted("Write PATTERN=POLICY, for example app=branch. A policy is commit-to-main, branch, read-only or none.")
	}
	g := workspace.RepoGrant{Pattern: s[:at], Policy: workspace.Policy(s[at+1:])}
	if !strings.HasPrefix(g.Pattern, "/") && g.Pattern != "" {
		g.Pattern = "/repos/" + g.Pattern
	}
	return g, (&workspace.Grants{Verbs: workspace.Verbs, Repos: []workspace.RepoGrant{g}}).Check()
}

// allowed is what scopes come to.
type allowed struct {
	project string
	grants  workspace.Grants
}

// fromScopes adds up scopes, those of others left out. One of ours that is malformed
// or unknown is an error, and so are two projects.
func fromScopes(scopes []string) (a allowed, err error) {
	for _, s := range scopes {
		ours, ok := strings.CutPrefix(s, scopePrefix)
		if !ok {
			continue
		}
		if err := a.add(ours); err != nil {
			return a, err
		}
	}
	g := &a.grants
	slices.Sort(g.Verbs)
	g.Verbs = slices.Compact(g.Verbs)
	slices.Sort(g.Workspaces)
	g.Workspaces = slices.Compact(g.Workspaces)
	// The last that matches a repo counts. Scopes have no order: the narrowest shall.
	slices.SortFunc(g.Repos, func(x, y workspace.RepoGrant) int {
		return cmp.Or(breadth(y.Policy)-breadth(x.Policy), strings.Compare(x.Pattern, y.Pattern))
	})
	g.Repos = slices.Compact(g.Repos)
	if len(g.Verbs) == 0 {
		return a, nil // there is nothing to check: whoever asks refuses that
	}
	return a, g.Check()
}

// breadth orders policies, the narrowest first.
func breadth(p workspace.Policy) int {
	return slices.Index([]workspace.Policy{workspace.NoAccess, workspace.ReadOnly, workspace.WorkBranch, workspace.CommitToMain}, p)
}

// add adds a scope without its prefix.
func (a *allowed) add(scope string) error {
	if name, ok := strings.CutPrefix(scope, scopeProject); ok {
		if a.project != "" && a.project != name {
			return workspace.Errorf(workspace.Invalid, "the scopes name two projects")
		}
		a.project = name
		return workspace.CheckProject(name)
	}
	if pattern, ok := strings.CutPrefix(scope, scopeWorkspace); ok {
		a.grants.Workspaces = append(a.grants.Workspaces, pattern)
		return nil
	}
	if spec, ok := strings.CutPrefix(scope, scopeRepo); ok {
		g, err := ParseRepoGrant(spec)
		a.grants.Repos = append(a.grants.Repos, g)
		return err
	}
	v, err := workspace.ParseVerb(scope)
	a.grants.Verbs = append(a.grants.Verbs, v)
	return err
}
