package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryCaseIsCovered holds the list of cases against the scripts and tests
// that claim them.
func TestEveryCaseIsCovered(t *testing.T) {
	covered := map[string][]string{}
	scripts, err := Load(os.DirFS("scripts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		covered["scripts/"+s.Name] = s.Cases
	}
	addTests(t, covered)
	lists := map[string]string{}
	for _, name := range []string{"cases.txt", "baseline.txt"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lists[name] = string(b)
	}
	for _, err := range CheckLedger(lists["cases.txt"], lists["baseline.txt"], covered) {
		t.Error(err)
	}
}

// addTests adds the cases that the comments of the project's tests name.
func addTests(t *testing.T, covered map[string][]string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				name := path + " " + f.Name.Name
				covered[name] = append(covered[name], casesOf(f.Doc.Text())...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
