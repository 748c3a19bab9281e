package fuzz

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// target is a fuzz target of the module.
type target struct {
	pkg, dir string
	name     string
	seeded   bool // it adds inputs, or testdata has some
}

func (x target) String() string { return x.pkg + " " + x.name }

// targets finds all fuzz targets, in the order of their packages and files.
func targets(t *testing.T) []target {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "carrel.dev/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []target
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(p.TestGoFiles, p.XTestGoFiles...) {
			found, err := inFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range found {
				x.pkg, x.dir = p.ImportPath, p.Dir
				if inputs, _ := filepath.Glob(filepath.Join(p.Dir, "testdata", "fuzz", x.name, "*")); len(inputs) > 0 {
					x.seeded = true
				}
				all = append(all, x)
			}
		}
	}
	if len(all) < len(short) {
		t.Fatalf("only %d targets were found", len(all))
	}
	return all
}

// inFile finds the fuzz targets of a file.
func inFile(name string) ([]target, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []target
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") && len(f.Type.Params.List) == 1 {
			found = append(found, target{name: f.Name.Name, seeded: adds(f)})
		}
	}
	return found, nil
}

// adds reports whether a target calls Add of its parameter.
func adds(f *ast.FuncDecl) (found bool) {
	param := f.Type.Params.List[0]
	if len(param.Names) != 1 {
		return false
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Add" {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == param.Names[0].Name
		}
		return !found
	})
	return found
}
