package workspace

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on names, in bytes.
const (
	MaxPath     = 4096 // a file path
	MaxIdentity = 1024 // a workspace's identity or a repo's path
	MaxSegment  = 255  // one segment of a path
)

// Root is the top of a workspace's namespace and Scratch its private directory,
// which is never committed and where relative paths resolve.
const (
	Root    Path = "/"
	Scratch Path = "/workspace"
	// Private is the part of scratch that Carrel keeps for itself.
	Private Path = "/workspace/.carrel"
)

// reserved are the names at the top at and below which nothing is mounted.
var reserved = [...]Path{Scratch, "/org", "/project", "/agents", "/workspaces", "/.carrel"}

// Path is an absolute, clean path inside a workspace. It is valid by
// construction: ParsePath makes one.
type Path string

// ParsePath resolves a caller's spelling. An absolute one has "." and ".."
// popped and cannot leave the root; a relative one joins /workspace first.
// NUL is Invalid, more than MaxPath bytes Limit.
func ParsePath(spelling string) (Path, error) {
	if strings.IndexByte(spelling, 0) >= 0 {
		return "", Errorf(Invalid, "path %q contains NUL", clip(spelling))
	}
	full := spelling
	if !strings.HasPrefix(spelling, "/") {
		full = string(Scratch) + "/" + spelling
	}
	p := path.Clean(full)
	if len(p) > MaxPath {
		return "", Errorf(Limit, "path of %d bytes is longer than %d", len(p), MaxPath).At(clip(spelling))
	}
	return Path(p), nil
}

// clip shortens a caller's text for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// String is the path as text.
func (p Path) String() string { return string(p) }

// Dir is the directory that holds p; that of the root is the root.
func (p Path) Dir() Path {
	if i := strings.LastIndexByte(string(p), '/'); i > 0 {
		return p[:i]
	}
	return Root
}

// Base is the last segment of p.
func (p Path) Base() string { return path.Base(string(p)) }

// Join appends a clean relative path; "" is p itself.
func (p Path) Join(rel string) Path {
	switch {
	case rel == "":
		return p
	case p == Root:
		return Path("/" + rel)
	}
	return p + "/" + Path(rel)
}

// Contains reports whether q is p or below it, comparing whole segments.
func (p Path) Contains(q Path) bool { return p == q || q.Below(p) }

// Below reports whether p is strictly below dir.
func (p Path) Below(dir Path) bool {
	if dir == Root {
		return p != Root
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

// Rel is p relative to dir, which must contain it; "" for dir itself.
func (p Path) Rel(dir Path) string {
	if p == dir {
		return ""
	}
	return strings.TrimPrefix(string(p[len(dir):]), "/")
}

// Ancestors yields the directories strictly above p, the nearest first, down to
// but without the root.
func (p Path) Ancestors(yield func(Path) bool) {
	for d := p.Dir(); d != Root; d = d.Dir() {
		if !yield(d) {
			return
		}
	}
}

// checkSegments reports the first segment of p that git would refuse in a tree,
// or that no checkout could hold.
func (p Path) checkSegments() error {
	for seg := range strings.SplitSeq(strings.TrimPrefix(string(p), "/"), "/") {
		if len(seg) > MaxSegment {
			return Errorf(Limit, "the name %q has %d bytes, more than the %d that file systems take", clip(seg), len(seg), MaxSegment).At(clip(p.String())).
				Hinted("Choose a shorter name: a checkout with this one would fail.")
		}
		if isDotGit(seg) {
			return Errorf(Permission, "git reserves the name %q", seg).At(p.String()).
				Hinted("Choose another name: git refuses .git, in any spelling that a file system may fold to it, as part of a path.")
		}
	}
	return nil
}

// isDotGit reports whether a file system may take the name for .git: in any
// case, as its NTFS short name, with the code points that HFS+ ignores, with
// the trailing dots and spaces or the stream suffix that NTFS drops. These are
// the checks of git's verify_path and fsck (core.protectHFS, core.protectNTFS).
func isDotGit(name string) bool {
	folded := strings.Map(func(r rune) rune {
		if hfsIgnores(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	for _, n := range strings.Split(folded, `\`) {
		n, _, _ = strings.Cut(n, ":")
		switch strings.TrimRight(n, ". ") {
		case ".git", "git~1":
			return true
		}
	}
	return false
}

// hfsIgnores lists the code points that HFS+ leaves out when it compares names.
func hfsIgnores(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// ID is a workspace's identity, /workspaces/** or /agents/**.
type ID string

// RepoPath is a repo's path in its project, /repos/**.
type RepoPath string

// ParseID checks a workspace's identity. What is not one is Invalid.
func ParseID(s string) (ID, error) {
	const hint = "A workspace lives at /workspaces/NAME or /agents/NAME, for example /agents/demo."
	switch s {
	case "/", "/workspaces", "/workspaces/", "/agents/":
		return "", Errorf(Invalid, "there is no root workspace").At(s).Hinted(hint)
	}
	if !strings.HasPrefix(s, "/workspaces/") && !strings.HasPrefix(s, "/agents/") {
		return "", Errorf(Invalid, "workspace paths live under /workspaces/ or /agents/").At(clip(s)).Hinted(hint)
	}
	if why := unstable(s); why != "" {
		return "", Errorf(Invalid, "must be a stable object path: %s", why).At(clip(s)).Hinted(hint)
	}
	return ID(s), nil
}

// ParseRepoPath checks a repo's path. What is not one is Invalid.
func ParseRepoPath(s string) (RepoPath, error) {
	if !strings.HasPrefix(s, "/repos/") || s == "/repos/" {
		return "", Errorf(Invalid, "repo paths must be under /repos/").At(clip(s)).Hinted("A repo lives at /repos/NAME, for example /repos/app.")
	}
	if why := unstable(s); why != "" {
		return "", Errorf(Invalid, "must be a stable object path: %s", why).At(clip(s))
	}
	return RepoPath(s), nil
}

// unstable says what makes an absolute path unfit as a name that is stored
// forever, or "".
func unstable(s string) string {
	if len(s) > MaxIdentity {
		return "it is longer than 1,024 bytes"
	}
	if !utf8.ValidString(s) {
		return "it is not UTF-8"
	}
	for seg := range strings.SplitSeq(s[1:], "/") {
		switch {
		case seg == "":
			return "it has an empty segment"
		case seg == "." || seg == "..":
			return "it has a segment " + seg
		case isDotGit(seg):
			return "it has a segment .git"
		case len(seg) > MaxSegment:
			return "it has a segment longer than 255 bytes"
		case strings.ContainsFunc(seg, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || hfsIgnores(r) }):
			return "it has spaces or control characters"
		case strings.ContainsAny(seg, `?#%\`):
			return "it has one of ? # % \\, which addresses give a meaning to"
		}
	}
	return ""
}

// Name is the last segment of the identity.
func (id ID) Name() string { return path.Base(string(id)) }

// Name is the last segment of the path.
func (r RepoPath) Name() string { return path.Base(string(r)) }

// CheckProject checks a project's name: one segment of [a-z0-9._-].
func CheckProject(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
	if name == "" || name == "." || name == ".." || len(name) > MaxSegment || bad {
		return Errorf(Invalid, "project name %q must be one segment of a-z, 0-9, dot, underscore and hyphen", clip(name))
	}
	return nil
}
