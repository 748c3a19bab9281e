package seeded

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// module is the top of the program's source.
const module = "../.."

// fault is a mistake that somebody could make.
type fault struct {
	name     string // of its file
	breaks   string // what goes wrong, in a sentence
	file     string // of the source, from the top
	old, new string // lines of it, and what stands there instead
	catcher  catcher
}

// catcher is the test that finds a fault.
type catcher struct {
	pkg  string // its folder, from the top
	test string // its name as go test prints it: Test, Test/case, TestScripts/memory/script
}

// load reads all faults, sorted by name.
func load(t *testing.T) []fault {
	t.Helper()
	names, err := filepath.Glob("faults/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var faults []fault
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parse(strings.TrimSuffix(filepath.Base(name), ".txtar"), text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		faults = append(faults, f)
	}
	return faults
}

var header = regexp.MustCompile(`\A(.+\.)\n\nfault: (\S+\.go)\ncaught: (\S+) (Test\S+)\n\z`)

// parse reads a fault's file.
func parse(name string, text []byte) (fault, error) {
	a := txtar.Parse(text)
	h := header.FindStringSubmatch(string(a.Comment))
	if h == nil {
		return fault{}, fmt.Errorf("it does not begin with a sentence, an empty line, %q and %q", "fault: FILE", "caught: PACKAGE TEST")
	}
	if len(a.Files) != 2 || a.Files[0].Name != "old" || a.Files[1].Name != "new" {
		return fault{}, fmt.Errorf("it does not hold old and new")
	}
	return fault{
		name: name, breaks: h[1], file: h[2], catcher: catcher{h[3], h[4]},
		old: string(a.Files[0].Data), new: string(a.Files[1].Data),
	}, nil
}

// seed returns the source with the fault in it.
func (f fault) seed() ([]byte, error) {
	if f.old == "" || f.old == f.new {
		return nil, fmt.Errorf("it changes nothing")
	}
	text, err := os.ReadFile(filepath.Join(module, f.file))
	if err != nil {
		return nil, err
	}
	// Whole lines: the first has no text before it.
	before, after, found := strings.Cut("\n"+string(text), "\n"+f.old)
	if !found {
		return nil, fmt.Errorf("%s does not have the lines", f.file)
	}
	if strings.Contains("\n"+after, "\n"+f.old) {
		return nil, fmt.Errorf("%s has the lines more than once", f.file)
	}
	return []byte(strings.TrimPrefix(before+"\n"+f.new+after, "\n")), nil
}

// pattern is the test's name as go test -run takes it.
func (c catcher) pattern() string {
	parts := strings.Split(c.test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// byPackage groups the catchers of faults, each once.
func byPackage(faults []fault) map[string][]catcher {
	all := map[string][]catcher{}
	for _, f := range faults {
		if c := f.catcher; !slices.Contains(all[c.pkg], c) {
			all[c.pkg] = append(all[c.pkg], c)
		}
	}
	return all
}
