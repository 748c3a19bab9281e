package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

func mustCompile(t testing.TB, o Options) *Matcher {
	t.Helper()
	m, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// file returns the matches in a content, checking that all ways to ask agree.
func (m *Matcher) file(t testing.TB, content string, l Limits) []Match {
	t.Helper()
	matches, more, err := m.File(t.Context(), []byte(content), l)
	if err != nil {
		t.Fatal(err)
	}
	n, err := m.Count(t.Context(), []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	found, err := m.Any(t.Context(), []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if l == (Limits{Context: l.Context}) && (n != len(matches) || more) || found != (n > 0) {
		t.Errorf("%q: %d matches, more %v, count %d, any %v", m.re, len(matches), more, n, found)
	}
	return matches
}

// naive is what File returns without context, by the regular expression on each
// line.
func naive(re *regexp.Regexp, content string) []Match {
	var matches []Match
	line := 0
	for text := range strings.Lines(content) {
		line++
		if t, ok := strings.CutSuffix(text, "\n"); ok {
			text = strings.TrimSuffix(t, "\r")
		}
		if at := re.FindStringIndex(text); at != nil {
			matches = append(matches, Match{Line: line, Column: at[0] + 1, Text: shown([]byte(text), at[0])})
		}
	}
	return matches
}

func (o Options) naive() *regexp.Regexp {
	expr := o.Pattern
	if o.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if o.IgnoreCase {
		expr = "(?i)" + expr
	}
	return regexp.MustCompile(expr)
}

func TestFile(t *testing.T) {
	const text = "package p\n\nfunc Foo() {}\r\n// foo(bar) K\nna\xefve caf\u00e9\nlast"
	for _, tc := range []struct {
		o    Options
		want string // line:column of each match
	}{
		{Options{Pattern: "foo"}, "4:4"},
		{Options{Pattern: "foo", IgnoreCase: true}, "3:6 4:4"},
		{Options{Pattern: "foo(", Literal: true}, "4:4"},
		{Options{Pattern: "FOO(", Literal: true, IgnoreCase: true}, "3:6 4:4"},
		{Options{Pattern: "^"}, "1:1 2:1 3:1 4:1 5:1 6:1"},
		{Options{Pattern: "^$"}, "2:1"},
		{Options{Pattern: `\}$`}, "3:13"},
		{Options{Pattern: `\r`}, ""},
		{Options{Pattern: `^last$`}, "6:1"},
		{Options{Pattern: `\Alast\z`}, "6:1"},
		{Options{Pattern: `p\s+f`}, ""},
		{Options{Pattern: `[^x]$`}, "1:9 3:13 4:13 5:10 6:4"},
		{Options{Pattern: `\bfoo\b`}, "4:4"},
		{Options{Pattern: `o\b`}, "3:8 4:6"},
		{Options{Pattern: `o\B`}, "3:7 4:5"},
		{Options{Pattern: "kage|ast", IgnoreCase: true}, "1:4 6:2"},
		{Options{Pattern: "k", IgnoreCase: true}, "1:4 4:13"},
		{Options{Pattern: "na.ve"}, "5:1"},
		{Options{Pattern: "ve caf", Literal: true}, "5:4"},
		{Options{Pattern: "CAFÉ", IgnoreCase: true}, "5:7"},
		{Options{Pattern: "\uFFFD"}, "5:3"},
		{Options{Pattern: "\u212a", IgnoreCase: true}, "1:4 4:13"},
		{Options{Pattern: "l"}, "6:1"},
		{Options{Pattern: "(?i)FOO\\("}, "3:6 4:4"},
		{Options{Pattern: "(?m)^func|(?s).$"}, "1:9 3:1 4:13 5:10 6:4"},
	} {
		m := mustCompile(t, tc.o)
		var got []string
		for _, match := range m.file(t, text, Limits{}) {
			got = append(got, fmt.Sprintf("%d:%d", match.Line, match.Column))
		}
		if got := strings.Join(got, " "); got != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.o, got, tc.want)
		}
	}
	if got := mustCompile(t, Options{Pattern: "x*"}).file(t, "", Limits{}); got != nil {
		t.Errorf("in nothing: got %v", got)
	}
}

func TestText(t *testing.T) {
	a, b := strings.Repeat("é", 400), strings.Repeat("日", 400)
	for _, tc := range []struct{ name, content, want string }{
		{"short", "x NEEDLE\r\n", "x NEEDLE"},
		{"not UTF-8", "\xff\xfeNEEDLE\xe9\n", "\uFFFDNEEDLE\uFFFD"},
		{"300 characters", a[:2*294] + "NEEDLE", a[:2*294] + "NEEDLE"},
		{"at the start", "NEEDLE" + a, "NEEDLE" + a[:2*292] + "…"},
		{"at the end", a + "NEEDLE", "…" + a[:2*292] + "NEEDLE"},
		{"near the end", a + "NEEDLE" + a[:20], "…" + a[:2*282] + "NEEDLE" + a[:20]},
		{"in the middle", a + "NEEDLE" + b, "…" + a[:2*100] + "NEEDLE" + b[:3*192] + "…"},
	} {
		got := mustCompile(t, Options{Pattern: "NEEDLE"}).file(t, tc.content, Limits{})
		if len(got) != 1 || got[0].Text != tc.want {
			t.Errorf("%s: got %+v, want %q", tc.name, got, tc.want)
		} else if n := utf8.RuneCountInString(got[0].Text); n > maxShown {
			t.Errorf("%s: %d characters", tc.name, n)
		}
	}
}

func TestContextAndPages(t *testing.T) {
	content := "1\n2\n3 x\n4\n5 x\n6 x\n7\r\n8\n9\n10\n11\n12 x\n13"
	want := []Match{
		{3, 1 + 2, "3 x", []ContextLine{{1, "1"}, {2, "2"}}, []ContextLine{{4, "4"}}},
		{5, 1 + 2, "5 x", nil, nil},
		{6, 1 + 2, "6 x", nil, []ContextLine{{7, "7"}, {8, "8"}}},
		{12, 1 + 3, "12 x", []ContextLine{{10, "10"}, {11, "11"}}, []ContextLine{{13, "13"}}},
	}
	m := mustCompile(t, Options{Pattern: "x"})
	if diff := cmp.Diff(want, m.file(t, content, Limits{Context: 2})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const formatted = "f-1- 1\nf-2- 2\nf:3: 3 x\nf-4- 4\nf:5: 5 x\nf:6: 6 x\nf-7- 7\nf-8- 8\n--\nf-10- 10\nf-11- 11\nf:12: 12 x\nf-13- 13\n"
	if diff := cmp.Diff(formatted, Format("f", want)); diff != "" {
		t.Errorf("formatted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("f:3: 3 x\nf:5: 5 x\nf:6: 6 x\nf:12: 12 x\n", Format("f", m.file(t, content, Limits{}))); diff != "" {
		t.Errorf("formatted without context (-want +got):\n%s", diff)
	}
	for page := 1; page <= 5; page++ {
		var got []Match
		for after, more := 0, true; more; after = got[len(got)-1].Line {
			var matches []Match
			var err error
			matches, more, err = m.File(t.Context(), []byte(content), Limits{Matches: page, After: after})
			if err != nil || len(matches) > page || more && len(matches) != page {
				t.Fatalf("page of %d after line %d: %d matches, more %v, error %v", page, after, len(matches), more, err)
			}
			got = append(got, matches...)
		}
		if diff := cmp.Diff(m.file(t, content, Limits{}), got); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", page, diff)
		}
	}
	got, more, err := m.File(t.Context(), []byte(content), Limits{Matches: 1, After: 3, Context: 9})
	wantPage := []Match{{5, 3, "5 x", []ContextLine{{4, "4"}}, nil}}
	if diff := cmp.Diff(wantPage, got); diff != "" || !more || err != nil {
		t.Errorf("second page: more %v, error %v (-want +got):\n%s", more, err, diff)
	}
	if got := m.file(t, content, Limits{After: 99}); got != nil {
		t.Errorf("after the end: got %v", got)
	}
}

func TestInvalid(t *testing.T) {
	const literally, escape = "set `literal` to true", `Write \`
	for pattern, want := range map[string]struct{ message, hint string }{
		"foo(":         {`pattern "foo(", column 4: this ( is not closed`, literally},
		`[(]\((a`:      {"column 6: this ( is not closed", literally},
		"(a)foo)x)":    {"column 7: this ) closes nothing", literally},
		"arr[0":        {"column 4: this [ is not closed", literally},
		"x(?=y)":       {"column 2: RE2 has no lookahead", "Search for a simpler pattern"},
		"(?!y)":        {"column 1: RE2 has no lookahead", "Search for a simpler pattern"},
		"(?<=y)x":      {"column 1: RE2 has no lookbehind", "Search for a simpler pattern"},
		"a(?<!y)x":     {"column 2: RE2 has no lookbehind", "Search for a simpler pattern"},
		"(?>x)":        {"column 1: RE2 has no atomic groups", "Search for a simpler pattern"},
		"foo(?":        {"column 4: RE2 has no group (?", escape},
		`(a)\1`:        {`column 4: RE2 has no \1, a backreference`, "Search for a simpler pattern"},
		`C:\Users`:     {`column 3: RE2 has no \U`, escape},
		"*.go":         {"column 1: there is nothing to repeat before *", "Write .* for any text"},
		"a*|*b":        {"column 4: there is nothing to repeat before *", "Write .* for any text"},
		"C++":          {"column 2: a repetition is repeated: ++", literally[1:]},
		"x{2000}":      {"column 2: invalid repetition {2000}", "1000"},
		"x[z-a]":       {"column 3: invalid character class range", literally[1:]},
		`a\`:           {`column 2: nothing follows this \`, escape},
		"a\xff":        {"column 2: it is not UTF-8", ""},
		"a\nb":         {`pattern "a\nb" has a line break`, "one of the lines"},
		`(foo|a)+\n(b`: {"column 11: this ( is not closed", literally},
		`(foo|a)+\n`:   {"has a line break", "one of the lines"},
		`a\n|\nb`:      {"has a line break", "one of the lines"},
		"":             {"pattern is empty", ""},

		strings.Repeat("\xa4", 90):       {"column 1: it is not UTF-8", ""},
		strings.Repeat("é", 60) + "(":    {"é…\", column 121: this ( is not closed", literally},
		"(?i" + strings.Repeat("x", 100): {"column 1: RE2 has no group (?i", escape},
	} {
		_, err := Compile(Options{Pattern: pattern})
		if !errors.Is(err, workspace.Invalid) || !strings.Contains(err.Error(), want.message) || !strings.Contains(workspace.HintOf(err), want.hint) {
			t.Errorf("%q: got %v\n  hint %s\n  want %s\n  hint %s", pattern, err, workspace.HintOf(err), want.message, want.hint)
		}
	}
	for pattern, literal := range map[string]bool{"a\nb": true, "\xff": true} {
		if _, err := Compile(Options{Pattern: pattern, Literal: literal}); !errors.Is(err, workspace.Invalid) {
			t.Errorf("literal %q: got %v, want kind invalid", pattern, err)
		}
	}
	if _, err := Compile(Options{Pattern: `a\n?b`}); err != nil {
		t.Errorf("a line break that may lack: %v", err)
	}
	for _, pattern := range []string{strings.Repeat("a", maxPattern+1), strings.Repeat("[a-z]{900}", 10)} {
		if _, err := Compile(Options{Pattern: pattern}); !errors.Is(err, workspace.Limit) {
			t.Errorf("%.20s…: got %v, want kind limit", pattern, err)
		}
	}
}

func TestIsText(t *testing.T) {
	for content, want := range map[string]bool{
		"": true, "text": true, "caf\xe9": true, "a\x00": false, "\xff\xfea\x00": false,
		strings.Repeat("x", 8<<10) + "\x00":   true,
		strings.Repeat("x", 8<<10-1) + "\x00": false,
	} {
		if got := IsText([]byte(content)); got != want {
			t.Errorf("%.10q of %d bytes: got %v, want %v", content, len(content), got, want)
		}
	}
}

func TestNeeded(t *testing.T) {
	for pattern, want := range map[string]string{
		"foo":                     "foo",
		"foo.*barbaz":             "barbaz",
		"TODO|FIXME":              "TODO FIXME",
		`\bfoo\b`:                 "foo",
		"(get|set)Name":           "Name",
		"(foo)(bar)":              "foobar",
		"(ab){3}":                 "ababab",
		"(abc)+x":                 "abc",
		"(abc)*xy":                "xy",
		"a?bc":                    "bc",
		"[fF]oo":                  "foo",
		"(?i)Foo[0-9]":            "foo",
		"(?i)straße":              "stra",
		`caf\x{FFFD}é`:            "caf",
		"abc|x*":                  "",
		"abc|d":                   "",
		".*":                      "",
		"[a-z]+":                  "",
		"x":                       "",
		"^$":                      "",
		"aa|bb|cc|(?:dd|ee)|(ff)": "aa bb cc dd ee ff",
	} {
		m := mustCompile(t, Options{Pattern: pattern})
		got := ""
		if m.needed != nil && !m.whole || pattern == "foo" {
			got = strings.Join(m.needed.list, " ")
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
}

// randomPattern makes a regular expression of few letters.
func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "ab", "k", "s", "foo", "bar", ".", "[ab]", "[^a]", `\w`, `\s`, `\d`, `\b`, `\B`, "^", "$", "é", "日", `\x{FFFD}`, `\r`, "K", "(?i:s)", " "}
	if depth == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	switch r.IntN(8) {
	case 0:
		return "(" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")"
	case 1:
		return "(?:" + randomPattern(r, depth-1) + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "*?"}[r.IntN(6)]
	case 2:
		return randomPattern(r, depth-1)
	}
	return randomPattern(r, depth-1) + randomPattern(r, depth-1)
}

func randomText(r *rand.Rand) string {
	parts := []string{"a", "b", "A", "B", "k", "K", "\u212a", "s", "S", "\u017f", "foo", "FOO", "bar", "Bar", " ", "1", "é", "É", "日", "\xff", "\uFFFD", "\n", "\n", "\r\n", "\r", "\t", "ab", "_"}
	var w strings.Builder
	for range r.IntN(60) {
		w.WriteString(parts[r.IntN(len(parts))])
	}
	return w.String()
}

func TestAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	matched := 0
	for range 2_000 {
		o := Options{Pattern: randomPattern(r, r.IntN(5)), IgnoreCase: r.IntN(3) == 0}
		if r.IntN(4) == 0 {
			o.Literal = true
			o.Pattern = strings.Trim(randomText(r), "\r\n")
			o.Pattern = strings.ToValidUTF8(o.Pattern[:min(len(o.Pattern), 1+r.IntN(4))], "")
			if o.Pattern == "" || strings.Contains(o.Pattern, "\n") {
				continue
			}
		}
		m := mustCompile(t, o)
		for range 3 {
			content := randomText(r)
			want := naive(o.naive(), content)
			if diff := cmp.Diff(want, m.file(t, content, Limits{})); diff != "" {
				t.Fatalf("%+v in %q (-want +got):\n%s", o, content, diff)
			}
			matched += len(want)
		}
	}
	if matched < 2_000 {
		t.Errorf("only %d matches", matched)
	}
}

// TestChunks puts matches at and around the borders of what is put into lower
// case at a time.
func TestChunks(t *testing.T) {
	for _, o := range []Options{
		{Pattern: "needle", IgnoreCase: true, Literal: true},
		{Pattern: "needle|thimble", IgnoreCase: true},
		{Pattern: "needle|thimble"},
		{Pattern: "nee.le", IgnoreCase: true},
	} {
		m := mustCompile(t, o)
		for shift := -7; shift < 2; shift++ {
			var w strings.Builder
			for border := foldedAtOnce; border < 3*foldedAtOnce; border += foldedAtOnce {
				w.WriteString(strings.Repeat("Xy zé\n", (border+shift-w.Len())/7))
				w.WriteString(strings.Repeat("x", border+shift-w.Len()) + "needle")
			}
			content := w.String()
			if diff := cmp.Diff(naive(o.naive(), content), m.file(t, content, Limits{})); diff != "" {
				t.Fatalf("%+v, shift %d (-want +got):\n%s", o, shift, diff)
			}
		}
	}
}

// TestForgetful lets the automaton outgrow its bounds.
func TestForgetful(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var w bytes.Buffer
	for i := range 40_000 {
		w.WriteString([]string{"a", "b", "é"}[r.IntN(3)])
		switch {
		case i%500 == 0:
			w.WriteString("\n")
		case i%100 == 0:
			w.WriteRune(rune(0x4e00 + r.IntN(20_000)))
		}
	}
	w.WriteString("axxxxxxxxxxxxxxxxxxbxxxZ\n")
	content := w.Bytes()
	m := mustCompile(t, Options{Pattern: "[ab].{18}[bé].{3}[zZ]"})
	d := newDFA(m.program)
	at, err := d.find(t.Context(), content, 0)
	if line := m.begin(content).line(at); line.next != len(content) || err != nil {
		t.Errorf("got %d of %d, error %v", at, len(content), err)
	}
	if d.epoch < 3 {
		t.Errorf("the automaton forgot %d times", d.epoch)
	}
}

func TestOneLongLine(t *testing.T) {
	content := strings.Repeat("ab cd ", 100_000) + "needle"
	for _, o := range []Options{{Pattern: "needle"}, {Pattern: "ab.*needle$"}, {Pattern: "(ab|cd) [xn]"}, {Pattern: "NEEDLE", IgnoreCase: true}} {
		got := mustCompile(t, o).file(t, content, Limits{Context: 3})
		if diff := cmp.Diff(naive(o.naive(), content), got); diff != "" || len(got) != 1 {
			t.Errorf("%+v: (-want +got):\n%s", o, diff)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	content := []byte(strings.Repeat("ab\n", 10_000))
	for _, pattern := range []string{"ab", "[ab]+", "zz", "a.*b"} {
		m := mustCompile(t, Options{Pattern: pattern})
		if _, _, err := m.File(ctx, content, Limits{}); pattern != "zz" && !errors.Is(err, context.Canceled) {
			t.Errorf("File %q: got %v", pattern, err)
		}
		if _, err := m.Count(ctx, content); pattern != "zz" && !errors.Is(err, context.Canceled) {
			t.Errorf("Count %q: got %v", pattern, err)
		}
	}
}

func FuzzAgainstNaive(f *testing.F) {
	f.Add("a.*b", "xaxb\r\nb\n", false, false)
	f.Add(`\bk|s$`, "\u212a\nas\r\n", true, false)
	f.Add("[^a]é\\B", "bé\xffa\n\n", false, false)
	f.Add("foo(", "FOO(\n", true, true)
	f.Fuzz(func(t *testing.T, pattern, content string, ignoreCase, literal bool) {
		o := Options{pattern, ignoreCase, literal}
		m, err := Compile(o)
		if err != nil {
			if k := workspace.KindOf(err); k != workspace.Invalid && k != workspace.Limit {
				t.Fatalf("%q: error of kind %s: %v", pattern, k, err)
			}
			return
		}
		if diff := cmp.Diff(naive(o.naive(), content), m.file(t, content, Limits{})); diff != "" {
			t.Fatalf("%+v in %q (-want +got):\n%s", o, content, diff)
		}
	})
}
