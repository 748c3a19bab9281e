package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTextIsSentOnce reads a file as large as one answer takes, and compares what
// came over the wire with the text in JSON.
//
// Cases: E7
func TestTextIsSentOnce(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a line of \"text\" with <brackets> & ünïcode\n", 900)
	b := newBench(t, false, Edit{Path: "a", Mode: "100644", Content: []byte(content)})
	p := b.connect("/agents/a")
	for tool, args := range map[string]string{"readFile": `{"path":"/repos/app/a"}`, "readFiles": `{"paths":["/repos/app/a"]}`} {
		raw, err := p.ask(t.Context(), "tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(args)})
		must(t, err)
		r, err := decodeResult(raw)
		must(t, err)
		if r.IsError {
			t.Fatalf("%s: %s", tool, r.Text(0))
		}
		if r.Structured != nil {
			t.Errorf("%s has structured content", tool)
		}
		if most := len(escaped(r.Text(0))) * 11 / 10; tool == "readFile" && len(raw) > most {
			t.Errorf("%s: %d bytes on the wire, want at most %d", tool, len(raw), most)
		}
	}
	must(t, p.Close())
}

// TestPagesOfALargeTree pages through a repo of many files by every list. The
// pages add up to what was there when the first was taken, in order, although the
// workspace changes between them.
//
// Cases: B9
func TestPagesOfALargeTree(t *testing.T) {
	t.Parallel()
	dirs, each := 40, 50
	if *full {
		dirs, each = 500, 100
	}
	var edits []Edit
	var paths []string
	for d := range dirs {
		for f := range each {
			path := fmt.Sprintf("d%03d/f%03d.txt", d, f)
			paths = append(paths, path)
			edits = append(edits, Edit{Path: path, Mode: "100644", Content: []byte("needle\n")})
		}
	}
	b := newBench(t, false, edits...)
	p := b.connect("/agents/a")
	for tool, c := range map[string]struct{ args, field, key string }{
		"glob":         {`"pattern":"/repos/app/**",`, "paths", ""},
		"listAllFiles": {"", "paths", ""},
		"readDir":      {`"path":"/repos/app","depth":3,`, "entries", "name"},
		"grep":         {`"pattern":"needle","path":"/repos/app",`, "matches", "path"},
	} {
		var got []string
		cursor := ""
		for page := 0; ; page++ {
			facts := ask(t, p, tool, fmt.Sprintf(`{%s"cursor":%q}`, c.args, cursor))
			for _, e := range facts[c.field].([]any) {
				if o, ok := e.(map[string]any); ok {
					e = o[c.key]
				}
				if name := strings.TrimPrefix(e.(string), "/repos/app/"); !strings.HasSuffix(name, "/") {
					got = append(got, name)
				}
			}
			ask(t, p, "writeFile", fmt.Sprintf(`{"path":"/repos/app/d000/born-%s-%d","content":"x"}`, tool, page))
			if cursor, _ = facts["nextCursor"].(string); cursor == "" {
				break
			}
			if page == 0 && len(got) >= len(edits) {
				t.Errorf("%s: one page holds all", tool)
			}
		}
		if diff := cmp.Diff(paths, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool, clipped(diff))
		}
		ask(t, p, "reset", `{"confirm":true}`)
	}
	must(t, p.Close())
}
