package textedit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

const program = "package p\n\nimport \"fmt\"\n\nfunc f() {\n\tx := 1\n\ty := 2\n\tfmt.Println(x, y)\n\treturn\n}\n"

// The sentence says where and why; what follows shows it.
func TestMissing(t *testing.T) {
	for _, test := range []struct {
		name, content, old string
		want               string // after "oldString is not in the file; nearest "
	}{
		// White space.
		{"A10: tabs", "if a:\n\tx = 1\n\ty = 2\n", "if a:\n    x = 1\n    y = 2\n", "are lines 1 to 3: the file uses tabs at line 2, oldString spaces; and at 1 place more"},
		{"spaces", "if a:\n    x = 1\n", "if a:\n\tx = 1\n", "are lines 1 to 2: the file uses spaces at line 2, oldString tabs"},
		{"tabs, from within", "a\n\tx = 1\n", "    x = 1", "is line 2: the file uses tabs at line 2, oldString spaces"},
		{"depth", "a:\n  b:\n", "a:\n    b:\n", "are lines 1 to 2: the file is indented by 2 spaces at line 2, oldString by 4 spaces"},
		{"depth in both", "a\n\t\t  b", "a\n\t b", "are lines 1 to 2: the file is indented by 2 tabs and 2 spaces at line 2, oldString by 1 tab and 1 space"},
		{"no indentation sent", "a:\n  b:\n", "a:\nb:\n", "are lines 1 to 2: the file is indented by 2 spaces at line 2, oldString is not"},
		{"no indentation there", "a:\nb:\n", "a:\n b:\n", "are lines 1 to 2: the file is not indented at line 2, oldString is, by 1 space"},
		{"trailing, sent", "x := 1\ny", "x := 1 \ny", "are lines 1 to 2: oldString has trailing white space, line 1 of the file does not"},
		{"trailing, at the end", "a\nx := 1\n", "x := 1 ", "is line 2: oldString has trailing white space, line 2 of the file does not"},
		{"trailing, there", "x := 1  \ny", "x := 1\ny", "are lines 1 to 2: the file has trailing white space on line 1, oldString does not"},
		{"within a line", "x  = 1", "x = 1", "is line 1: the file has 2 spaces at line 1 column 2, oldString has 1 space"},
		{"a tab within a line", "x\t= 1", "x = 1", "is line 1: the file has 1 tab at line 1 column 2, oldString has 1 space"},
		{"nothing within a line", "x=1", "x =1", "is line 1: the file has nothing at line 1 column 2, oldString has 1 space"},
		// Lines.
		{"no final line ending", "a\nb", "b\n", "is line 2: the file ends with line 2, without the line ending that oldString has"},
		{"empty line left out", "a\n\n\nb", "a\nb", "are lines 1 to 4: the file has 2 empty lines after line 1 that oldString leaves out"},
		{"empty line added", "a\nb", "a\n\nb", "are lines 1 to 2: oldString has an empty line that the file does not have after line 1"},
		{"empty line before", "a\nb", "\nb\n", "is line 2: the file ends with line 2, without the line ending that oldString has"},
		{"empty lines before all", "a\nb\n", "\n\na", "is line 1: oldString has 2 empty lines that the file does not have before line 1"},
		{"lines joined", "if (a &&\n    b) {", "if (a && b) {", "are lines 1 to 2: the file begins a new line after line 1, oldString does not"},
		{"line broken", "if (a && b) {", "if (a &&\n    b) {", "is line 1: oldString begins a new line where line 1 of the file goes on"},
		{"carriage returns", "a\rb\rc", "a\nb", "is line 1: the file has U+000D (carriage return) at line 1 column 2, oldString has a line ending; a carriage return alone is no line ending here"},
		{"half a CRLF", "a\r\nb", "a\r", "is line 1: oldString has U+000D (carriage return) where the file has nothing, at line 1 column 2"},
		// Characters.
		{"A12: no-break space", "list in\u00a0current", "list in current", "is line 1: the file has U+00A0 (no-break space) at line 1 column 8, oldString has a space"},
		{"no-break space sent", "list in current", "list in\u00a0current", "is line 1: oldString has U+00A0 (no-break space) where the file has a space, at line 1 column 8"},
		{"zero width space", "foo\u200bbar", "foobar", "is line 1: the file has U+200B (zero width space) at line 1 column 4, oldString has nothing"},
		{"soft hyphen sent", "foobar", "foo\u00adbar", "is line 1: oldString has U+00AD (soft hyphen) where the file has nothing, at line 1 column 4"},
		{"curly quotes", "say \"hi\"", "say \u201chi\u201d", "is line 1: the file has \" at line 1 column 5, oldString has U+201C (left double quotation mark); and at 1 place more"},
		{"apostrophe", "don\u2019t", "don't", "is line 1: the file has U+2019 (right single quotation mark) at line 1 column 4, oldString has '"},
		{"dash", "1\u20132\r\n", "1-2\n", "is line 1: the file has U+2013 (en dash) at line 1 column 2, oldString has -"},
		{"NFC", "caf\u00e9s", "cafe\u0301s", "is line 1: the file has U+00E9 (é) at line 1 column 4, oldString has e U+0301 (combining mark): the same letter, composed in another way"},
		{"NFD", "cafe\u0301s", "caf\u00e9s", "is line 1: the file has e U+0301 (combining mark) at line 1 column 4, oldString has U+00E9 (é): the same letter, composed in another way"},
		{"accent left out", "caf\u00e9s", "cafes", "is line 1: the file has U+00E9 (é) at line 1 column 4, oldString has e"},
		{"Cyrillic letter", "paypal", "p\u0430ypal", "is line 1: the file has a at line 1 column 2, oldString has U+0430 (а)"},
		{"full width", "f(x)", "f\uff08x)", "is line 1: the file has ( at line 1 column 2, oldString has U+FF08 (（)"},
		{"byte order mark sent", "a\nb\n", "\ufeffa", "is line 1: oldString has U+FEFF (byte order mark) where the file has nothing, at line 1 column 1"},
		{"columns after a byte order mark", "\ufefffoo  bar", "foo bar", "is line 1: the file has 2 spaces at line 1 column 4, oldString has 1 space"},
		{"white space after a byte order mark", "\ufeff\tx\n", "  x\n", "is line 1: the file uses tabs at line 1, oldString spaces"},
		{"byte order marks in both", "\ufeff\tx\n", "\ufeff  x\n", "is line 1: the file uses tabs at line 1, oldString spaces"},
		{"not UTF-8", "caf\xe9\n", "caf\ufffd", "is line 1: the file has the byte 0xe9, which is not UTF-8, at line 1 column 4, oldString has U+FFFD (\ufffd)"},
		{"case", "a\nfunc F() {", "func f() {", "is line 2: the file has F at line 2 column 6, oldString has f: upper and lower case differ"},
		{"several reasons", "\tFoo(\u201cx\u201d) ;\n", "    foo(\"x\");", "is line 1: the file uses tabs at line 1, oldString spaces; the file has F at line 1 column 2, oldString has f: upper and lower case differ; " +
			"the file has U+201C (left double quotation mark) at line 1 column 6, oldString has \"; and at 2 places more"},
		{"the place with fewer differences", "Foo (X)\nfoo(x) ;\n", "foo(x);", "is line 2: the file has 1 space at line 2 column 7, oldString has nothing"},
		// What went wrong on the way.
		{"numbered listing", program, "5\tfunc f() {\n6\t\tx := 1\n", "are lines 5 to 6: oldString carries the line numbers of a listing"},
		{"cat -n", program, "     5\tfunc f() {\n     6\t\tx := 1", "are lines 5 to 6: oldString carries the line numbers of a listing"},
		{"arrows", program, "  5→func f() {\n  6→\tx := 1", "are lines 5 to 6: oldString carries the line numbers of a listing"},
		{"colons", program, "3: import \"fmt\"\n\n5: func f() {", "are lines 3 to 5: oldString carries the line numbers of a listing"},
		{"bars", program, " 8 | \tfmt.Println(x, y)", "is line 8: oldString carries the line numbers of a listing"},
		{"grep", program, "/repos/app/f.go:6:\tx := 1", "is line 6: oldString carries the line numbers of a listing"},
		{"diff", program, "-\tx := 1\n+\ty := 2\n", "are lines 6 to 7: oldString carries the + and - of a diff"},
		{"escaped line breaks", program, `func f() {\n\tx := 1`, `are lines 5 to 6: oldString has escapes such as \n where the file has the characters themselves`},
		{"escaped quotes", program, `import \"fmt\"`, `is line 3: oldString has escapes such as \" where the file has the characters themselves`},
		{"escapes in the file", `s := "a\n\tb"`, "\"a\n\tb\"", `is line 1: the file has escapes such as \n where oldString has the characters themselves`},
		{"escaped quotes in the file", `s := "say \"hi\""`, `say "hi"`, `is line 1: the file has escapes such as \" where oldString has the characters themselves`},
		{"HTML", program, "import &quot;fmt&quot;", "is line 3: oldString has HTML entities such as &lt; where the file has the characters themselves"},
		// Likeness.
		{"A8: a line that differs", program, "func f() {\n\tx := 1\n\ty := 99\n\tfmt.Println(x, y)\n\treturn\n}", "are lines 5 to 10: the file's line 7 and oldString's line 3 differ"},
		{"a line left out", program, "func f() {\n\tx := 1\n\tfmt.Println(x, y)\n\treturn\n}", "are lines 5 to 10: the file has line 7 that oldString leaves out"},
		{"a line too many", program, "func f() {\n\tx := 1\n\ty := 2\n\tz := 3\n\tfmt.Println(x, y)\n", "are lines 5 to 8: oldString has line 4 that the file does not have after line 7"},
		{"a line too many at the end", program, "\ty := 2\n\tfmt.Println(x, y)\n\treturn\n}\n\nfunc g()", "are lines 7 to 10: oldString has lines 5 to 6 that the file does not have after line 10"},
		{"a line too many before", program, "// Package p.\npackage p\n\nimport \"fmt\"\n\nfunc f() {", "are lines 1 to 5: oldString has line 1 that the file does not have before line 1"},
		{"a line and white space", program, "func f() {\n    x := 1\n    y := 99\n    fmt.Println(x, y)\n    return\n}",
			"are lines 5 to 10: the file's line 7 and oldString's line 3 differ; also, the file uses tabs at line 6, oldString spaces"},
		{"two lines", program, "func f() {\n\tx := 2\n\ty := 2\n\tfmt.Println(x, y)\n\tpanic(1)\n}", "are lines 5 to 10: the file's line 6 and oldString's line 2 differ; 1 difference further on"},
		{"one line", program, "fmt.Printf(x, y)", "is line 8 from column 2, which differs"},
		{"one line of a long one", strings.Repeat("x=1;y=2;", 1000) + "fmt.Println(x, y);" + strings.Repeat("x=1;y=2;", 1000), "fmt.Printf(x, y)", "is line 1 from column 8001, which differs"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Apply([]byte(test.content), []Edit{{Old: test.old, New: "something else"}})
			if !errors.Is(err, workspace.Conflict) || workspace.HintOf(err) == "" {
				t.Fatalf("got %v, hint %q", err, workspace.HintOf(err))
			}
			sentence, _, _ := strings.Cut(err.Error(), "\n")
			if diff := cmp.Diff("oldString is not in the file; nearest "+test.want, sentence); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissingWhole(t *testing.T) {
	_, err := Apply([]byte(program), []Edit{{Old: "func f() {\n\tx := 1\n\ty := 99\n\tfmt.Println(x, y)\n\treturn\n}", New: "x"}})
	want := `oldString is not in the file; nearest are lines 5 to 10: the file's line 7 and oldString's line 3 differ
file:      "\ty := 2"
oldString: "\ty := 99"
 5	func f() {
 6		x := 1
>7		y := 2
 8		fmt.Println(x, y)
 9		return
 10	}`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestMissingWithoutRegion(t *testing.T) {
	for _, test := range []struct {
		name, content string
		edits         []Edit
		want          string
	}{
		{"nothing like it", program, []Edit{{Old: "SELECT 1;"}}, "oldString is not in the file, nor anything like it"},
		{"only a byte order mark", bom, []Edit{{Old: "a", New: "b"}}, "oldString is not in the file, nor anything like it"},
		{"empty file", "", []Edit{{Old: "a"}}, "oldString is not in the file: the file is empty"},
		{"too long", "a\n", []Edit{{Old: strings.Repeat("A\n", 3<<20), New: "b"}}, "oldString is not in the file; of 6291456 bytes, it is too long to look for the difference"},
		{"white space", "a\nb\n", []Edit{{Old: "\n \n"}}, "oldString is not in the file: it is white space alone, and the file has none like it"},
		{"replaced before", "a b", []Edit{{Old: "b", New: "c"}, {Old: "a", New: "x"}, {Old: "a b", New: "y"}},
			"edit 3 of 3: oldString is not in the file any more: edit 1 of this call replaced it"},
		{"made and replaced before", "a", []Edit{{Old: "a", New: "b"}, {Old: "b", New: "c"}, {Old: "a", New: "d"}},
			"edit 3 of 3: oldString is not in the file any more: edit 1 of this call replaced it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Apply([]byte(test.content), test.edits)
			if err == nil || err.Error() != test.want || !errors.Is(err, workspace.Conflict) || workspace.HintOf(err) == "" {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// The nearest of many regions that are much alike is found, wherever it is.
func TestMissingAmongMany(t *testing.T) {
	var b strings.Builder
	const functions, lines = 300, 6
	for i := range functions {
		fmt.Fprintf(&b, "func f%d(a int) int {\n\tx := a + %d\n\tlog.Println(\"f%d\", x)\n\treturn x * %d\n}\n\n", i, i*7, i, i*3)
	}
	for _, i := range []int{0, 137, 299} {
		for name, old := range map[string]string{
			"another call":    fmt.Sprintf("func f%d(a int) int {\n\tx := a + %d\n\tlog.Printf(\"f%d\", x)\n\treturn x * %d\n}", i, i*7, i, i*3),
			"another comment": fmt.Sprintf("\tx := a + %d\n\tlog.Println(\"f%d\", x) // f\n\treturn x * %d\n", i*7, i, i*3),
			"one line":        fmt.Sprintf("log.Println(\"f%d\", y)", i),
		} {
			_, err := Apply([]byte(b.String()), []Edit{{Old: old, New: "x"}})
			if want := fmt.Sprintf("line %d", i*lines+3); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want something about %s", name, err, want)
			}
		}
	}
}

func TestSeveral(t *testing.T) {
	for _, test := range []struct {
		name, content, old, want string
	}{
		{"A4: two", "dev:\n  debug = True\nprod:\n  debug = True\n", "  debug = True",
			"oldString occurs 2 times, at lines 2 and 4\n 1\tdev:\n>2\t  debug = True\n 3\tprod:\n>4\t  debug = True"},
		{"A5: overlapping", "aaa", "aa", "oldString occurs 2 times, all on line 1, at columns 1 and 2, overlapping\n>1\taaa"},
		{"overlapping lines", "a\na\na\n", "a\na\n", "oldString occurs 2 times, at lines 1 and 2, overlapping\n>1\ta\n>2\ta\n 3\ta"},
		{"apart", "x\n1\n2\n3\n4\n5\n6\nx\n", "x", "oldString occurs 2 times, at lines 1 and 8\n>1\tx\n 2\t1\n 3\t2\n…\n 6\t5\n 7\t6\n>8\tx"},
		{"CRLF", "x\r\nx\r\n", "x\n", "oldString occurs 2 times, at lines 1 and 2\n>1\tx\n>2\tx"},
		{"columns after a byte order mark", "\ufeffab ab", "ab", "oldString occurs 2 times, all on line 1, at columns 1 and 4\n>1\tab ab"},
		{"many on one line", strings.Repeat("ab ", 30), "ab",
			"oldString occurs 30 times, all on line 1, at columns 1, 4, 7, 10, 13, 16, 19, 22, 25, 28 and 20 more\n>1\t" + strings.Repeat("ab ", 30)},
		{"many lines", strings.Repeat("ab ab\n", 30), "ab",
			"oldString occurs 60 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more\n>1\tab ab\n>2\tab ab\n>3\tab ab\n>4\tab ab\n>5\tab ab\n>6\tab ab\n>7\tab ab"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Apply([]byte(test.content), []Edit{{Old: test.old, New: "something else"}})
			if !errors.Is(err, workspace.Conflict) || !strings.Contains(workspace.HintOf(err), "replaceAll") {
				t.Fatalf("got %v, hint %q", err, workspace.HintOf(err))
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Messages stay below 4 KiB and on their characters, whatever is edited.
func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("é\u00a0\"\\\x01", 4000)
	for name, test := range map[string]struct{ content, old string }{
		"long lines":             {long + "A\n" + long + "\n", long + "a\n" + long + "\n"},
		"many differences":       {strings.Repeat("A B\n", 20_000), strings.Repeat("a\tb\n", 10_000)},
		"long lines, several":    {long + "\n" + long + "\n" + long, "é"},
		"long lines, one unlike": {strings.Repeat("0123456789", 1000) + "one two three four" + long, "one two tree for"},
		"lines unlike":           {strings.Repeat(long+"\none two three four\n", 9), strings.Repeat("one two three four\nfive\n", 9)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Apply([]byte(test.content), []Edit{{Old: test.old, New: "something else"}})
			if err == nil {
				t.Fatal("applied")
			}
			if n := len(err.Error()) + len(workspace.HintOf(err)); n > 4096 {
				t.Errorf("%d bytes: %.500s", n, err)
			}
			if text := err.Error(); text != strings.ToValidUTF8(text, "") {
				t.Errorf("a character is cut: %q", text)
			}
		})
	}
}
