package textpage

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel.dev/workspace"
	"github.com/google/go-cmp/cmp"
)

func TestCut(t *testing.T) {
	wide := strings.Repeat("é", 50) // 100 bytes
	for _, test := range []struct {
		name    string
		content string
		o       Options
		want    Page
	}{
		{"empty", "", Options{}, Page{}},
		{"empty, from its first line", "", Options{Offset: 1, Column: 1}, Page{}},
		{"all", "a\nb\n", Options{}, Page{Text: "a\nb\n", StartLine: 1, EndLine: 2, TotalLines: 2}},
		{"no final line feed", "a\r\nb", Options{}, Page{Text: "a\r\nb", StartLine: 1, EndLine: 2, TotalLines: 2}},
		{"one empty line", "\n", Options{}, Page{Text: "\n", StartLine: 1, EndLine: 1, TotalLines: 1}},
		{"carriage returns alone", "a\rb\r", Options{}, Page{Text: "a\rb\r", StartLine: 1, EndLine: 1, TotalLines: 1}},
		{"limit", "a\nb\nc\n", Options{Limit: 2},
			Page{Text: "a\nb\n", StartLine: 1, EndLine: 2, TotalLines: 3, Truncated: true, NextOffset: 3}},
		{"limit to the end", "a\nb\nc\n", Options{Offset: 2, Limit: 2}, Page{Text: "b\nc\n", StartLine: 2, EndLine: 3, TotalLines: 3}},
		{"last line", "a\nb\nc", Options{Offset: 3}, Page{Text: "c", StartLine: 3, EndLine: 3, TotalLines: 3}},
		{"room", strings.Repeat("0123456789\n", 9), Options{MaxBytes: 64},
			Page{Text: strings.Repeat("0123456789\n", 5), StartLine: 1, EndLine: 5, TotalLines: 9, Truncated: true, NextOffset: 6}},
		{"room, escaped", strings.Repeat("<&>\n", 9), Options{MaxBytes: 64}, // 3 * 6 + 2 a line
			Page{Text: strings.Repeat("<&>\n", 3), StartLine: 1, EndLine: 3, TotalLines: 9, Truncated: true, NextOffset: 4}},
		{"a long line is left for a page of its own", "a\n" + wide + "\nb\n", Options{MaxBytes: 64},
			Page{Text: "a\n", StartLine: 1, EndLine: 1, TotalLines: 3, Truncated: true, NextOffset: 2}},
		{"inside a long line, between characters", wide + "\n", Options{MaxBytes: 65, Column: 2},
			Page{Text: wide[:64], StartLine: 1, EndLine: 1, TotalLines: 1, Truncated: true, NextOffset: 1, NextColumn: 65}},
		{"the rest of a long line, and on", wide + "\nb\n", Options{MaxBytes: 64, Column: 65},
			Page{Text: wide[64:] + "\nb\n", StartLine: 1, EndLine: 2, TotalLines: 2}},
		{"not within a CRLF", strings.Repeat("x", 62) + "\r\nb", Options{MaxBytes: 64},
			Page{Text: strings.Repeat("x", 62), StartLine: 1, EndLine: 1, TotalLines: 2, Truncated: true, NextOffset: 1, NextColumn: 63}},
		{"line numbers", "a\nb\n", Options{Offset: 2, LineNumbers: true}, Page{Text: "2\tb\n", StartLine: 2, EndLine: 2, TotalLines: 2}},
		{"line numbers take room", strings.Repeat("0123456789\n", 9), Options{MaxBytes: 64, LineNumbers: true},
			Page{Text: "1\t0123456789\n2\t0123456789\n3\t0123456789\n4\t0123456789\n", StartLine: 1, EndLine: 4, TotalLines: 9, Truncated: true, NextOffset: 5}},
		{"line numbers of a part", wide, Options{MaxBytes: 64, LineNumbers: true},
			Page{Text: "1\t" + wide[:60], StartLine: 1, EndLine: 1, TotalLines: 1, Truncated: true, NextOffset: 1, NextColumn: 61}},
		{"too little room is made enough", "<<\n", Options{MaxBytes: 1}, Page{Text: "<<\n", StartLine: 1, EndLine: 1, TotalLines: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Cut([]byte(test.content), test.o)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestCutRefuses(t *testing.T) {
	for _, test := range []struct {
		content string
		o       Options
		want    string
	}{
		{"", Options{Offset: 2}, "the file is empty"},
		{"", Options{Column: 2}, "the file is empty"},
		{"a\nb\n", Options{Offset: 3}, "offset 3 is past the end: the file has 2 lines"},
		{"a", Options{Offset: 500}, "offset 500 is past the end: the file has 1 line"},
		{"abc\nb\n", Options{Column: 5}, "column 5 is past the end of line 1, which has 4 bytes"},
		{"a\nb", Options{Offset: 2, Column: 2}, "column 2 is past the end of line 2, which has 1 byte"},
		{"a", Options{Offset: -1}, "offset, column and limit count from 1"},
		{"a", Options{Column: -1}, "offset, column and limit count from 1"},
		{"a", Options{Limit: -1}, "offset, column and limit count from 1"},
	} {
		_, err := Cut([]byte(test.content), test.o)
		if err == nil || err.Error() != test.want || !errors.Is(err, workspace.Invalid) {
			t.Errorf("%q %+v: got %v, want %s", test.content, test.o, err, test.want)
		}
	}
}

// B4: a file of 10,000 lines and one of a single line of 5 MB can be read to
// their ends.
func TestCutLarge(t *testing.T) {
	var lines strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	page, err := Cut([]byte(lines.String()), Options{})
	if err != nil || page.EndLine != 2000 || page.TotalLines != 10_000 || page.NextOffset != 2001 || !page.Truncated {
		t.Errorf("got lines %d-%d of %d, next %d, %v", page.StartLine, page.EndLine, page.TotalLines, page.NextOffset, err)
	}
	for _, content := range []string{lines.String(), strings.Repeat("0123456789", 500_000), strings.Repeat("\r\n", 100_000)} {
		checkPages(t, content, Options{})
	}
}

// checkPages reads content page by page and reports a gap, a repeat, a page that
// is too large, or one that does not say rightly where it is.
func checkPages(t *testing.T, content string, o Options) {
	t.Helper()
	total := strings.Count(content, "\n")
	if !strings.HasSuffix(content, "\n") && content != "" {
		total++
	}
	var all strings.Builder
	for pages := 0; ; pages++ {
		page, err := Cut([]byte(content), o)
		if err != nil {
			t.Fatalf("%+v after %d bytes: %v", o, all.Len(), err)
		}
		all.WriteString(page.Text)
		escaped, _ := json.Marshal(page.Text)
		room := o.MaxBytes
		if room == 0 {
			room = DefaultMaxBytes
		}
		switch read := all.String(); {
		case !strings.HasPrefix(content, read):
			t.Fatalf("%+v: pages are not the content", o)
		case len(escaped)-2 > max(room, leastBytes):
			t.Fatalf("%+v: page of %d escaped bytes", o, len(escaped))
		case page.TotalLines != total:
			t.Fatalf("got %d lines, want %d", page.TotalLines, total)
		case page.Truncated != (len(read) < len(content)), page.Truncated != (page.NextOffset > 0):
			t.Fatalf("%+v: truncated is %t, next %d, after %d bytes of %d", o, page.Truncated, page.NextOffset, len(read), len(content))
		case page.Text == "" && content != "":
			t.Fatalf("%+v: empty page", o)
		case content != "" && page.EndLine != 1+strings.Count(strings.TrimSuffix(read, "\n"), "\n"):
			t.Fatalf("%+v: page ends on line %d", o, page.EndLine)
		case utf8.ValidString(content) && !utf8.ValidString(page.Text):
			t.Fatalf("%+v: page ends within a character", o)
		case page.NextColumn == 0 && page.Truncated && !strings.HasSuffix(page.Text, "\n"):
			t.Fatalf("%+v: page ends within a line, without a next column", o)
		case strings.HasSuffix(page.Text, "\r") && strings.HasPrefix(content[len(read):], "\n"):
			t.Fatalf("%+v: page ends within a CRLF", o)
		case !page.Truncated && read != content:
			t.Fatalf("%+v: the last page ends after %d bytes of %d", o, len(read), len(content))
		case !page.Truncated:
			return
		}
		o.Offset, o.Column = page.NextOffset, page.NextColumn
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a\r\nb\n\nc", 64, 2)
	f.Add(strings.Repeat("é", 100)+"\r\n"+strings.Repeat("<😀", 50), 70, 3)
	f.Add("\xff\x80\x80\xe2\x82\n\x80"+strings.Repeat("\x80\xf0\x9f", 40), 0, 1)
	f.Add(strings.Repeat("\r", 100)+"\n\u2028\x00", 64, 0)
	f.Fuzz(func(t *testing.T, content string, room, limit int) {
		if len(content) > 1<<16 || room < 0 || limit < 0 {
			return
		}
		checkPages(t, content, Options{MaxBytes: room, Limit: limit})
	})
}

func TestLineStartAcrossBlocks(t *testing.T) {
	content := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 5000))
	for _, number := range []int{1, 2, 655, 656, 657, 1311, 1312, 4999, 5000} {
		if got, want := lineStart(content, number), (number-1)*100; got != want {
			t.Errorf("line %d: got %d, want %d", number, got, want)
		}
	}
}

func BenchmarkCutFarLine(b *testing.B) {
	content := []byte(strings.Repeat(strings.Repeat("x", 59)+"\n", 1<<20))
	for _, offset := range []int{9_000, 1_000_000} {
		b.Run(fmt.Sprint(offset), func(b *testing.B) {
			for b.Loop() {
				if _, err := Cut(content, Options{Offset: offset}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("describe", func(b *testing.B) {
		for b.Loop() {
			Describe(content)
		}
	})
}
