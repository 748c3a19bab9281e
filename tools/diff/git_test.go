package diff

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// entry is a file of a test's tree.
type entry struct {
	mode    workspace.Mode
	content string
}

// tree is the files of a test, by path.
type tree map[string]entry

func files(pathsAndContents ...string) tree {
	t := tree{}
	for i := 0; i < len(pathsAndContents); i += 2 {
		t[pathsAndContents[i]] = entry{workspace.ModeFile, pathsAndContents[i+1]}
	}
	return t
}

func (e entry) side(t *testing.T, path string) *Side {
	t.Helper()
	id, err := workspace.BlobID([]byte(e.content))
	if err != nil {
		t.Fatal(err)
	}
	return &Side{Path: path, Mode: e.mode, OID: id, Read: func(context.Context) ([]byte, error) {
		return []byte(e.content), nil
	}}
}

// changes returns what differs between two trees.
func changes(t *testing.T, old, new tree) []Change {
	t.Helper()
	var all []Change
	for path, e := range old {
		c := Change{Old: e.side(t, path)}
		if f, ok := new[path]; ok {
			c.New = f.side(t, path)
		}
		all = append(all, c)
	}
	for path, e := range new {
		if _, ok := old[path]; !ok {
			all = append(all, Change{New: e.side(t, path)})
		}
	}
	return all
}

func unified(t *testing.T, old, new tree, opts *Options) *Result {
	t.Helper()
	r, err := Unified(t.Context(), changes(t, old, new), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// oracle is a git repository in which a test asks git.
type oracle struct {
	t   *testing.T
	dir string
}

func newOracle(t *testing.T) *oracle {
	o := &oracle{t, t.TempDir()}
	o.git("", "init", "-q")
	return o
}

func (o *oracle) git(stdin string, args ...string) string {
	o.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = o.dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("git %s: %v\n%s\n%s", strings.Join(args, " "), err, stderr.Bytes(), stdin)
	}
	return string(out)
}

// write stores a tree and returns its id.
func (o *oracle) write(files tree) string {
	o.t.Helper()
	o.git("", "read-tree", "--empty")
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			if err := os.RemoveAll(filepath.Join(o.dir, e.Name())); err != nil {
				o.t.Fatal(err)
			}
		}
	}
	for path, e := range files {
		if err := o.writeFile(filepath.Join(o.dir, path), e); err != nil {
			o.t.Fatal(err)
		}
	}
	o.git("", "add", "-A")
	return strings.TrimSpace(o.git("", "write-tree"))
}

func (o *oracle) writeFile(name string, e entry) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if e.mode == workspace.ModeSymlink {
		return os.Symlink(e.content, name)
	}
	return os.WriteFile(name, []byte(e.content), os.FileMode(e.mode&0o777))
}

// apply returns the tree that git makes of another one by a patch.
func (o *oracle) apply(tree, patch string) string {
	o.t.Helper()
	o.git("", "read-tree", tree)
	if patch != "" {
		o.git(patch, "apply", "--cached", "--whitespace=nowarn")
	}
	return strings.TrimSpace(o.git("", "write-tree"))
}

// numstat formats a result as git diff --numstat does.
func numstat(r *Result) string {
	var w strings.Builder
	for _, f := range r.Files {
		name := quoted("", f.Path)
		if f.From != "" {
			name = quoted("", f.From) + " => " + name
		}
		if f.Binary {
			fmt.Fprintf(&w, "-\t-\t%s\n", name)
		} else {
			fmt.Fprintf(&w, "%d\t%d\t%s\n", f.Insertions, f.Deletions, name)
		}
	}
	return w.String()
}
