package conformance_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport is the import rule: which of our folders a folder's code may import.
// What is not listed imports none of them. Tests may import what they need.
var mayImport = map[string][]string{
	"workspace":   {},
	"mounts":      {"workspace"},
	"persistence": {"workspace"},
	"tools":       {"workspace"},
	"server":      {"workspace", "tools"},
	"cmd":         {"workspace", "mounts", "persistence", "tools", "server"},
	"conformance": {},
}

// ground are the only modules that the domain may import: pure algorithms.
var ground = []string{"github.com/bmatcuk/doublestar/v4", "github.com/tidwall/btree", "github.com/pjbgf/sha1cd"}

func TestImportRule(t *testing.T) {
	const module = "carrel.dev/"
	for _, p := range packages(t) {
		from, _, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, known := mayImport[from]
		if !known {
			t.Errorf("%s: a folder that the import rule does not know", p.ImportPath)
		}
		for _, i := range p.Imports {
			rel, ours := strings.CutPrefix(i, module)
			to, _, _ := strings.Cut(rel, "/")
			if ours && to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: %s may import %v of ours", p.ImportPath, i, from, allowed)
			}
			if p.ImportPath == module+"workspace" && strings.Contains(i, ".") && !slices.Contains(ground, i) {
				t.Errorf("%s imports %s: the domain imports the standard library and pure algorithms only", p.ImportPath, i)
			}
		}
	}
}

// TestPackagesSayWhatTheyAreFor finds packages without a comment.
func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

type listed struct {
	ImportPath string
	Doc        string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Doc,Imports", "carrel.dev/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < len(mayImport) {
		t.Fatalf("only %d packages were found", len(list))
	}
	return list
}
