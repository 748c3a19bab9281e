package ignore

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"
	"time"

	"carrel.dev/mounts/internal/gittest"
)

// ask is the answer of this package for a path, given .gitignore files by
// directory.
func ask(t testing.TB, files map[string]string, path string) bool {
	t.Helper()
	got, err := Path(path, func(dir string) ([]byte, error) {
		if text, ok := files[dir]; ok {
			return []byte(text), nil
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTable(t *testing.T) {
	tests := []struct {
		name    string
		rules   string
		ignored []string
		seen    []string
	}{
		{"directory", "node_modules/", []string{"node_modules/a", "x/node_modules/a/b"}, []string{"node_modules", "x/node_modules"}},
		{"suffix", "*.log", []string{"a.log", "d/.log", "d.log/x"}, []string{"a.logs", "log"}},
		{"anchored", "/exact-only.md", []string{"exact-only.md"}, []string{"d/exact-only.md"}},
		{"slash in the middle anchors", "foo/bar", []string{"foo/bar", "foo/bar/x"}, []string{"d/foo/bar"}},
		{"two stars between", "foo/**/bar", []string{"foo/bar", "foo/x/bar", "foo/x/y/bar"}, []string{"d/foo/bar", "foo/xbar"}},
		{"two stars in front", "**/foo", []string{"foo", "a/b/foo"}, []string{"afoo"}},
		{"two stars behind", "foo/**", []string{"foo/a", "foo/a/b"}, []string{"foo"}},
		{"negated", "*.log\n!keep.log", []string{"a.log"}, []string{"keep.log", "d/keep.log"}},
		{"the last rule wins", "!a\na", []string{"a"}, nil},
		{"nothing below an ignored directory comes back", "d/\n!d/keep", []string{"d/keep"}, nil},
		{"but below an ignored content it does", "d/*\n!d/keep", []string{"d/other"}, []string{"d/keep"}},
		{"comment", "#a\n\\#b", []string{"#b"}, []string{"#a", "a"}},
		{"escaped exclamation mark", "\\!a", []string{"!a"}, []string{"a"}},
		{"trailing spaces", "a   \nb\\ \nc\\  ", []string{"a", "b ", "c "}, []string{"b", "c", "a   "}},
		{"trailing backslash", "a\\", nil, []string{"a", "a\\"}},
		{"carriage returns", "a\r\nb\r\n", []string{"a", "b"}, []string{"a\r"}},
		{"byte order mark", "\ufeffa\n", []string{"a"}, []string{"\ufeffa"}},
		{"class", "[a-c]x\n[!a-c]y\n[[:digit:]]z", []string{"ax", "dy", "5z"}, []string{"dx", "ay", "az"}},
		{"class with bracket", "[]x]a\n[a-]b", []string{"]a", "xa", "-b", "ab"}, []string{"ya"}},
		{"bad classes match nothing", "[a\n[[:nope:]]b", nil, []string{"[a", "a", "b", "nb"}},
		{"one star stops at slashes", "a/*/c", []string{"a/b/c"}, []string{"a/c", "a/b/b/c"}},
		{"question mark", "a/?", []string{"a/b"}, []string{"a/bc", "a//"}},
		{"only spaces and slashes", "  \n/\n//\n!", nil, []string{"a", " "}},
		{"name of a directory without slash", "build", []string{"build", "build/a", "x/build/a"}, []string{"builds"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range tt.ignored {
				if !ask(t, map[string]string{"": tt.rules}, p) {
					t.Errorf("%q: %q is not ignored", tt.rules, p)
				}
			}
			for _, p := range tt.seen {
				if ask(t, map[string]string{"": tt.rules}, p) {
					t.Errorf("%q: %q is ignored", tt.rules, p)
				}
			}
		})
	}
}

func TestNested(t *testing.T) {
	files := map[string]string{
		"":    "*.log\nout/\n",
		"a":   "!a.log\n/b.txt\n",
		"a/b": "*\n!.keep\n",
	}
	for path, want := range map[string]bool{
		"a.log": true, "a/a.log": false, "a/b.txt": true, "b.txt": false, "a/c/b.txt": false,
		"a/b/x": true, "a/b/.keep": false, "a/b/a.log": true, "a/c/a.log": false, "out/a": true,
	} {
		if got := ask(t, files, path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// TestAsGit compares with git check-ignore on many generated rules and paths.
func TestAsGit(t *testing.T) {
	const rounds, paths = 60, 150
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		git := gittest.Init(t)
		files := map[string]string{"": rules(rng)}
		for _, dir := range []string{"a", "a/b", "foo"} {
			if rng.IntN(2) == 0 {
				files[dir] = rules(rng)
			}
		}
		for dir, text := range files {
			git.Write(path.Join(dir, ".gitignore"), text)
		}
		var asked []string
		for range paths {
			// Of a directory that is there, git knows that it is one.
			if p := somePath(rng); p != "a" && p != "a/b" && p != "foo" {
				asked = append(asked, p)
			}
		}
		out, _ := git.Try(strings.Join(asked, "\x00")+"\x00", "check-ignore", "--no-index", "-z", "--stdin")
		ignored := map[string]bool{}
		for _, p := range strings.Split(out, "\x00") {
			ignored[p] = true
		}
		for _, p := range asked {
			if got, want := ask(t, files, p), ignored[p]; got != want {
				t.Errorf("round %d: %q: got %v, want %v with rules %q", round, p, got, want, files)
			}
		}
		if t.Failed() {
			return
		}
	}
}

var (
	words  = []string{"a", "b", "foo", "bar", "a.log", "x y", "é", ".keep", "A", "a-b", "]", "!a", "#a", "1", "\\"}
	pieces = []string{
		"a", "b", "foo", "bar", "*", "**", "?", "/", "/", "[a-c]", "[!a]", "[^b]", "[[:alpha:]]", "[[:digit:]x]", "[]a]", "[a",
		"[[:no:]]", "[a-", "\\", "\\*", "\\ ", " ", "!", "#", ".log", "**/", "/**", "/**/", "*.", "-", "]", "é", "[\\]a]", "[b-\\c]", "[[:a]", "***", "x y", ".",
	}
)

func rules(rng *rand.Rand) string {
	var b strings.Builder
	if rng.IntN(8) == 0 {
		b.WriteString("\ufeff")
	}
	for range 1 + rng.IntN(5) {
		if rng.IntN(4) == 0 {
			b.WriteString("!")
		}
		for range 1 + rng.IntN(4) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		b.WriteString([]string{"\n", "\n", "/\n", " \n", "  \n", "\r\n", "\\ \n"}[rng.IntN(7)])
	}
	if rng.IntN(4) == 0 {
		b.WriteString("foo*")
	}
	return b.String()
}

func somePath(rng *rand.Rand) string {
	parts := make([]string, 1+rng.IntN(4))
	for i := range parts {
		parts[i] = words[rng.IntN(len(words))]
	}
	return strings.Join(parts, "/")
}

// TestTimeIsBounded matches a pattern that makes backtracking matchers take
// years.
func TestTimeIsBounded(t *testing.T) {
	rules := strings.Repeat("**/a*", 200) + "b"
	done := make(chan bool)
	go func() { done <- ask(t, map[string]string{"": rules}, strings.Repeat("a/", 60)+"a") }()
	select {
	case got := <-done:
		if got {
			t.Error("the path is ignored")
		}
	case <-time.After(time.Minute):
		t.Fatal("no answer within a minute")
	}
}

func TestRulesAreAskedTopDown(t *testing.T) {
	var asked []string
	got, err := Path("a/out/b/c", func(dir string) ([]byte, error) {
		asked = append(asked, dir)
		if dir == "a" {
			return []byte("out/"), nil
		}
		return nil, nil
	})
	if err != nil || !got {
		t.Errorf("got %v, %v", got, err)
	}
	if got, want := fmt.Sprint(asked), "[ a]"; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	wrong := fmt.Errorf("wrong")
	if _, err := Path("a", func(string) ([]byte, error) { return nil, wrong }); err != wrong {
		t.Errorf("error of rules: got %v", err)
	}
}

func FuzzGlob(f *testing.F) {
	for _, p := range pieces {
		f.Add(p, "a/b/foo")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		compileGlob(pattern).match(text) // neither panics nor hangs
		literal := strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(text)
		if !compileGlob(literal).match(text) {
			t.Errorf("%q does not match %q", literal, text)
		}
	})
}
