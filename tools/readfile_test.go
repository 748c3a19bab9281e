package tools_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"carrel.dev/tools"
	"carrel.dev/workspace"
)

// Whatever a file holds, a page of it is no larger than hosts take, as it travels,
// and the pages add up to the file.
func TestReadFileInPages(t *testing.T) {
	b := newBench(t)
	most := b.project.Host().Limits().ResultBytes
	for name, content := range map[string]string{
		"lines":      strings.Repeat(strings.Repeat("x", 99)+"\n", 1900),
		"one line":   strings.Repeat("0123456789", 20_000),
		"escapes":    strings.Repeat("\"\\\t\x01", 20_000),
		"characters": strings.Repeat("ünïcode", 10_000),
	} {
		b.call("writeFile", "", args{"path": "f", "content": content})
		var got strings.Builder
		for next := (args{"path": "f"}); ; {
			out := b.call("readFile", "", next).(tools.ReadFileOut)
			text := out.Render().Text
			got.WriteString(text)
			raw, err := json.Marshal(text)
			if err != nil || len(raw) > most {
				t.Errorf("%s: a page of %d bytes, more than %d (%v)", name, len(raw), most, err)
			}
			if !out.Truncated || text == "" {
				break
			}
			next = args{"path": "f", "offset": out.NextOffset}
			if out.NextColumn > 0 {
				next["column"] = out.NextColumn
			}
		}
		if got.String() != content {
			t.Errorf("%s: the pages have %d bytes, not the file's %d", name, got.Len(), len(content))
		}
	}
}

// A key belongs to one request: another tool with the same arguments is another
// request.
func TestKeyOfAnotherTool(t *testing.T) {
	b := newBench(t)
	b.call("mkdir", "k", args{"path": "d"})
	if out, err := b.try("revert", "k", args{"path": "d"}); !errors.Is(err, workspace.Conflict) {
		t.Errorf("got %v, %v, want a conflict", out, err)
	}
}
