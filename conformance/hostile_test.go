package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// TestHostileInput sends a process what no client should. It answers or passes
// over each, keeps to JSON lines on its output and goes on serving.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	p := b.connect("/agents/a")
	deep := strings.Repeat("[", 100_000)
	for name, line := range map[string]string{
		"empty":               "",
		"blanks":              " \t\r",
		"no JSON":             "hello\x07\x1b[2J",
		"bytes":               "\x00\xff\xfe\x80",
		"half":                `{"jsonrpc":"2.0","id":1,"method":"tools/call"`,
		"a number":            "42",
		"null":                "null",
		"a string":            `"x"`,
		"an empty array":      "[]",
		"a batch":             `[{"jsonrpc":"2.0","id":"b","method":"ping"}]`,
		"no version":          `{"id":"v","method":"ping"}`,
		"other version":       `{"jsonrpc":"1.0","id":"v","method":"ping"}`,
		"no method":           `{"jsonrpc":"2.0","id":"m"}`,
		"unknown method":      `{"jsonrpc":"2.0","id":"u","method":"no/such"}`,
		"unknown tool":        `{"jsonrpc":"2.0","id":"t","method":"tools/call","params":{"name":"rm -rf","arguments":{}}}`,
		"params an array":     `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":[1,2]}`,
		"params a string":     `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":"readFile"}`,
		"arguments a string":  `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"readFile","arguments":"x"}}`,
		"arguments null":      `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"readFile","arguments":null}}`,
		"id null":             `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		"id an object":        `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"id a fraction":       `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		"a huge id":           `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		"initialize again":    `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`,
		"cancel of nothing":   `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`,
		"cancel of oddities":  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[{}]}}`,
		"a reply to nothing":  `{"jsonrpc":"2.0","id":"r","result":{}}`,
		"an error to nothing": `{"jsonrpc":"2.0","id":"r","error":{"code":1,"message":"x"}}`,
		"surrogates":          `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"writeFile","arguments":{"path":"\ud800","content":"\udfff"}}}`,
		"NUL in a key":        `{"jsonrpc":"2.0","id":"k","method":"tools/call","params":{"name":"writeFile","arguments":{"path":"k","content":"k"},"_meta":{"carrel.dev/key":"\u0000"}}}`,
		"meta a number":       `{"jsonrpc":"2.0","id":"k","method":"tools/call","params":{"name":"readFile","arguments":{"path":"k"},"_meta":7}}`,
		"deep":                `{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"readFile","arguments":{"path":` + deep + `}}}`,
		"deep and closed":     `{"jsonrpc":"2.0","id":"d","method":"tools/call","params":` + deep + strings.Repeat("]", len(deep)) + `}`,
		"long":                strings.Repeat("x", 4<<20),
		"duplicate fields":    `{"jsonrpc":"2.0","id":"d","method":"ping","method":"tools/list","id":"e"}`,
	} {
		must(t, p.sendLine([]byte(line)))
		ask(t, p, "writeFile", fmt.Sprintf(`{"path":"after","content":%q}`, name))
		if got, _ := text(t, p, "after"); got != name {
			t.Errorf("after %s: got %q", name, got)
		}
	}
	p.write.Lock()
	_, err := p.in.Write([]byte(`{"jsonrpc":"2.0","id":9,"met`))
	p.write.Unlock()
	must(t, err)
	must(t, p.Close())

	p = b.connect("/agents/a")
	if got, _ := text(t, p, "after"); got == "" {
		t.Error("what was acknowledged is gone")
	}
	must(t, p.Close())
}
