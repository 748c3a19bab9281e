// Package checkout looks at the files on disk around a repository, and never
// changes any: which of them differ from what is committed there.
//
// The count is that of the lines of git status with all untracked files and
// without rename detection. It is made for a notice to a person, and where git
// would run a program of the host's to know better, such as a filter that a
// .gitattributes file names, a file whose bytes differ counts as changed. What
// is inside a submodule is not looked at, only whether another commit is checked
// out there.
package checkout
