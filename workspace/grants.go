package workspace

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Verb is a kind of thing to do that a caller may be granted.
type Verb string

// The verbs. Whoever may admin may do everything.
const (
	VerbRead   Verb = "read"   // look at workspaces, their files and the history of repos
	VerbWrite  Verb = "write"  // change what a workspace holds
	VerbCommit Verb = "commit" // hand in what a workspace holds
	VerbCreate Verb = "create" // make, configure and delete workspaces
	VerbAdmin  Verb = "admin"  // look after the project: repos, tokens, figures
)

// Verbs are all verbs, in the order in which they are told.
var Verbs = []Verb{VerbRead, VerbWrite, VerbCommit, VerbCreate, VerbAdmin}

// ParseVerb reads a verb's name.
func ParseVerb(s string) (Verb, error) {
	if slices.Contains(Verbs, Verb(s)) {
		return Verb(s), nil
	}
	return "", Errorf(Invalid, "%q is nothing that can be allowed", clip(s)).Hinted("Use read, write, commit, create or admin.")
}

// NoAccess is what a RepoGrant gives instead of a policy to a repo that the caller
// is not to know of.
const NoAccess Policy = "none"

// RepoGrant says what may be done with the repos whose paths match a pattern.
type RepoGrant struct {
	// Pattern is a path below /repos in which * stands for anything within a
	// segment and ** for any number of segments.
	Pattern string `json:"pattern"`
	// Policy narrows what a mount of such a repo has, or is NoAccess.
	Policy Policy `json:"policy"`
}

// Grants say what a caller may do in a project. A nil *Grants allows everything:
// it is that of whoever has the data directory itself. What is not granted is for
// the caller as if it did not exist.
type Grants struct {
	Verbs []Verb `json:"verbs"`
	// Workspaces are patterns of identities, as those of repos; none: all.
	Workspaces []string `json:"workspaces,omitempty"`
	// Repos: the last that matches a repo counts, and a repo that none matches is
	// not granted. None at all: every repo, with the policy that it has.
	Repos []RepoGrant `json:"repos,omitempty"`
}

// Check reports what is wrong with grants that somebody wrote: an unknown verb or
// policy, or a pattern that can match nothing, as Invalid.
func (g *Grants) Check() error {
	if len(g.Verbs) == 0 {
		return Errorf(Invalid, "nothing is allowed").Hinted("Allow at least read.")
	}
	for _, v := range g.Verbs {
		if _, err := ParseVerb(string(v)); err != nil {
			return err
		}
	}
	for _, p := range g.Workspaces {
		if err := checkPattern(p, "/agents", "/workspaces"); err != nil {
			return err
		}
	}
	for _, r := range g.Repos {
		if err := checkPattern(r.Pattern, "/repos"); err != nil {
			return err
		}
		if _, err := ParsePolicy(string(r.Policy)); err != nil && r.Policy != NoAccess {
			return Errorf(Invalid, "%q is nothing that a repo can be granted with", clip(string(r.Policy))).
				Hinted("Use commit-to-main, branch, read-only or none.")
		}
	}
	return nil
}

// checkPattern checks a pattern, which lies in one of some domains.
func checkPattern(p string, domains ...string) error {
	inside := slices.ContainsFunc(domains, func(d string) bool { return len(p) > len(d)+1 && strings.HasPrefix(p, d+"/") })
	if !inside || !doublestar.ValidatePattern(p) || len(p) > MaxIdentity {
		return Errorf(Invalid, "the pattern %q matches nothing", clip(p)).
			Hinted("Write it as a path below %s, for example %s/team/**.", strings.Join(domains, " or "), domains[0])
	}
	return nil
}

// May reports whether a verb is allowed. Whoever may do anything may read.
func (g *Grants) May(v Verb) bool {
	return g == nil || slices.Contains(g.Verbs, v) || slices.Contains(g.Verbs, VerbAdmin) || v == VerbRead && len(g.Verbs) > 0
}

// Workspace reports whether a workspace is granted.
func (g *Grants) Workspace(id ID) bool {
	if g == nil || len(g.Workspaces) == 0 {
		return true
	}
	return slices.ContainsFunc(g.Workspaces, func(p string) bool { return matches(p, string(id)) })
}

// OnlyWorkspace returns the workspace that the grants name, if it is one and no
// pattern.
func (g *Grants) OnlyWorkspace() (ID, bool) {
	if g == nil || len(g.Workspaces) != 1 {
		return "", false
	}
	id, err := ParseID(g.Workspaces[0])
	return id, err == nil && !strings.ContainsAny(string(id), `*?[{\`)
}

// Repo returns the policy that narrows a repo's own, and whether the repo is
// granted at all.
func (g *Grants) Repo(p RepoPath) (Policy, bool) {
	if g == nil || len(g.Repos) == 0 {
		return CommitToMain, true
	}
	for _, r := range slices.Backward(g.Repos) {
		if matches(r.Pattern, string(p)) {
			return r.Policy, r.Policy != NoAccess
		}
	}
	return NoAccess, false
}

// matches reports whether a path matches a pattern. One that is malformed matches
// nothing.
func matches(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return ok && err == nil
}
