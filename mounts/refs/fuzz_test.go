package refs

import (
	"strings"
	"testing"

	"carrel.dev/workspace"
)

// FuzzPacked looks refs up in any text, and line by line.
func FuzzPacked(f *testing.F) {
	const id = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	f.Add("# pack-refs with: peeled fully-peeled sorted \n"+id+" refs/heads/main\n"+id+" refs/tags/v1\n^"+id+"\n", "refs/heads/main")
	f.Add(id+" refs/heads/main2\nx "+id+" refs/heads/main\n"+strings.Repeat("z", 40)+" refs/heads/main\n"+id+" refs/heads/main\n", "refs/heads/main")
	f.Add(id+" refs/heads/a/b\n"+id+" refs/heads/c", "refs/heads/a")
	f.Fuzz(func(t *testing.T, text, ref string) {
		if ref == "" || strings.ContainsAny(ref, "\n\x00") {
			return
		}
		var want workspace.OID
		found, below := false, false
		for line := range strings.SplitAfterSeq(text, "\n") {
			body, whole := strings.CutSuffix(line, "\n")
			id, name, _ := strings.Cut(body, " ")
			oid, err := workspace.ParseOID(id)
			if whole && !found && err == nil && name == ref {
				want, found = oid, true
			}
			below = below || err == nil && strings.HasPrefix(name, ref+"/")
		}
		p := packed{text: []byte(text)}
		got, ok := p.find(ref)
		if ok != found || got != want {
			t.Errorf("%s in %q: got %s, %v, want %s, %v", ref, text, got, ok, want, found)
		}
		if _, clash := p.clash(ref); below && !clash {
			t.Errorf("%s in %q: nothing is in its way", ref, text)
		}
	})
}
