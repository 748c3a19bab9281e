package seeded

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the table of faults into README.md")

// heading is where the table begins, which goes to the end of the file.
const heading = "\n## The faults\n\n"

// TestTable holds the table in README.md against the faults.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	intro, got, found := strings.Cut(string(text), heading)
	if !found {
		t.Fatalf("README.md has no heading %q", strings.TrimSpace(heading))
	}
	want := table(load(t))
	switch {
	case got == want:
	case *write:
		if err := os.WriteFile("README.md", []byte(intro+heading+want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table in README.md is not that of the faults: go test ./conformance/seeded -run TestTable -write")
	}
}

// table shows the faults, one a line.
func table(faults []fault) string {
	var b strings.Builder
	b.WriteString("| fault | what breaks | found by |\n|---|---|---|\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "| [%s](faults/%s.txtar) | %s | `%s` %s |\n", f.name, f.name, f.breaks, f.catcher.pkg, f.catcher.test)
	}
	return b.String()
}
