package gitconfig

import (
	"slices"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
)

// FuzzParse has git read the same text: the same entries, and a refusal where git
// refuses.
func FuzzParse(f *testing.F) {
	f.Add("[a \"b\"]\nc = \"d\" # e\n f\n")
	f.Add("[a.b]\r\nc = d\\\n e")
	f.Add("\ufeff[core]bare\n[A.B \"x\\\"y\"] Key-1 = \\t\\\\ ; \"x\n[")
	f.Add("[a]\nb = \"c\n")
	f.Add("[]\na = b\n")
	f.Add("[ \"\"]a")
	f.Add("[a]\nb = c   \"  d  \"  e  \n")
	git := gittest.Init(f)
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Parse([]byte(text))
		for _, e := range entries {
			if _, _, key := e.Split(); key == "" || e.Bare && e.Value != "" {
				t.Errorf("%q: %+v", text, e)
			}
		}
		if strings.Contains(text, "\x00") {
			return // git prints names as C strings
		}
		want, gitErr := asGit(&gittest.Repo{T: t, Dir: git.Dir}, text)
		if (err != nil) != (gitErr != nil) {
			t.Fatalf("%q: got %v, git says %v", text, err, gitErr)
		}
		if err != nil {
			return // what git prints before it stops depends on its buffers
		}
		for i := range entries {
			entries[i].Value = blanks.Replace(entries[i].Value)
		}
		for i := range want {
			want[i].Value = blanks.Replace(want[i].Value)
		}
		if !slices.Equal(entries, want) {
			t.Errorf("%q: got %+v, git says %+v", text, entries, want)
		}
	})
}

// blanks makes all white space the same: versions of git differ in what they
// make of that inside of a value.
var blanks = strings.NewReplacer("\t", " ", "\r", " ")
