package model

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"carrel.dev/workspace"
)

// node is what stands at a path; the zero node is nothing.
type node struct {
	mode workspace.Mode
	text string // a file's content, a link's target
}

var (
	nothing = node{}
	folder  = node{mode: workspace.ModeDir}
)

func (n node) present() bool { return n != nothing }
func (n node) isDir() bool   { return n.mode == workspace.ModeDir }
func (n node) isFile() bool  { return n.present() && !n.isDir() } // or a link

// id is the blob id of a file or link.
func (n node) id() workspace.OID {
	if !n.isFile() {
		return workspace.OID{}
	}
	return sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(n.text), n.text))
}

func (n node) String() string {
	switch n.mode {
	case 0:
		return "nothing"
	case workspace.ModeDir:
		return "dir"
	case workspace.ModeSymlink:
		return fmt.Sprintf("link %q", n.text)
	case workspace.ModeExecutable:
		return fmt.Sprintf("exec %q", n.text)
	}
	return fmt.Sprintf("%q", n.text)
}

// below reports whether p lies strictly below dir. Both are absolute, or both
// relative to the same place, where "" is the top.
func below(p, dir string) bool {
	switch dir {
	case "":
		return p != ""
	case "/":
		return p != "/"
	}
	return strings.HasPrefix(p, dir+"/")
}

func within(p, dir string) bool { return p == dir || below(p, dir) }

// above lists the directories that lead to an absolute path, the nearest first,
// down to the root.
func above(p string) []string {
	dirs := make([]string, 0, 8)
	for p != "/" {
		p = parent(p)
		dirs = append(dirs, p)
	}
	return dirs
}

// parent is path.Dir of a clean absolute path.
func parent(p string) string { return p[:max(1, strings.LastIndexByte(p, '/'))] }

// relAbove is above for a relative path, without the top.
func relAbove(rel string) []string {
	var dirs []string
	for {
		rel = path.Dir(rel)
		if rel == "." {
			return dirs
		}
		dirs = append(dirs, rel)
	}
}

func rel(p, dir string) string {
	if p == dir {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// files are the files and links of a tree by relative path.
type files map[string]node

// at is what stands at a relative path.
func (f files) at(rel string) node {
	if rel == "" {
		return folder
	}
	if n, ok := f[rel]; ok {
		return n
	}
	for p := range f {
		if below(p, rel) {
			return folder
		}
	}
	return nothing
}

// under is the tree of a directory.
func (f files) under(dir string) files {
	sub := files{}
	for p, n := range f {
		if below(p, dir) {
			sub[rel(p, dir)] = n
		}
	}
	return sub
}

// put sets a file, in the place of whatever stands at the path and above it.
func (f files) put(p string, n node) {
	f.clear(p)
	for _, d := range relAbove(p) {
		delete(f, d)
	}
	f[p] = n
}

// clear removes a file, or a directory with all below it.
func (f files) clear(p string) {
	maps.DeleteFunc(f, func(q string, _ node) bool { return within(q, p) })
}

// commit is one commit of a repo; nil stands for a branch without commits.
type commit struct {
	id      workspace.OID
	files   files
	parents []*commit
}

func (c *commit) tree() files {
	if c == nil {
		return nil
	}
	return c.files
}

// has reports whether c is old or builds on it.
func (c *commit) has(old *commit) bool {
	if c == old || old == nil {
		return true
	}
	seen := map[*commit]bool{}
	todo := []*commit{c}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == old {
			return true
		}
		if at == nil || seen[at] {
			continue
		}
		seen[at] = true
		todo = append(todo, at.parents...)
	}
	return false
}

// repo is a repository, with what the project knows of it.
type repo struct {
	path     string // /repos/NAME
	git      *repository
	branches map[string]*commit // an unborn one has nil
	branch   string             // the one that it is registered with
	policy   workspace.Policy
	removed  bool
}

// policies in the order of what they allow, the widest first.
var policies = []workspace.Policy{workspace.CommitToMain, workspace.WorkBranch, workspace.ReadOnly}

func narrower(a, b workspace.Policy) workspace.Policy {
	return policies[max(slices.Index(policies, a), slices.Index(policies, b))]
}
