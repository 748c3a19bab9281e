package grep

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// corpus is the Go sources of this installation.
func corpus(b *testing.B) (contents [][]byte, size int64) {
	b.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		content, err := os.ReadFile(name)
		contents = append(contents, content)
		size += int64(len(content))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return contents, size
}

func BenchmarkCount(b *testing.B) {
	contents, size := corpus(b)
	for _, o := range []Options{
		{Pattern: "errUnsupportedOperation", Literal: true},
		{Pattern: "return", Literal: true},
		{Pattern: "errunsupported", Literal: true, IgnoreCase: true},
		{Pattern: "func .*Reader\\) Read"},
		{Pattern: "TODO|FIXME"},
		{Pattern: "todo|fixme", IgnoreCase: true},
		{Pattern: "if .*err"},
		{Pattern: "[A-Z]{4,}[0-9]"},
		{Pattern: `^\s*\w+ := \w+$`},
		{Pattern: `\bx\b`},
		{Pattern: ".{120}"},
	} {
		name := o.Pattern
		if o.IgnoreCase {
			name += " folded"
		}
		b.Run(name, func(b *testing.B) {
			m := mustCompile(b, o)
			b.SetBytes(size)
			for b.Loop() {
				for _, c := range contents {
					if _, err := m.Count(b.Context(), c); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(name+" naive", func(b *testing.B) {
			re := o.naive()
			b.SetBytes(size)
			for b.Loop() {
				for _, c := range contents {
					countNaive(re, c)
				}
			}
		})
	}
}

func countNaive(re *regexp.Regexp, content []byte) (n int) {
	for len(content) > 0 {
		line, rest, _ := bytes.Cut(content, newline)
		if re.Match(bytes.TrimSuffix(line, []byte("\r"))) {
			n++
		}
		content = rest
	}
	return n
}
