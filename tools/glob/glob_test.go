package glob

import (
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel.dev/workspace"
	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"
)

// matches returns those of the paths that the pattern matches.
func matches(t *testing.T, p *Pattern, err error, paths string) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range strings.Fields(paths) {
		if p.Match(name) {
			got = append(got, name)
		}
	}
	return strings.Join(got, " ")
}

func TestMatch(t *testing.T) {
	const tree = "/a /a/x /a/x.py /a/sub/y.py /a/.h.py /a-extra /a-extra/x /a0 /b/x.ts"
	for _, tc := range []struct{ pattern, paths, want string }{
		{"/a/**", tree, "/a /a/x /a/x.py /a/sub/y.py /a/.h.py"}, // SH-7
		{"/a/*", tree, "/a/x /a/x.py /a/.h.py"},
		{"/a/?", tree, "/a/x"},
		{"/a*/x", tree, "/a/x /a-extra/x"},
		{"/a/x", tree, "/a/x"},
		{"/[ab]/x*", tree, "/a/x /a/x.py /b/x.ts"},
		{"/[!a]/x*", tree, "/b/x.ts"},
		{"/[^a-c]/x*", tree, ""},
		{"/{a,b}/x.{py,ts}", tree, "/a/x.py /b/x.ts"},
		{"/{a/{sub,none},b}/*", tree, "/a/sub/y.py /b/x.ts"},
		{"/a/{**,none}/y.py", tree, "/a/sub/y.py"},
		{"/A/x", tree, ""},
		{"/**", "/a /a/b a", "/a /a/b"},
		{"**", "/a a a/b", "a a/b"},
		{"a/./b//c", "a/b/c", "a/b/c"},
		{"a/b/../c", "a/c a/b/c", "a/c"},
		{"/../a", "/a", "/a"},
		{"a**c", "abbc a/c", "abbc"},
		{"a***", "a ab", "a ab"},
		{`\*\{\[x`, "*{[x a{[x", "*{[x"},
		{`a\/b`, "a/b", "a/b"},
		{"[a-]x", "ax -x bx", "ax -x"},
		{`[\]\-]`, "] - x", "] -"},
		{"[^a]b", "a/b /b cb", "cb"},
		{"?", "é ab 日", "é 日"},
		{"a]b,c", "a]b,c", "a]b,c"},
		{`\!a*`, "!ab ab", "!ab"},
		{"{[,}],x}", ", } x", ", } x"},
		{"{a}", "a {a}", "a"},
		{"{,a}b", "b ab", "b ab"},
		{"*a*b", "ab xaxb xbxa", "ab xaxb"},
		{"**/b/**/c", "b/c a/b/x/y/c b/b/c c b/x", "b/c a/b/x/y/c b/b/c"},
	} {
		p, err := Compile("", tc.pattern)
		if got := matches(t, p, err, tc.paths); got != tc.want {
			t.Errorf("%q matches %q, want %q", tc.pattern, got, tc.want)
		}
	}
}

func TestReportedB6(t *testing.T) {
	const tree = "/r/a.py /r/sub/b.py /r/.h.py /r/c.ts /other/d.py"
	for pattern, want := range map[string]string{
		"**/*.py":      "/r/a.py /r/sub/b.py /r/.h.py",
		"*.py":         "/r/a.py /r/.h.py",
		"**/*.{py,ts}": "/r/a.py /r/sub/b.py /r/.h.py /r/c.ts",
	} {
		p, err := Compile("/r", pattern)
		if got := matches(t, p, err, tree); got != want {
			t.Errorf("%q matches %q, want %q", pattern, got, want)
		}
	}
}

func TestFilterB7(t *testing.T) {
	const tree = "/m1/src/a.py /m2/src/a.py"
	for _, tc := range []struct{ dir, pattern, want string }{
		{"/", "**/*.py", tree},
		{"/", "*.py", tree},
		{"/", "m1/**/*.py", "/m1/src/a.py"},
		{"/", "/m1/**/*.py", "/m1/src/a.py"},
		{"/", "src/*.py", ""},
		{"/", "{m2/src/a,a}.py", tree},
		{"/m1", "**/*.py", "/m1/src/a.py"},
		{"/m1", "*.py", "/m1/src/a.py"},
		{"/m1", "m1/**/*.py", ""},
		{"/m1", "/m1/**/*.py", "/m1/src/a.py"},
		{"/m1", "src/*.py", "/m1/src/a.py"},
		{"/m1", "../m2/**", "/m2/src/a.py"},
		{"/m1/src/a.py", "**", "/m1/src/a.py"},
	} {
		p, err := CompileFilter(tc.dir, tc.pattern)
		if got := matches(t, p, err, tree); got != tc.want {
			t.Errorf("%q below %s matches %q, want %q", tc.pattern, tc.dir, got, tc.want)
		}
	}
}

func TestDirectoryIsLiteral(t *testing.T) {
	p, err := Compile("/app/[id]/{x}", "*.tsx")
	if got, want := matches(t, p, err, "/app/[id]/{x}/page.tsx /app/i/x/page.tsx"), "/app/[id]/{x}/page.tsx"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMalformed(t *testing.T) {
	for pattern, want := range map[string]string{
		"[":                           `pattern "[", column 1: this [ is not closed`,
		"a/[b":                        `pattern "a/[b", column 3: this [ is not closed`,
		"[a-":                         `pattern "[a-", column 1: this [ is not closed`,
		"x[]y":                        `pattern "x[]y", column 2: this set is empty`,
		"[!]":                         `pattern "[!]", column 1: this set is empty`,
		"[z-a]":                       `pattern "[z-a]", column 2: this range is in reverse order`,
		"[a/]":                        `pattern "[a/]", column 3: a set cannot have a slash in it`,
		"{a,{b}":                      `pattern "{a,{b}", column 1: this { is not closed`,
		strings.Repeat("é", 50) + "[": `pattern "` + strings.Repeat("é", 40) + `…", column 101: this [ is not closed`,
		"a}":                          `pattern "a}", column 2: this } closes nothing`,
		`a\`:                          "pattern \"a\\\\\", column 2: nothing follows this \\",
		`[a\`:                         "pattern \"[a\\\\\", column 3: nothing follows this \\",
		"":                            `pattern "": it is empty, or an alternative in it is`,
		"{a,}":                        `pattern "{a,}": it is empty, or an alternative in it is`,
		"!*.go":                       `pattern "!*.go", column 1: ! does not exclude`,
		"src/":                        `pattern "src/", column 4: a directory is asked for, and only files are listed`,
		"/":                           `pattern "/", column 1: a directory is asked for, and only files are listed`,
		"*/../a":                      "pattern \"*/../a\", column 3: `..` follows a wildcard",
		"../a":                        "pattern \"../a\", column 1: `..` leads out of the directory",
		"{a,b}/{c,d}/[é-a]":           `pattern "{a,b}/{c,d}/[é-a]", column 14: this range is in reverse order`,
	} {
		for _, compile := range []func(dir, pattern string) (*Pattern, error){Compile, CompileFilter} {
			_, err := compile("", pattern)
			if !errors.Is(err, workspace.Invalid) || err.Error() != want {
				t.Errorf("%q: got error %v, want %s", pattern, err, want)
			}
		}
	}
}

func TestTooLarge(t *testing.T) {
	for name, pattern := range map[string]string{
		"length":       strings.Repeat("a", maxPattern+1),
		"product":      strings.Repeat("{a,b}", 400),
		"union":        "{" + strings.Repeat("a,", 1001) + "b}",
		"tokens":       strings.Repeat("{a,b}", 9) + strings.Repeat("*a", 1000),
		"nested":       strings.Repeat("{a,b{c,d}", 300) + strings.Repeat("}", 300),
		"empty braces": strings.Repeat("{,}", 1300),
	} {
		if _, err := Compile("", pattern); !errors.Is(err, workspace.Limit) {
			t.Errorf("%s: got error %v, want kind limit", name, err)
		}
	}
	if _, err := Compile("", strings.Repeat("{a,b}", 9)); err != nil {
		t.Errorf("512 alternatives: %v", err)
	}
	if _, err := Compile("", strings.Repeat("{", 2000)+"a"+strings.Repeat("}", 2000)); err != nil {
		t.Errorf("2000 nested braces: %v", err)
	}
}

func TestPrefix(t *testing.T) {
	for _, tc := range []struct{ dir, pattern, want string }{
		{"", "/a/b/*.go", "/a/b"},
		{"", "/a/b*/c", "/a"},
		{"", "/a/**", "/a"},
		{"", "/a/b", "/a/b"},
		{"", "/{a/b,a/c}/*", "/a"},
		{"", "/{a,b}/c", "/"},
		{"", "/**", "/"},
		{"", "**/x", ""},
		{"", "a/*", "a"},
		{"", "{/a,a}", ""},
		{"/w", "{/w/x,y}", "/w"},
		{"/w/[x]", "*", "/w/[x]"},
		{"/", `a\*/*`, "/a*"},
	} {
		p, err := Compile(tc.dir, tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Prefix(); got != tc.want {
			t.Errorf("prefix of %q below %q is %q, want %q", tc.pattern, tc.dir, got, tc.want)
		}
	}
}

func TestMayMatchBelow(t *testing.T) {
	for _, tc := range []struct {
		pattern, dir string
		want         bool
	}{
		{"/a/*/c", "/", true},
		{"/a/*/c", "", true},
		{"/a/*/c", "/a", true},
		{"/a/*/c", "/b", false},
		{"/a/*/c", "/a/x", true},
		{"/a/*/c", "/a/x/c", false},
		{"/a/b*/c", "/a/cb", false},
		{"/a/**/c", "/a/x/y/z", true},
		{"/a/**", "/a-extra", false},
		{"/a/**", "/a0", false},
		{"/a", "/a", false},
		{"/{a/b,c}/d", "/a", true},
		{"/{a/b,c}/d", "/a/b", true},
		{"/{a/b,c}/d", "/a/c", false},
		{"/{a/b,c}/d", "/c/d", false},
		{"a/b", "/a", false},
		{"a/b", "", true},
	} {
		p, err := Compile("", tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.MayMatchBelow(tc.dir); got != tc.want {
			t.Errorf("%q may match below %q: got %v, want %v", tc.pattern, tc.dir, got, tc.want)
		}
	}
}

// randomPattern makes a pattern that doublestar reads as this package does.
func randomPattern(r *rand.Rand, depth int) string {
	segments := make([]string, 1+r.IntN(4))
	for i := range segments {
		if r.IntN(4) == 0 {
			segments[i] = "**"
			continue
		}
		parts := []string{"a", "b", "ab", ".", "a", "*", "?", "[ab]", "[b-z]", `\*`, "é"}
		if depth > 0 {
			parts = append(parts,
				"{"+randomPattern(r, depth-1)+","+randomPattern(r, depth-1)+"}", "{a,b}", "{,b}")
		}
		segments[i] = "a"
		if r.IntN(2) == 0 {
			segments[i] = ""
		}
		for range 1 + r.IntN(3) {
			segments[i] += parts[r.IntN(len(parts))]
		}
	}
	return strings.Join(segments, "/")
}

func randomPath(r *rand.Rand) string {
	names := []string{"a", "b", "ab", "aa", "ba", "a.b", ".a", "*", "é", "abb", "x"}
	segments := make([]string, 1+r.IntN(5))
	for i := range segments {
		segments[i] = names[r.IntN(len(names))]
	}
	return strings.Join(segments, "/")
}

// ours reports whether doublestar understands a pattern in another way, or not
// at all.
func ours(pattern string) bool {
	return strings.Contains(pattern, "*{") || strings.Contains(pattern, "}*") || slices.ContainsFunc(expand(pattern), func(p string) bool {
		for _, quirk := range []string{"***", "*/**", "[!", "[^", "//", "./", "/.", ".."} {
			if strings.Contains(p, quirk) {
				return true
			}
		}
		return strings.HasPrefix(p, ".") || strings.HasSuffix(p, "/") || strings.HasPrefix(p, "/")
	})
}

// naive is a second reading of a pattern: all splits, by recursion.
func naive(segments, names []string) bool {
	switch {
	case len(segments) == 0:
		return len(names) == 0
	case segments[0] == "**":
		return naive(segments[1:], names) || len(names) > 0 && naive(segments, names[1:])
	}
	return len(names) > 0 && doublestar.MatchUnvalidated(segments[0], names[0]) && naive(segments[1:], names[1:])
}

func TestAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	matched := 0
	for range 4_000 {
		pattern := strings.ReplaceAll(randomPattern(r, 2), "[b", "[!b")
		p, err := Compile("", pattern)
		expanded := expand(pattern)
		if err != nil || slices.ContainsFunc(expanded, func(p string) bool {
			return strings.HasPrefix(p, "/") || strings.Contains(p, "***") || strings.Contains(p, "..")
		}) {
			continue
		}
		name := randomPath(r)
		want := slices.ContainsFunc(expanded, func(p string) bool {
			segments := slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" || s == "." })
			return naive(segments, strings.Split(name, "/"))
		})
		if got := p.Match(name); got != want {
			t.Fatalf("%q matches %q: got %v, want %v", pattern, name, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 60 {
		t.Errorf("only %d matches", matched)
	}
}

func TestAgainstDoublestar(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tried, matched := 0, 0
	for range 4_000 {
		pattern := randomPattern(r, 2)
		p, err := Compile("", pattern)
		if err != nil {
			continue // such as an alternative that is empty
		}
		for range 5 {
			name := randomPath(r)
			checkPruning(t, p, pattern, name)
			if ours(pattern) {
				continue
			}
			got, want := p.Match(name), doublestar.MatchUnvalidated(pattern, name)
			if got != want {
				t.Fatalf("%q matches %q: got %v, want %v", pattern, name, got, want)
			}
			if tried++; got {
				matched++
			}
		}
	}
	if tried < 2_000 || matched < 100 {
		t.Errorf("only %d comparisons with %d matches", tried, matched)
	}
}

// checkPruning checks that nothing that matches is pruned.
func checkPruning(t *testing.T, p *Pattern, pattern, name string) {
	t.Helper()
	if !p.Match(name) {
		return
	}
	if prefix := p.Prefix(); prefix != "" && name != prefix && !strings.HasPrefix(name, strings.TrimSuffix(prefix, "/")+"/") {
		t.Fatalf("%q matches %q, which is not below its prefix %q", pattern, name, prefix)
	}
	if names := p.Names(); names != nil && !names(path.Base(name)) {
		t.Fatalf("%q matches %q, but no path with that name", pattern, name)
	}
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if !p.MayMatchBelow(dir) {
			t.Fatalf("%q matches %q, but not below %q", pattern, name, dir)
		}
	}
	if !p.MayMatchBelow("") {
		t.Fatalf("%q matches %q, but not below the top", pattern, name)
	}
}

// expand is a second reading of braces, on the text and without sets.
func expand(pattern string) []string {
	open, depth, parts := -1, 0, []int(nil)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth++; open < 0 {
				open = i
				parts = append(parts, i)
			}
		case c == ',' && depth == 1:
			parts = append(parts, i)
		case c == '}':
			if depth--; depth == 0 {
				var all []string
				for j, from := range parts {
					to := i
					if j+1 < len(parts) {
						to = parts[j+1]
					}
					all = append(all, expand(pattern[:open]+pattern[from+1:to]+pattern[i+1:])...)
				}
				return all
			}
		}
	}
	return []string{pattern}
}

func TestBraceExpansion(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		pattern := strings.ReplaceAll(randomPattern(r, 3), "[", "x")
		expanded, err := parse(pattern)
		if errors.Is(err, workspace.Limit) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tokens := range expanded {
			text := ""
			for _, tok := range tokens {
				text += map[tokenKind]string{slash: "/", star: "*", one: "?", literal: strings.ReplaceAll(tok.text, "*", `\*`)}[tok.kind]
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(expand(pattern), got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", pattern, diff)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/a/**", "/a/b")
	f.Add("{a,b{c,[d-f]}}/*", "bd/x")
	f.Add(`\{a,[^]]`, "{a,b")
	f.Add("**/../{./x,..}", "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		p, err := Compile("", pattern)
		if err != nil {
			if k := workspace.KindOf(err); k != workspace.Invalid && k != workspace.Limit {
				t.Fatalf("%q: error of kind %s: %v", pattern, k, err)
			}
			return
		}
		if name == "" || name == "/" || path.Clean(name) != name || strings.HasPrefix(name, "..") {
			return
		}
		checkPruning(t, p, pattern, name)
		if name[0] != '/' && len(pattern) < 50 && utf8.ValidString(pattern) && !strings.Contains(pattern, "[") && !ours(pattern) && doublestar.ValidatePattern(pattern) {
			if got, want := p.Match(name), doublestar.MatchUnvalidated(pattern, name); got != want {
				t.Fatalf("%q matches %q: got %v, want %v", pattern, name, got, want)
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	paths := make([]string, 10_000)
	for i := range paths {
		paths[i] = "/repos/app/" + strings.Repeat("packages/", r.IntN(4)) + randomPath(r) + []string{".go", ".ts", ".js"}[r.IntN(3)]
	}
	for name, pattern := range map[string]string{
		"deep suffix": "/repos/app/**/*.go",
		"braces":      "/repos/app/**/*.{ts,js,jsx}",
		"middle":      "/repos/**/packages/**/a/*",
	} {
		p, err := Compile("", pattern)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				p.Match(paths[i%len(paths)])
			}
		})
		b.Run(name+" doublestar", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				doublestar.MatchUnvalidated(pattern, paths[i%len(paths)])
			}
		})
	}
}
