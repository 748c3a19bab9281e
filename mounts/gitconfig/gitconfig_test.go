package gitconfig

import (
	"math/rand/v2"
	"strings"
	"testing"

	"carrel.dev/mounts/internal/gittest"
	"github.com/google/go-cmp/cmp"
)

// asGit is what git reads in a text.
func asGit(git *gittest.Repo, text string) ([]Entry, error) {
	git.Write("config", text)
	out, err := git.Try("", "config", "--file", "config", "--list", "-z")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for item := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "\n")
		entries = append(entries, Entry{Name: name, Value: value, Bare: !ok})
	}
	return entries, nil
}

func TestParseAsGit(t *testing.T) {
	git := gittest.Init(t)
	pieces := []string{
		"[core]", "[a.b]", "[a \"B c\"]", "[a \"x\\\"y\\\\\"]", "[", "]", "\"", "key", "Key2", "k-e", " = ", "=", "value", "a  b", "\t", " ", "\n", "\n", "\n", "\r\n",
		"\\", "\\n", "\\t", "\\\"", "\\\n", "#", ";", "true", "-x", "é", "_", "\"quoted # ; \"", "\r",
	}
	texts := []string{
		"", "\ufeff[a]\nb=c", "[a]\nb", "[a]b=c", "[a] ; x\n b = c ; d\n", "[a \"b\"]\nc = \"d\"e\\tf\n", "[a]\nb = c\\\n d\n", "[A.B]\nC=1", "[a]\nb = \"x", "b=1", "[a]\nb = c   \n", "[a]\n1=2", "[a]\n b=c\r\n d\r\n",
		"[a \"b\" ]\nc=1", "[a\n\"b\"]\nc=1", "[]\na=b", "[ \"\"]\na=b", "[a]\nb = \\x",
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var b strings.Builder
		b.WriteString([]string{"[a]\n", "[a \"b\"]\n", ""}[rng.IntN(3)])
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	malformed := 0
	for _, text := range texts {
		want, wantErr := asGit(git, text)
		got, err := Parse([]byte(text))
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%q: got %v, git says %v", text, err, wantErr)
		}
		if wantErr != nil {
			malformed++
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: (-git +got)\n%s", text, diff)
		}
	}
	if malformed == 0 || malformed == len(texts) {
		t.Errorf("%d of %d texts are malformed: that proves little", malformed, len(texts))
	}
}

func TestBool(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "YES": true, "on": true, "1": true, "2": true, "false": false, "no": false, "0": false, "": false} {
		if got := (Entry{Value: value}).Bool(); got != want {
			t.Errorf("%q: got %v", value, got)
		}
	}
	if !(Entry{Bare: true}).Bool() {
		t.Error("a name alone is not true")
	}
}
