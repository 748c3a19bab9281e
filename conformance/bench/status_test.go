package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

func statusRows() []row {
	return []row{{"status", "Which files have changed", func(s *stage) { prepareStatus(s, usual(), faster(100)) }}}
}

const (
	byStatus    = "Carrel: git.status"
	byGitStatus = "git status"
)

// edits are changes to a working copy: content by path, and "" for a file that
// goes.
type edits map[string]string

// someEdits are changes to a repository: of each seven files five are changed, one
// is new and one goes.
func someEdits(names []string, n int) edits {
	e := edits{}
	for i, name := range shuffled(names, 3)[:n] {
		switch i % 7 {
		case 0:
			e[name+".new"] = fmt.Sprintf("// new %d\n", i)
		case 1:
			e[name] = ""
		default:
			e[name] = fmt.Sprintf("// changed %d\n", i)
		}
	}
	return e
}

// paths are what is changed, sorted.
func (e edits) paths() []string {
	var all []string
	for name := range e {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// inWorkspace makes the changes in a workspace.
func (e edits) inWorkspace(ctx context.Context, w *workspace.Workspace) error {
	for _, name := range e.paths() {
		var err error
		if path := top + "/" + name; e[name] == "" {
			_, err = tools.DeleteFile(ctx, w, tools.DeleteFileIn{Path: path})
		} else {
			_, err = tools.WriteFile(ctx, w, tools.WriteFileIn{Path: path, Content: e[name]})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onDisk makes the changes in a directory.
func (e edits) onDisk(dir string) error {
	for name, content := range e {
		path := filepath.Join(dir, name)
		if content == "" {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// prepareStatus is for a repository of any size.
func prepareStatus(s *stage, of *spec, want target) {
	r := of.make(s)
	n := sized(70, 350)
	s.about = fmt.Sprintf("%d changed files in a working copy of %d. The index of the checkout is up to date, so that git looks at no content but that of changed files.", n, of.files)
	s.steps = sized(1, 4)
	changes := someEdits(r.paths(s), n)
	listed := map[string]bool{} // by Carrel: the others are only counted

	w := newCarrel(s, r.dir).workspace(s, "status")
	if err := changes.inWorkspace(s.Context(), w); err != nil {
		s.Fatal(err)
	}
	s.add(byStatus, func(t *turn) error { return carrelStatus(t, w) }).warm = func(ctx context.Context) error {
		t := newTurn(ctx, 0, 0)
		err := carrelStatus(t, w)
		for _, i := range t.found {
			listed[i.name] = true
		}
		return err
	}

	dir := worktreeOf(s, r)
	if err := changes.onDisk(dir); err != nil {
		s.Fatal(err)
	}
	status := func(t *turn) error { return gitStatus(t, dir, listed) }
	s.add(byGitStatus, status).warm = func(ctx context.Context) error {
		return status(newTurn(ctx, 0, 0)) // writes the index
	}
	s.hold(byStatus, byGitStatus, want)
}

// carrelStatus asks some times: one answer is quick.
func carrelStatus(t *turn, w *workspace.Workspace) error {
	var out tools.GitStatusOut
	for range sized(1, 25) {
		err := t.time("", func() (err error) {
			out, err = tools.GitStatus(t, w, tools.GitStatusIn{})
			return err
		})
		if err != nil {
			return err
		}
	}
	m := out.Mounts[0]
	for _, c := range m.Changes {
		t.saw(inShort(c), nil)
	}
	t.saw(fmt.Sprintf("%d changes", len(m.Changes)+m.More), nil)
	return nil
}

// gitStatus asks git. Of the changes those count that are listed.
func gitStatus(t *turn, dir string, listed map[string]bool) error {
	var out []byte
	err := t.time("", func() (err error) {
		out, err = git(t, dir, "status", "--porcelain")
		return err
	})
	if err != nil {
		return err
	}
	all := porcelain(string(out))
	for _, c := range all {
		if listed[c] {
			t.saw(c, nil)
		}
	}
	t.saw(fmt.Sprintf("%d changes", len(all)), nil)
	return nil
}

// inShort is a change of a file of the repository.
func inShort(c tools.PathChange) string {
	return c.Change + " " + strings.TrimPrefix(c.Path, top+"/")
}

// porcelain reads what git status prints, in the words of Carrel, by path.
func porcelain(out string) []string {
	words := map[string]string{" M": workspace.Modified, " D": workspace.Removed, "??": workspace.Added}
	var all []string
	for line := range strings.Lines(out) {
		all = append(all, words[line[:2]]+" "+strings.TrimSuffix(line[3:], "\n"))
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):])
	})
	return all
}
