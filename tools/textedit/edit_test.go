package textedit

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"carrel.dev/workspace"
)

func TestApply(t *testing.T) {
	one := func(old, replacement string) []Edit { return []Edit{{Old: old, New: replacement}} }
	for _, test := range []struct {
		name    string
		content string
		edits   []Edit
		want    string
		count   int
	}{
		{"A1: CRLF stays", "a\r\nb\r\nc\r\n", one("b", "B"), "a\r\nB\r\nc\r\n", 1},
		{"A1: LF in the request", "a\r\nB\r\nc\r\n", one("a\nB", "a\nX"), "a\r\nX\r\nc\r\n", 1},
		{"A1: CRLF in the request for an LF file", "a\nB\nc\n", one("a\r\nB", "a\r\nX\r\n"), "a\nX\n\nc\n", 1},
		{"A2: new lines take the file's ending", "a\nb\n", one("b", "x\r\ny"), "a\nx\ny\n", 1},
		{"A2: never CRCRLF", "a\r\nb\r\n", one("b", "x\r\ny\r\r\nz\nw\r"), "a\r\nx\r\ny\r\nz\r\nw\r\n", 1},
		{"A2: lines that are CRCRLF already", "a\r\r\nb\r\r\n", one("a\r\r\nb\r\r\n", "a\r\r\nB\r\r\n"), "a\r\r\nB\r\r\n", 1},
		{"A3: mixed endings stay", "a\r\nb\nc\r\n", one("b", "B"), "a\r\nB\nc\r\n", 1},
		{"mixed: a line with its ending", "a\r\nb\nc\r\n", one("b\n", "B\n"), "a\r\nB\nc\r\n", 1},
		{"mixed: all lines changed", "a\r\nb\nc\r\n", one("a\nb\nc\n", "A\nB\nC\n"), "A\r\nB\nC\r\n", 1},
		{"mixed: a line put in", "a\r\nb\nc\r\n", one("a\nb\nc", "a\nb\nnew\nc"), "a\r\nb\nnew\r\nc\r\n", 1},
		{"mixed: a line put in before", "a\r\nb\nc\r\n", one("b\nc", "new\nb\nc"), "a\r\nnew\r\nb\nc\r\n", 1},
		{"mixed: a line taken out", "a\r\nb\nc\nd\r\ne\r\n", one("a\nb\nc\nd\n", "a\nc\nd\n"), "a\r\nc\nd\r\ne\r\n", 1},
		{"mixed: lines kept between changes", "1\n2\r\n3\n4\r\n5\n6\r\n7\r\n", one("1\n2\n3\n4\n5\n6\n", "one\nuno\n2\n3\n4\nfive\nsix\n"),
			"one\r\nuno\r\n2\r\n3\n4\r\nfive\nsix\r\n7\r\n", 1},
		{"mixed: as many of each, so the first", "a\nb\r\n", one("b", "b\nc"), "a\nb\nc\r\n", 1},
		{"mixed: every match its own endings", "a\r\nb\na\nb\r\na\r\nb\r\n", []Edit{{Old: "a\nb", New: "A\nB", All: true}}, "A\r\nB\nA\nB\r\nA\r\nB\r\n", 3},
		{"no ending: taken as sent", "ab", one("b", "x\r\ny\nz"), "ax\r\ny\nz", 1},
		{"a match from ending to ending", "a\r\nb\r\nc", one("\nb\n", "\nB\n"), "a\r\nB\r\nc", 1},
		{"lines joined", "a\r\nb\r\nc", one("\nb", "b"), "ab\r\nc", 1},
		{"a carriage return alone", "a\rb\n", one("\rb", "c"), "ac\n", 1},
		{"A4: all", "dev:\n  debug = True\nprod:\n  debug = True\n", []Edit{{Old: "  debug = True", New: "  debug = False", All: true}},
			"dev:\n  debug = False\nprod:\n  debug = False\n", 2},
		{"all, from the left and without overlaps", "aaaaa", []Edit{{Old: "aa", New: "b", All: true}}, "bba", 2},
		{"all, of one", "abc", []Edit{{Old: "b", New: "", All: true}}, "ac", 1},
		{"all in CRLF", "a\r\na\r\n\r\na", []Edit{{Old: "a\n", New: "b\nc\n", All: true}}, "b\r\nc\r\nb\r\nc\r\n\r\na", 2},
		{"A7: no expansion", "price: X", one("X", "$$100 $& $` $' $1"), "price: $$100 $& $` $' $1", 1},
		{"A7: no patterns", "a.b a+b [x]", one("a.b", `\1`), `\1 a+b [x]`, 1},
		{"A15: byte order mark", "\ufeffconst v = 1;\n", one("const v = 1;", "const v = 2;"), "\ufeffconst v = 2;\n", 1},
		{"byte order mark sent along", "\ufeffconst v = 1;\n", one("\ufeffconst v = 1;", "\ufeffconst v = 2;"), "\ufeffconst v = 2;\n", 1},
		{"byte order mark sent with one of the two", "\ufeffconst v = 1;\n", one("\ufeffconst v = 1;", "const v = 2;"), "\ufeffconst v = 2;\n", 1},
		{"byte order mark not doubled", "\ufeffconst v = 1;\n", one("const", "\ufeffvar"), "\ufeffvar v = 1;\n", 1},
		{"text put after a byte order mark", "\ufeffa\r\n", one("\ufeff", "b\n"), "\ufeffb\r\na\r\n", 1},
		{"U+FEFF elsewhere", "a\ufeffb\n", one("\ufeffb", "b"), "ab\n", 1},
		{"A16: bytes that are not UTF-8", "caf\xe9\nx\n", one("x", "y"), "caf\xe9\ny\n", 1},
		{"A16: after the change too", "x\ncaf\xe9\n", one("x", "y"), "y\ncaf\xe9\n", 1},
		{"NUL", "a\x00b", one("\x00", "\x00\x00"), "a\x00\x00b", 1},
		{"no final line feed added", "a\nb", one("b", "c"), "a\nc", 1},
		{"final line feed taken", "a\nb\n", one("b\n", "c"), "a\nc", 1},
		{"all of the file", "a\n", one("a\n", ""), "", 1},
		{"one after the other", "one two\n", []Edit{{Old: "one", New: "two"}, {Old: "two two", New: "three"}, {Old: "e", New: "E", All: true}}, "thrEE\n", 4},
		{"new text may have the old", "a\n", one("a", "aa"), "aa\n", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			content := []byte(test.content)
			got, err := Apply(content, test.edits)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Content) != test.want || got.Count != test.count {
				t.Errorf("got %q, %d replaced, want %q, %d", got.Content, got.Count, test.want, test.count)
			}
			if string(content) != test.content {
				t.Errorf("the content given became %q", content)
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		content string
		edits   []Edit
		kind    workspace.Kind
		want    string
	}{
		{"no edits", "a", nil, workspace.Invalid, "there are no edits"},
		{"A11: empty old text", "a", []Edit{{New: "b"}}, workspace.Invalid, "oldString is empty"},
		{"empty old text, all", "a", []Edit{{New: "b", All: true}}, workspace.Invalid, "oldString is empty"},
		{"the same", "a", []Edit{{Old: "a", New: "a"}}, workspace.Invalid, "nothing would change: oldString and newString are the same"},
		{"the same but for endings", "a\r\n", []Edit{{Old: "a\r\n", New: "a\n"}}, workspace.Invalid,
			"nothing would change: oldString and newString differ in the kind of line ending only"},
		{"only the byte order mark", "\ufeffa\n", []Edit{{Old: "\ufeffa", New: "a"}}, workspace.Invalid, "nothing would change: newString says what is there"},
		{"found before anything is applied", "a", []Edit{{Old: "b", New: "c"}, {Old: "x", New: "x"}}, workspace.Invalid,
			"edit 2 of 2: nothing would change: oldString and newString are the same"},
		{"A21: the item that failed", "a b", []Edit{{Old: "a", New: "c"}, {Old: "zzzz", New: "y"}}, workspace.Conflict,
			"edit 2 of 2: oldString is not in the file, nor anything like it"},
		{"A22: nothing replaced", "a", []Edit{{Old: "zzzz", New: "b", All: true}}, workspace.Conflict, "oldString is not in the file, nor anything like it"},
		{"too large", strings.Repeat("a", 1<<20), []Edit{{Old: "a", New: strings.Repeat("b", 1<<10), All: true}}, workspace.Limit,
			"the result would be larger than 256 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Apply([]byte(test.content), test.edits)
			var e *workspace.Error
			if !errors.As(err, &e) || e.Kind != test.kind || err.Error() != test.want || e.Op != "" || e.Path != "" {
				t.Errorf("got %q, %v (%s), want %s: %s", got.Content, err, workspace.KindOf(err), test.kind, test.want)
			}
			if got.Content != nil || got.Count != 0 {
				t.Errorf("got %q besides the error", got.Content)
			}
		})
	}
}

// The oracle of the fuzz test: what an edit does to texts without carriage
// returns, on which the standard library has an opinion.
func replaced(content string, e Edit) (string, int) {
	if e.All {
		return strings.ReplaceAll(content, e.Old, e.New), strings.Count(content, e.Old)
	}
	return strings.Replace(content, e.Old, e.New, 1), 1
}

func FuzzApply(f *testing.F) {
	f.Add("a\r\nb\nc\r\n", "b", "B\nX", false)
	f.Add("aaa\naaa", "aa", "\r\n", true)
	f.Add("\ufeffa\xff\n\r\n", "\ufeffa", "b", false)
	f.Add("one\ntwo\nthree\n", "one\n\ttwo", "x", false)
	f.Add("\r\r\na\r", "\r", "\n", true)
	f.Add("a\u00a0\u201cb\u201d e\u0301", "A \"b\" \u00e9", "x", false)
	f.Fuzz(func(t *testing.T, content, old, replacement string, all bool) {
		if len(content) > 300 { // the checks are quadratic
			return
		}
		e := Edit{Old: old, New: replacement, All: all}
		input := []byte(content)
		got, err := Apply(input, []Edit{e})
		if string(input) != content {
			t.Fatal("the content given was changed")
		}
		if err != nil {
			checkError(t, err, content, e)
			return
		}
		checkResult(t, got, content, e)
	})
}

// checkError reports an error that is none of the kinds promised, too long, or
// wrong about whether the old text occurs.
func checkError(t *testing.T, err error, content string, e Edit) {
	t.Helper()
	if n := len(err.Error()) + len(workspace.HintOf(err)); n > 4096 || workspace.HintOf(err) == "" {
		t.Errorf("%d bytes of message, hint %q", n, workspace.HintOf(err))
	}
	switch kind := workspace.KindOf(err); kind {
	case workspace.Invalid:
	case workspace.Conflict:
		occurs := strings.Contains(flatten(strings.TrimPrefix(content, bom)), flatten(e.Old))
		if missing := strings.Contains(err.Error(), "not in the file"); missing && occurs || !missing && e.All {
			t.Errorf("old text occurs is %t, all is %t: %v", occurs, e.All, err)
		}
	default:
		t.Errorf("kind %s: %v", kind, err)
	}
}

// checkResult reports a result that is not the replacement, changes bytes around
// it, or has other line endings than the content had.
func checkResult(t *testing.T, got Result, content string, e Edit) {
	t.Helper()
	const cr = "\r"
	if !strings.Contains(strings.ReplaceAll(content+e.Old+e.New, "\r\n", ""), cr) && !strings.Contains(content+e.Old+e.New, bom) {
		flat := Edit{Old: flatten(e.Old), New: flatten(e.New), All: e.All}
		if want, n := replaced(flatten(content), flat); flatten(string(got.Content)) != want || got.Count != n {
			t.Errorf("got %q, %d replaced, want %q, %d", got.Content, got.Count, want, n)
		}
		crlf, lf := strings.Count(content, "\r\n"), strings.Count(content, "\n")
		nowCRLF, nowLF := bytes.Count(got.Content, []byte("\r\n")), bytes.Count(got.Content, []byte("\n"))
		if lf > 0 && (crlf == 0 && nowCRLF > 0 || crlf == lf && nowCRLF != nowLF) {
			t.Errorf("%d of %d endings are CRLF, before it were %d of %d", nowCRLF, nowLF, crlf, lf)
		}
	}
	if strings.HasPrefix(content, bom) && !bytes.HasPrefix(got.Content, []byte(bom)) {
		t.Error("the byte order mark is gone")
	}
	if !e.All {
		checkAround(t, got.Content, content, e)
	}
}

// checkAround reports bytes changed before or after the only match.
func checkAround(t *testing.T, got []byte, content string, e Edit) {
	t.Helper()
	for start := range len(content) {
		for end := start; end <= len(content); end++ {
			if flatten(content[start:end]) != flatten(e.Old) {
				continue
			}
			if bytes.HasPrefix(got, []byte(content[:start])) && bytes.HasSuffix(got, []byte(content[end:])) {
				return
			}
		}
	}
	if !strings.HasPrefix(e.Old, bom) {
		t.Errorf("%q became %q: bytes around the match changed", content, got)
	}
}

func TestKeptEndings(t *testing.T) {
	for _, test := range []struct {
		old, now string
		want     []int
	}{
		{"a\nb\n", "a\nb\n", []int{0, 1}},
		{"a", "x\ny", []int{-1}},
		{"b\na\nb\n", "b\n", []int{0}},
		{"a\nb\nc\n", "x\nb\ny\nz\nc\n", []int{0, 1, -1, -1, 2}},
		{"a\nb\nc\n", "c\na\nb\n", []int{-1, 0, 1}},
		{"a\nb\n", "", []int{}},
	} {
		got := keptEndings(strings.Split(test.old, "\n"), strings.Split(test.now, "\n"))
		if len(got) != len(test.want) {
			t.Fatalf("%q to %q: got %v, want %v", test.old, test.now, got, test.want)
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%q to %q: got %v, want %v", test.old, test.now, got, test.want)
				break
			}
		}
	}
}

func BenchmarkApply(b *testing.B) {
	line := strings.Repeat("x", 59)
	lf := []byte(strings.Repeat(line+"\n", 1<<20) + "the end\n")
	crlf := []byte(strings.Repeat(line+"\r\n", 1<<20) + "the end\r\n")
	for name, bench := range map[string]struct {
		content []byte
		edit    Edit
		fails   bool
	}{
		"small":       {lf[:6000], Edit{Old: "x\nx", New: "y\nx", All: true}, false},
		"LF":          {lf, Edit{Old: "the end", New: "The End"}, false},
		"CRLF":        {crlf, Edit{Old: "the end", New: "The End"}, false},
		"every line":  {lf, Edit{Old: "\n", New: ";\n", All: true}, false},
		"one of many": {lf, Edit{Old: line, New: "y"}, true},
		"repetitive":  {bytes.Repeat([]byte("a"), 64<<20), Edit{Old: strings.Repeat("a", 1<<20), New: "b"}, true},
		"missing":     {lf, Edit{Old: "The end", New: "y"}, true},
		"unlike":      {lf, Edit{Old: strings.Repeat("something else\n", 1<<16), New: "y"}, true},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.content)))
			for b.Loop() {
				if _, err := Apply(bench.content, []Edit{bench.edit}); (err != nil) != bench.fails {
					b.Fatal(err)
				}
			}
		})
	}
}
