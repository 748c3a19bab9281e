package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"carrel.dev/workspace"
)

// repoSpec is a repository as a command line names it: [NAME=]PATH[#BRANCH].
type repoSpec struct {
	Name   string // "" to derive one from the path
	Path   string // as given
	Branch string // "" for the one that is checked out
}

// parseRepoSpec reads [NAME=]PATH[#BRANCH]. What exists decides where a path
// with "=" or "#" in it ends: the longest one that does wins, first without a
// name. If nothing exists, the spelling counts alone.
func parseRepoSpec(s string, exists func(path string) bool) (repoSpec, error) {
	if isURL(s) {
		return repoSpec{}, notImported(s)
	}
	if spec, ok := existing(repoSpec{}, s, exists); ok {
		return spec, nil
	}
	name, rest, named := strings.Cut(s, "=")
	if !named || pathLike(name) {
		name, rest = "", s
	}
	if named && name == "" && rest != s {
		return repoSpec{}, workspace.Errorf(workspace.Invalid, "%q names no repo before the =", s).Hinted("Write NAME=PATH, or PATH alone.")
	}
	if isURL(rest) {
		return repoSpec{}, notImported(rest)
	}
	spec, ok := existing(repoSpec{Name: name}, rest, exists)
	if !ok {
		spec.Path, spec.Branch, _ = strings.Cut(rest, "#")
	}
	if spec.Path == "" {
		return repoSpec{}, workspace.Errorf(workspace.Invalid, "%q names no path", s).Hinted("Write [NAME=]PATH[#BRANCH].")
	}
	if !ok {
		return spec, missing(spec.Path)
	}
	return spec, nil
}

// pathLike reports whether what stands before a "=" is the beginning of a path
// rather than a name.
func pathLike(name string) bool {
	rooted := strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "/repos/")
	return rooted || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~") || strings.Contains(name, "#")
}

// existing cuts PATH[#BRANCH] where the longest path that exists ends.
func existing(spec repoSpec, s string, exists func(path string) bool) (repoSpec, bool) {
	for end := len(s); end > 0; end = strings.LastIndexByte(s[:end], '#') {
		if exists(s[:end]) {
			spec.Path, spec.Branch = s[:end], strings.TrimPrefix(s[end:], "#")
			return spec, true
		}
	}
	return spec, false
}

func missing(path string) error {
	e := workspace.Errorf(workspace.NotExist, "there is no such file or directory").At(path)
	if strings.HasPrefix(path, "~") {
		return e.Hinted("Write the whole path: only a shell knows ~, and only at the start of a word.")
	}
	return e.Hinted("Name a bare repository or a checkout, as [NAME=]PATH[#BRANCH].")
}

// remote matches what git takes for an address: a scheme, or host:path.
var remote = regexp.MustCompile(`^([a-z][a-z0-9+.-]*://|[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:)`)

func isURL(s string) bool { return remote.MatchString(s) }

func notImported(url string) error {
	trimmed := strings.TrimRight(url, "/")
	name := derivedName(strings.TrimSuffix(trimmed[strings.LastIndexAny(trimmed, "/:")+1:], ".git"))
	return workspace.Errorf(workspace.Invalid, "%s is a URL, and repositories cannot be imported yet", url).
		Hinted("Clone it with `git clone --bare %s %s.git`, then name the path %s.git.", url, name, name)
}

// abs is a path of the command line as an absolute one.
func (c *cli) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.dir, path)
}

func (c *cli) exists(path string) bool {
	_, err := os.Stat(c.abs(path))
	return err == nil
}

// repoPathOf reads a repo's name as a person writes it: app, team/app or
// /repos/app.
func repoPathOf(name string) (workspace.RepoPath, error) {
	if !strings.HasPrefix(name, "/") {
		name = "/repos/" + name
	}
	return workspace.ParseRepoPath(name)
}

// derivedName makes a valid segment of a repo's path from a directory's name.
func derivedName(base string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-+@", r) {
			return r
		}
		return '-'
	}, strings.ToValidUTF8(base, "-"))
	for len(name) > maxDerived {
		name = strings.ToValidUTF8(name[:maxDerived], "")
	}
	if _, err := repoPathOf(name); err != nil {
		return "repo"
	}
	return name
}

// maxDerived leaves room for a number after a derived name, in bytes.
const maxDerived = workspace.MaxSegment - 16
