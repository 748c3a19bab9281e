package upgrade

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"carrel.dev/conformance"
)

// workspaces are those of a sample.
var workspaces = []string{
	"/agents/conflict", "/agents/dirty", "/agents/dropped", "/agents/landed", "/agents/removed",
	"/agents/seed", "/agents/work", "/workspaces/empty",
}

// answers are what a program says of its data directory, by question. Asking
// changes nothing.
func (p *program) answers() map[string]any {
	p.t.Helper()
	c := client{p.t, p.session()}
	said := map[string]any{"workspace.list": c.call("workspace.list")}
	for _, ws := range workspaces {
		said["events "+ws] = anything(p.records(ws))
		for _, tool := range []string{"workspace.show", "git.status", "git.diff"} {
			args := []any{"workspace", ws}
			if tool == "git.status" {
				args = append(args, "all", true)
			}
			said[tool+" "+ws] = c.call(tool, args...)
		}
		said["files "+ws] = anything(p.files(c, ws))
	}
	for _, repo := range []string{"/repos/app", "/repos/lib"} {
		said["git.log "+repo] = c.call("git.log", "workspace", "/agents/seed", "scope", repo)
	}
	said["git.log of a work branch"] = c.call("git.log", "workspace", "/agents/work", "scope", "/repos/app")
	if r := c.try("readDir", "", "workspace", "/agents/gone"); r.Code() != "closed" {
		p.t.Errorf("a deleted workspace: %q: %s", r.Code(), r.Text(0))
	}
	said["a repeat under its key"] = anything(p.repeat(c))
	if err := c.Close(); err != nil {
		p.t.Fatal(err)
	}
	return said
}

// repeat calls again what was answered under a key.
func (p *program) repeat(c client) json.RawMessage {
	r := c.try("writeFile", "key-1", p.keyed()...)
	if r.IsError {
		p.t.Errorf("a repeat under its key: %s", r.Text(0))
	}
	return r.Facts()
}

// files describes everything that a workspace shows, each with its content read and
// held against its version.
func (p *program) files(c client, ws string) []string {
	p.t.Helper()
	lines := []string{}
	for cursor := ""; ; {
		page := c.call("glob", "workspace", ws, "pattern", "/**", "cursor", cursor)
		for _, path := range page["paths"].([]any) {
			f := c.call("stat", "workspace", ws, "path", path)
			lines = append(lines, fmt.Sprint(path, " ", f["mode"], " ", f["size"], " ", f["version"], " ", f["layer"], " ", f["mount"]))
			if content := p.content(c, ws, path.(string)); blobID(content) != f["version"] {
				p.t.Errorf("%s in %s: its content is %s, its version %s", path, ws, blobID(content), f["version"])
			}
		}
		if cursor, _ = page["nextCursor"].(string); cursor == "" {
			return lines
		}
	}
}

func (p *program) content(c client, ws, path string) []byte {
	p.t.Helper()
	r := c.try("readFileBytes", "", "workspace", ws, "path", path)
	i := slices.IndexFunc(r.Blocks, func(b conformance.Block) bool { return b.Type == "resource" })
	if r.IsError || i < 0 {
		p.t.Fatalf("readFileBytes %s in %s: %s", path, ws, r.Text(0))
	}
	return r.Blocks[i].Bytes
}

func blobID(content []byte) string {
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
	return hex.EncodeToString(sum[:])
}

// anything is a value as JSON has it.
func anything(v any) (back any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil {
		panic("upgrade: " + err.Error())
	}
	return back
}

// contradictions are the places at which what is said now is not what was said. A
// field that was not there then may be there now.
func contradictions(where string, was, is any) []string {
	var found []string
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return []string{where + " is no object any more"}
		}
		for k, v := range was {
			found = append(found, contradictions(where+"."+k, v, is[k])...)
		}
	case []any:
		is, ok := is.([]any)
		if !ok || len(is) != len(was) {
			return []string{fmt.Sprintf("%s: was %.300v, is %.300v", where, was, is)}
		}
		for i, v := range was {
			found = append(found, contradictions(fmt.Sprintf("%s[%d]", where, i), v, is[i])...)
		}
	default:
		if was != is && !strings.HasSuffix(where, ".nextCursor") {
			found = append(found, fmt.Sprintf("%s: was %v, is %v", where, was, is))
		}
	}
	return found
}
