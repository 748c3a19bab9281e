package ignore

import (
	"path"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
)

// FuzzAsGit asks git check-ignore too, about rules at the top and in a directory.
func FuzzAsGit(f *testing.F) {
	f.Add("*.log\n!keep.log\n/out/\n", "!a.log\n", "a/a.log")
	f.Add("\ufeffa/**/b\r\n[!a-c]x \\ \n\\#b", "*\n!.keep", "a/x/.keep")
	f.Add("foo\\\n[[:alpha:]-z]\n[]-a]\n**/", "**/foo/*\n/b", "a/b/foo/c")
	for _, p := range pieces {
		f.Add(p, "/"+p+"/", "a/b/foo")
	}
	git := gittest.Init(f)
	f.Fuzz(func(t *testing.T, top, inner, asked string) {
		// "a" is there, so that git knows it to be a directory.
		if asked == "" || asked == "a" || strings.ContainsAny(asked[:1], "/:") || path.Clean(asked) != asked || len(asked) > 200 ||
			strings.HasPrefix(asked, "..") || strings.Contains(strings.ToLower(asked), ".git") || strings.Contains(asked, "\x00") {
			return
		}
		git := &gittest.Repo{T: t, Dir: git.Dir}
		git.Write(".gitignore", top)
		git.Write("a/.gitignore", inner)
		out, err := git.Try(asked+"\x00", "check-ignore", "--no-index", "-z", "--stdin")
		if err != nil && out != "" {
			t.Fatalf("git check-ignore %q: %v: %s", asked, err, out)
		}
		if got, want := ask(t, map[string]string{"": top, "a": inner}, asked), out != ""; got != want {
			t.Errorf("%q: got %v, want %v with rules %q and %q", asked, got, want, top, inner)
		}
	})
}
