package refs

import (
	"strings"

	"carrel.dev/workspace"
)

// Branch returns the full name of a branch, or Invalid if git would not take it.
func Branch(name string) (string, error) {
	if strings.HasPrefix(name, "-") || name == "HEAD" || !wellFormed("refs/heads/"+name) {
		return "", workspace.Errorf(workspace.Invalid, "%q is not a branch name that git accepts", name).
			Hinted("See git help check-ref-format for the rules.")
	}
	return "refs/heads/" + name, nil
}

// Check reports whether a full ref name is one that git takes.
func Check(ref string) error {
	if !strings.HasPrefix(ref, "refs/") || !wellFormed(ref) {
		return workspace.Errorf(workspace.Invalid, "%q is not a ref name that git accepts", ref)
	}
	return nil
}

// wellFormed applies the rules of git check-ref-format to a full name.
func wellFormed(ref string) bool {
	if strings.HasSuffix(ref, ".") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") {
		return false
	}
	for _, c := range []byte(ref) {
		if c <= ' ' || c == 0x7f || strings.IndexByte("~^:?*[\\", c) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
