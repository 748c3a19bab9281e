package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel.dev/workspace"
)

// TestIgnoredAsGitDecides writes the same files into a workspace and into a
// checkout, under the same rules, and compares what is ignored.
//
// Cases: IG-2
func TestIgnoredAsGitDecides(t *testing.T) {
	t.Parallel()
	rules := map[string]string{
		".gitignore": "# a comment\n\nnode_modules/\n*.log\nsecret.txt\n/exact-only.md\nfoo/**/bar\n!keep.log\ntrailing.txt   \nkept\\ space\\ \n" +
			"\\#hash\n\\!bang\n[ab].c\n?x\n**/deep\nabc/**\n!abc/in\ndir/sub\n*.tm[!p]\nwin.txt\r\nbuild/\n!build/keep\n",
		"sub/.gitignore":       "!*.log\nonly-here\n/top\nup/down\n",
		"sub/deep2/.gitignore": "*.log\n!important.log\n",
	}
	names := strings.Fields("node_modules a.log keep.log secret.txt exact-only.md trailing.txt #hash !bang a.c d.c zx zzx deep abc in sub only-here top down bar " +
		"important.log x.tmp x.tmq win.txt keep x")
	dirs := []string{"", "node_modules/", "sub/", "sub/deep2/", "foo/", "foo/1/", "foo/1/2/", "abc/", "abc/in/", "dir/sub/", "build/", "sub/up/", "x.log/", "kept space /"}
	r := newRig(t, nil)
	r.repo("app", rules)
	w := r.create("/agents/a", nil)
	checkout := filepath.Join(r.dir, "checkout")
	_, err := run(t.Context(), r.dir, nil, "git", "clone", "--quiet", r.git.Path("app"), checkout)
	must(t, err)
	taken := map[string]bool{}
	for _, d := range dirs {
		for i := 0; i < len(d); i++ {
			if d[i] == '/' {
				taken[d[:i]] = true
			}
		}
	}
	var paths []string
	for _, d := range dirs {
		for _, n := range names {
			if p := d + n; !taken[p] {
				paths = append(paths, p)
			}
		}
	}
	for _, p := range paths {
		write(t, w, workspace.Path("/repos/app/"+p), "x")
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(checkout, p)), 0o755))
		must(t, os.WriteFile(filepath.Join(checkout, p), []byte("x"), 0o644))
	}
	out, err := run(t.Context(), checkout, nil, "git", "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
	must(t, err)
	want := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(want)
	var got []string
	s := snapshot(t, w)
	changes, err := s.Changes(t.Context(), s.Table.At("/repos/app"))
	must(t, err)
	for _, c := range changes {
		if c.Ignored {
			got = append(got, c.Path.Rel("/repos/app"))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ignored (-git +carrel):\n%s", diff)
	}
	if len(want) < 50 || len(want) > len(paths)-50 {
		t.Errorf("git ignores %d of %d files: the rules decide too little", len(want), len(paths))
	}
}
