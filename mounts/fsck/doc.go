// Package fsck judges new content before it becomes part of a repository, by
// the checks of git fsck --strict: what this package passes, git has no word
// about, neither as an error nor as a warning. It is the package for what
// enters a repository; what is in one already is read as it is.
//
// The checks are those of git 2.39 and later: the names that a checkout may
// take for .git on some file system (CVE-2014-9390), special files as symbolic
// links, and the parts of .gitmodules and .gitattributes that have been used to
// attack git (CVE-2018-11235, CVE-2018-17456, CVE-2019-19604, CVE-2020-11008,
// CVE-2022-41903). Every refusal is of kind Invalid and names git's own word
// for it.
package fsck

import "carrel.dev/workspace"

// complain makes a refusal; id is what git fsck calls it.
func complain(id, format string, args ...any) *workspace.Error {
	return workspace.Errorf(workspace.Invalid, format+" (git fsck: "+id+")", args...)
}
