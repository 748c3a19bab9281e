package fsck

import (
	"strings"
	"unicode/utf8"

	"carrel.dev/workspace"
)

// Special is a file that git itself reads.
type Special string

// The special files, by the name that git gives them, and the prefix of the
// short name that NTFS falls back to for each.
const (
	Modules    Special = "gitmodules"
	Attributes Special = "gitattributes"
	Ignore     Special = "gitignore"
	Mailmap    Special = "mailmap"
)

var specials = [...]struct {
	name Special
	ntfs string
}{{Modules, "gi7eba"}, {Attributes, "gi7d29"}, {Ignore, "gi250a"}, {Mailmap, "maba30"}}

// Entry checks a tree entry that is to be made, all but its content.
func Entry(name string, node workspace.Node) error {
	switch {
	case name == "":
		return complain("emptyName", "a name is empty")
	case name == "." || name == "..":
		return complain("hasDot", "git does not take the name %q", name)
	case strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, 0) >= 0:
		return complain("fullPathname", "the name %q has a slash or NUL", name)
	case isDotGit(name):
		return complain("hasDotgit", "git reserves the name %q", name).
			Hinted("Choose another name: some file systems take this one for .git.")
	case node.OID.IsZero():
		return complain("nullSha1", "%q has no content id", name)
	case node.Mode == 0 || node.Mode != node.Mode.Canonical():
		return complain("badFilemode", "%q has the mode %o, which git does not write", name, node.Mode)
	}
	return special(name, node.Mode.Kind())
}

// special checks that a special file is a file.
func special(name string, kind workspace.NodeKind) error {
	s, ok := SpecialOf(name)
	switch {
	case !ok || kind == workspace.File:
		return nil
	case kind == workspace.Symlink:
		return complain(string(s)+"Symlink", "%q is a symbolic link, which git does not follow for this file", name).
			Hinted("Write the content itself.")
	case s == Modules || s == Attributes:
		return complain(string(s)+"Blob", "%q is a %s, and git wants a file there", name, kind)
	}
	return nil
}

// SpecialOf reports which special file git would take a name for on any file
// system.
func SpecialOf(name string) (Special, bool) {
	folded := foldHFS(name)
	for _, s := range specials {
		if folded == "."+string(s.name) || isNTFS(name, string(s.name), s.ntfs) {
			return s.name, true
		}
	}
	// Where a backslash separates directories, .gitmodules may hide behind one.
	for rest, more := name, true; more; {
		if isNTFS(rest, string(Modules), specials[0].ntfs) {
			return Modules, true
		}
		_, rest, more = strings.Cut(rest, `\`)
	}
	return "", false
}

// isDotGit reports whether a file system may take a name for .git.
func isDotGit(name string) bool {
	if foldHFS(name) == ".git" {
		return true
	}
	for part := range strings.SplitSeq(name, `\`) {
		for _, git := range []string{".git", "git~1"} {
			if hasPrefixFold(part, git) && vanishes(part[len(git):]) {
				return true
			}
		}
	}
	return false
}

// foldHFS is a name as git compares it to one that HFS+ may fold: without the
// code points that HFS+ ignores, letters of ASCII in lower case, ended by what is
// not UTF-8.
func foldHFS(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r == utf8.RuneError && !strings.HasPrefix(name[i:], string(utf8.RuneError)) {
			break
		}
		ignored := r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
		switch {
		case ignored:
		case r >= 'A' && r <= 'Z':
			b.WriteRune(r | 0x20)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// vanishes reports whether NTFS drops the rest of a name: spaces and dots, up to
// the end or the name of a stream.
func vanishes(rest string) bool {
	rest, _, _ = strings.Cut(rest, ":")
	rest, _, _ = strings.Cut(rest, `\`)
	return strings.Trim(rest, ". ") == ""
}

// isNTFS reports whether NTFS may take a name for a dot file: by its name, its
// short name, or the hashed short name that is used when that one is taken.
func isNTFS(name, file, hashed string) bool {
	if hasPrefixFold(name, "."+file) && vanishes(name[1+len(file):]) {
		return true
	}
	const stem, short = 6, 8
	if len(name) < short || !vanishes(name[short:]) {
		return false
	}
	head, number, ok := strings.Cut(name[:short], "~")
	switch {
	case !ok || len(number) == 0 || number[0] < '1' || strings.Trim(number, "0123456789") != "":
		return false
	case len(head) == stem && strings.EqualFold(head, file[:stem]):
		return number <= "4"
	}
	return strings.EqualFold(head, hashed[:min(len(head), stem)]) && len(head) <= stem
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
